package main

import (
	"fmt"
	"io"
	"strings"
)

// report prints all answers that are not right, and the number of answers of each verdict.
func report(w io.Writer, answers []*answer) error {
	counts := map[verdict]int{}
	for _, a := range answers {
		counts[a.Verdict]++
		if a.Verdict != right {
			said := strings.Join(a.Said, " | ")
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", a.Verdict, a.Folder, a.given(), a.Reason, said)
		}
	}
	for _, v := range []verdict{right, named, refused, overcareful, wrong} {
		fmt.Fprintf(w, "%s: %d\n", v, counts[v])
	}
	if bad := counts[wrong] + counts[overcareful]; bad > 0 {
		return fmt.Errorf("%d of %d answers are wrong without a word, or refused without need", bad, len(answers))
	}
	return nil
}

func (a *answer) given() string {
	if a.Shape == "" {
		return a.Given
	}
	return a.Given + ", " + a.Shape
}
