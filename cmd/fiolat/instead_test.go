package main

import (
	"os"
	"strings"
	"testing"

	"fiolat/internal/testkit"
)

// TestGuesses: what is typed before anything is read works, or the error names what does.
func TestGuesses(t *testing.T) {
	testkit.NotRaced(t)
	dir := t.TempDir()
	for _, name := range []string{"run", "other"} {
		from := map[string]string{"run": real + "/randrw", "other": real + "/gaps"}[name]
		if err := os.CopyFS(dir+"/"+name, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(dir+"/docs", 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	t.Setenv("ELASTICSEARCH_URL", "")
	for _, tt := range []struct {
		line string
		says string // on standard error; with exit code 2 unless the line begins with =, for 0
	}{
		{"run/randrw_clat_hist.1.log", "=page       report.html"},
		{"run", "=3 logs"},
		{"other", "=finding    "},
		{"--sla p99<1us run", "=SLA        all p99 < 1 us: BROKEN"},
		{"run/*.log", "=3 logs"},
		{"-o x.png run", "=picture    x.png"},
		{"run other", "=page       report.html"},
		{".", "=page       report.html"},
		{"nowhere/run", `no such command or file: "nowhere/run"`},
		{"plot run", "makes a page with charts"},
		{"show run", "fiolat PATH makes a page"},
		{"html run", "fiolat report -o page.html"},
		{"csv run", "fiolat percentiles --format csv PATH"},
		{"sla run", "fiolat PATH --sla"},
		{"gate run", "fiolat compare --fail-if"},
		{"export run", "fiolat ingest -o DIR PATH"},
		{"demo", "fiolat testdata/fio/randrw"},
		{"watch run", "fiolat live -- fio job.fio"},
		{"diff run other", "fiolat compare BEFORE AFTER"},
		{"list", "fiolat runs"},
		{"server", "fiolat setup --kibana URL"},
		{"upload run", "fiolat ingest --es URL"},
		{"percentile run", "did you mean fiolat percentiles?"},
		{"percentiles -p 99 run", "=3 logs"},
		{"percentiles -p99 run", "pass --percentiles (-p), such as -p 99"},
		{"percentiles --p99 run", "pass --percentiles (-p), such as -p 99"},
		{"percentiles --p99.9 run", "such as -p 99.9"},
		{"percentiles --quantum 1s run", "pass --interval, such as --interval 1s"},
		{"percentiles -i 1s run", "pass --interval"},
		{"percentiles --only read run", "=3 logs"},
		{"percentiles --only host3 run", "want read, write or trim, or host= or job="},
		{"percentiles --read run", "pass --only direction=read"},
		{"percentiles --group-by host run", "pass --by, such as --by host"},
		{"percentiles --csv run", "--format csv"},
		{"--csv run", "fiolat percentiles --format csv PATH"},
		{"percentiles --output-format csv run", "pass --format, such as --format csv"},
		{"percentiles --since 3:00 run", "pass --from, such as --from 3:00"},
		{"percentiles --host h3 run", "pass --only host=NAME"},
		{"percentiles --tz utc run", "pass --clock utc"},
		{"report --open run", "open it in a browser"},
		{"report --format png run", "-o x.png"},
		{"report --title x run", "pass --run-name"},
		{"inspect --fix run", "logs are repaired as they are read"},
		{"diagnose --sla p99<1ms run", "fiolat PATH --sla RULE has the verdict"},
		{"summary --sla p99<1ms run", "pass --where 'read p99 < 5ms'"},
		{"runs nightly", "--es"},
		{"ingest -o docs/run run", "=documents  106 made, 106 written"},
		{"ingest --password x run", "--es-password-file"},
		{"ingest --index perf run", "pass --index-prefix"},
		{"live --status-interval=1 run", "it is an option of fio"},
		{"ingest --force run", "pass --yes"},
	} {
		code, _, stderr := fiolat(t, nil, strings.Fields(tt.line)...)
		says, works := strings.CutPrefix(tt.says, "=")
		if !strings.Contains(stderr, says) || (code == exitOK) != works || !works && code != exitUsage {
			t.Errorf("fiolat %s: exit %d, want %q\n%s", tt.line, code, tt.says, stderr)
		}
	}
}
