package plan

import (
	"slices"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/pipeline"
	"fiolat/pipeline/pipelinetest"
)

// TestEmptyLogs: an empty log is a job shorter than a window, or one that fio was not
// told to log, or measured nothing of.
func TestEmptyLogs(t *testing.T) {
	t.Parallel()
	record := "300, 0, 4096, 5" + strings.Repeat(", 0", 1855) + "\n"
	json := func(options, dirs string) string {
		return `{"fio version":"fio-3.33","jobs":[{"jobname":"x","job options":{"write_hist_log":"x"` + options + `},` +
			dirs + `}]}`
	}
	const read = `"read":{"total_ios":7,"runtime":100,"clat_ns":{"N":7,"bins":{"0":7}}}`
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  string // the error or warning
		ios   float64
	}{
		{"short job", map[string]string{"x_clat_hist.1.log": "", "fio.json": json(`,"log_hist_msec":"1000"`, read)}, "",
			7},
		{"log_hist_msec forgotten, says JSON", map[string]string{"x_clat_hist.1.log": "", "fio.json": json("", read)},
			"add the line `log_hist_msec=1000` to the job", 7},
		{"log_hist_msec forgotten, says the job file", map[string]string{"x_clat_hist.1.log": "",
			"x.fio": "[x]\nwrite_hist_log=x\nrw=read\n"}, "add the line `log_hist_msec=1000` to the job", 0},
		{"nothing known", map[string]string{"x_clat_hist.1.log": ""}, "empty log; a job shorter", 0},
		{"one of two, nothing known", map[string]string{"x_clat_hist.1.log": "", "x_clat_hist.2.log": record},
			"1 empty log, and no JSON", 5},
		{"no clat", map[string]string{"x_clat_hist.1.log": "",
			"fio.json": json(`,"log_hist_msec":"300","disable_clat":"1"`, `"read":{"total_ios":7,"runtime":900}`)},
			"of its 7 I/Os fio measured no latency, as the job set disable_clat", 0},
		{"ended within the ramp", map[string]string{"x_clat_hist.1.log": "",
			"fio.json": json(`,"log_hist_msec":"300","ramp_time":"1s"`,
				`"read":{"total_ios":7,"runtime":900}`)},
			"of its 7 I/Os fio measured no latency, as if the job ended within its ramp_time", 0},
		{"no I/O", map[string]string{"x_clat_hist.1.log": "",
			"fio.json": json(`,"log_hist_msec":"300"`, `"read":{"total_ios":0}`)},
			`nothing of job "x" is in the result: by fio's JSON it did no I/O`, 0},
		{"failed at its first I/O", map[string]string{"x_clat_hist.1.log": "",
			"fio.json": json(`,"log_hist_msec":"300"`, `"error":28,"write":{"total_ios":1,"runtime":0}`)},
			`fio ended it with error 28 (no space left on device), and measured no latencies`, 0},
		{"one of two failed", map[string]string{"x_clat_hist.1.log": record, "x_clat_hist.2.log": "",
			"fio.json": strings.Replace(json(`,"log_hist_msec":"300"`,
				`"read":{"total_ios":5,"runtime":400,"clat_ns":{"N":5,"bins":{"0":5}}}`),
				`]}`, `,{"jobname":"y","job options":{"write_hist_log":"x","log_hist_msec":"300"},"error":5,`+
					`"read":{"total_ios":1}}]}`, 1)},
			`nothing of job "y" is in the result: fio ended it with error 5`, 5},
		{"failed, and no latency is measured", map[string]string{"x_clat_hist.1.log": "",
			"fio.json": json(`,"log_hist_msec":"300","gtod_reduce":"1"`, `"error":28,"write":{"total_ios":1}`)},
			"as the job set gtod_reduce", 0},
		{"JSON without bins", map[string]string{"x_clat_hist.1.log": record,
			"fio.json": json(`,"log_hist_msec":"300"`, `"read":{"total_ios":7,"runtime":900,"clat_ns":{"N":7}}`)},
			"2 of the 7 reads that fio counted in x are in no log and cannot be restored, as fio's JSON has no bins", 5},
		{"a count beyond 2^53", map[string]string{
			"x_clat_hist.1.log": "300, 0, 4096, 9007199254740994" + strings.Repeat(", 0", 1855) + "\n"},
			"bucket 0 holds 9007199254740994 I/Os: arbitrary memory instead of a count", 0},
		{"totals that contradict their bins", map[string]string{"x_clat_hist.1.log": record,
			"fio.json": json(`,"log_hist_msec":"300"`,
				`"read":{"total_ios":7,"runtime":900,"clat_ns":{"N":7,"bins":{"0":5,"9":90}}}`)},
			"its bins hold 95 I/Os, but its N is 7", 5},
		{"directions mixed", map[string]string{"x_clat_hist.1.log": record,
			"fio.json": json(`,"log_hist_msec":"300","rw":"randrw"`,
				`"mixed":{"total_ios":7,"runtime":900,"clat_ns":{"N":7}}`)}, "2 of 7 I/Os are in no log and " +
			"cannot be assigned to a direction", 5},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := files(t, tc.files)
			ins, err := ingest.Discover([]string{dir}, ingest.DiscoverOptions{})
			if err != nil {
				t.Fatal(err)
			}
			said, ios := "", 0.0
			p, err := Prepare(t.Context(), ins[0], Config{Settings: fio.Defaults()})
			if err == nil {
				defer p.Close()
				var s *pipeline.Summary
				if s, err = p.Process(t.Context(), new(pipelinetest.Collect)); err == nil {
					said, ios = strings.Join(s.Account.Warnings, "\n"), s.Account.Placed
				}
			}
			if err != nil {
				said = err.Error()
			}
			if !strings.Contains(said, tc.want) || tc.want == "" && said != "" || ios != tc.ios {
				t.Errorf("%v I/Os, %q; want %v, %q", ios, said, tc.ios, tc.want)
			}
		})
	}
}

