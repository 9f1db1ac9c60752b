package plan

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/pipeline"
)

// TestForeignJSON: logs of fio --client beside the JSON of another run are repaired as if it were not there.
func TestForeignJSON(t *testing.T) {
	t.Parallel()
	bins := regexp.MustCompile(`"bins" : \{[^}]*\}`)
	count, mean := regexp.MustCompile(` \d+`), regexp.MustCompile(`"mean" : [0-9.]+`)
	totals, err := os.ReadFile(filepath.Join(real, "cluster/fio.json"))
	if err != nil {
		t.Fatal(err)
	}
	meanless := mean.ReplaceAllString(string(totals), `"mean" : 0`)
	other := bins.ReplaceAllStringFunc(meanless, func(s string) string { // the same sums in other buckets
		counts := count.FindAllString(s, -1)
		slices.Reverse(counts)
		return count.ReplaceAllStringFunc(s, func(string) (next string) {
			next, counts = counts[0], counts[1:]
			return next
		})
	})
	files := map[string]string{}
	for _, host := range []string{"127.0.0.1", "127.0.0.2"} {
		for n := 1; n <= 2; n++ {
			name := fmt.Sprintf("cluster_clat_hist.%d.log.%s", n, host)
			files[name] = "cluster/" + name
		}
	}
	logged := map[string]float64{}
	for name, json := range map[string]string{"its own": string(totals), "none": "", "another": other} {
		dir := place(t, files)
		if json != "" {
			if err := os.WriteFile(filepath.Join(dir, "fio.json"), []byte(json), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var warned []string
		cfg := Config{Settings: fio.Defaults(), Warn: func(w string) { warned = append(warned, w) }}
		c, err := process(t, cfg, dir)
		if err != nil {
			t.Fatal(err)
		}
		logged[name] = c.Sum.Account.Logged
		warnings := strings.Count(strings.Join(warned, "\n"),
			"fio.json: fio's JSON and the logs do not belong together")
		if want := map[string]int{"another": 1}[name]; warnings != want || c.Sum.Account.LogsRepaired != 4 {
			t.Errorf("%s: %d of 4 logs repaired, warned %q", name, c.Sum.Account.LogsRepaired, warned)
		}
	}
	// As logged they are 244,947; fio counted 96,000, of which the last windows are in no log.
	if own := logged["its own"]; logged["none"] != own || logged["another"] != own || own != 87620 {
		t.Errorf("I/Os by JSON: %v", logged)
	}
}

// TestGarbageOfOneLog: what fio --client left in one of ten logs disowns the JSON for both logs of that server alone,
// and what fio counted more than these is lost.
func TestGarbageOfOneLog(t *testing.T) {
	t.Parallel()
	var warned []string
	cfg := Config{Settings: fio.Defaults(), Warn: func(w string) { warned = append(warned, w) }}
	c, err := process(t, cfg, "testdata/cases/ports-own-names-28")
	if err != nil {
		t.Fatal(err)
	}
	// Four of five servers restore what fio counted, about 895 each, less what their logs hold.
	const logged, servers = 3023, 4
	a := &c.Sum.Account
	if a.Restored < servers*(890-logged/5) || a.Restored > servers*(900-590) || !a.CountedKnown || a.Exact != nil {
		t.Errorf("%v restored, totals known: %v, exact: %v", a.Restored, a.CountedKnown, a.Exact)
	}
	// 895 counted; 605 logged, of which 2 are garbage.
	both := []string{"La_clat_hist.1.log.127.0.0.1", "La_clat_hist.2.log.127.0.0.1"}
	if a.NotPlaced != 292 || a.Missing-a.Restored != 292 || a.Excess != 2 || len(a.Lost) != 1 ||
		!slices.Equal(a.Lost[0].Logs, both) {
		t.Errorf("%v not placed, %v missing, %v too many, lost: %+v", a.NotPlaced, a.Missing, a.Excess, a.Lost)
	}
	if sum := pipeline.ByDirection(a.Jobs)[0]; sum.Missing != a.Missing || sum.Excess != a.Excess {
		t.Errorf("by direction: %+v", sum)
	}
	text := strings.Join(warned, "\n")
	for _, want := range []string{`it is not used for job "a" of `, `292 of the 895 reads of job "a" are lost`} {
		i := strings.Index(text, want)
		line := text[strings.LastIndex(text[:max(i, 0)], "\n")+1:]
		line, _, _ = strings.Cut(line, "\n")
		if i < 0 || !strings.Contains(line, both[0]) || !strings.Contains(line, both[1]) {
			t.Errorf("warned %q, want %q of both logs", warned, want)
		}
	}
}
