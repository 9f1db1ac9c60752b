package fiolog_test

import (
	"errors"
	"fmt"
	"io"

	"fiolat/ingest/fiolog"
	"fiolat/ingest/source"
)

// The records of one log, as fio wrote it.
func ExampleReader() {
	in, err := source.Open("../../testdata/fio/gaps/gaps_clat_hist.1.log", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer in.Close()
	r := fiolog.NewReader(in, "gaps_clat_hist.1.log", fiolog.ReaderOptions{})
	records, ios := 0, 0.0
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			fmt.Println(err) // with file and line
			return
		}
		records++
		for _, n := range rec.Count {
			ios += n
		}
	}
	fmt.Println(records, "records of", ios, "I/Os")
	// Output: 20 records of 1005 I/Os
}