// TestMixedAccount: fio's totals of all directions together are compared with all that the logs
// hold, also of a job without a log.
func TestMixedAccount(t *testing.T) {
	t.Parallel()
	job := func(name, n string) string {
		return `{"jobname":"` + name + `","job options":{"write_hist_log":"x","log_hist_msec":"300","rw":"randrw"},
			"mixed":{"total_ios":` + n + `,"runtime":900,"clat_ns":{"N":` + n + `}}}`
	}
	bins := strings.Repeat(", 0", 1855) + "\n"
	dir := files(t, map[string]string{
		"x_clat_hist.1.log": "300, 0, 4096, 5" + bins + "300, 1, 4096, 4" + bins,
		"fio.json":          `{"fio version":"fio-3.33","jobs":[` + job("a", "11") + `,` + job("b", "20") + `]}`,
	})
	warnings, c := warned(t, dir)
	a := c.Sum.Account
	if a.Logged != 9 || a.Counted != 31 || !a.CountedKnown || a.Missing != 22 || a.Excess != 0 || a.Placed != 9 {
		t.Errorf("%v logged, %v counted, %v missing, %v too many, %v placed",
			a.Logged, a.Counted, a.Missing, a.Excess, a.Placed)
	}
	want := []pipeline.JobAccount{
		{Job: "a", Direction: fio.All, Logs: 1, Logged: 9, Counted: 11, Missing: 2},
		{Job: "b", Direction: fio.All, Counted: 20, Missing: 20},
	}
	if !slices.Equal(a.Jobs, want) {
		t.Errorf("jobs %+v, want %+v", a.Jobs, want)
	}
	said := strings.Join(warnings, "\n")
	for _, w := range []string{
		"2 of 11 I/Os are in no log", `job "b" has no log here: its 20 I/Os are missing`,
	} {
		if !strings.Contains(said, w) {
			t.Errorf("warned %q, want %q", said, w)
		}
	}
}
