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
		{"p99.9 run", "fiolat percentiles PATH prints a table"},
		{"rank run", "fiolat summary --sort"},
		{"combine run other", "fiolat DIR adds up the logs of all hosts"},
		{"percentiles --slat run", "pass --kind"},
		{"percentiles --after 2s run", "pass --from"},
		{"compare --after run other", "fiolat compare BEFORE AFTER"},
		{"percentiles --exclude host=a run", "name what is kept"},
		{"summary --interval 10s run", "fiolat percentiles --interval 10s PATH"},
		{"summary --label a=b run", "label:KEY=VALUE as an argument"},
		{"summary --since 30d run", "fiolat runs --since 30d lists runs"},
		{"ingest --host http://localhost:9200 run", "pass --es URL"},
		{"report --pdf run", "print the page from a browser"},
		{"runs --last 30d", "--last: \"30d\" is not a whole number"},
		{"compare run --from 0 --to 5 run --from 5 --to 10", "--from: given twice; it is for all runs"},
		{"percentiles --only read --only job=randrw run", "=3 logs"},
		{"run --format json", "fiolat percentiles --format json PATH"},
		{"run --output-format=json", "fiolat percentiles --format json PATH"},
		{"gate run", "--fail-on-sla"},
		{"serve run", "fiolat PATH makes a page"},
		{"cat run/randrw_clat_hist.1.log", "fiolat percentiles PATH prints a table"},
		{"-V", "fiolat version"},
		{"live run", "run is a directory: fiolat percentiles run reads it"},
		{"html run", "fiolat report -o page.html"},
		{"csv run", "fiolat percentiles --format csv PATH"},
		{"sla run", "fiolat PATH --sla"},
		{"gate run", "fiolat compare --fail-if"},
		{"export run", "fiolat ingest -o DIR PATH"},
		{"jobs run", "fiolat summary --by job PATH"},
		{"bench run", "fiolat live -- fio job.fio"},
		{"login", "pass --es-user"},
		{"commit", "nothing is kept but results in Elasticsearch"},
		{"log run", "fiolat inspect PATH"},
		{"percentiles --groupby job run", "pass --by, such as --by host"},
		{"percentiles --per-disk run", "pass --by, such as --by host"},
		{"percentiles --write-only run", "pass --only direction=read"},
		{"percentiles --input run", "logs and directories are arguments"},
		{"percentiles -R run", "directories are searched with all below them"},
		{"percentiles --colour never run", "tables have neither colors nor escapes"},
		{"percentiles -o json run", "pass --format json, or -o ./json"},
		{"summary --export-csv x.csv run", "pass --output (-o)"},
		{"compare --fail-on-regression run other", "pass --fail-if"},
		{"compare --max-slowdown 5 run other", "see fiolat compare --help"},
		{"ingest --insecure run", "pass --es-insecure"},
		{"ingest --cacert ca.pem run", "pass --es-ca-cert"},
		{"ingest -n run", "pass --dry-run"},
		{"live -f run", "pass --follow"},
		{"delete -f run", "pass --yes"},
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
		{"pctl run", "fiolat percentiles PATH prints a table"},
		{"sweep run", "fiolat curve SWEEP"},
		{"install", "fiolat setup --es URL"},
		{"slo run", "fiolat PATH --sla"},
		{"knee run", "fiolat curve SWEEP"},
		{"heatmap run", "fiolat PATH makes a page with charts"},
		{"es run", "fiolat ingest --es URL PATH"},
		{"examples", "examples/"},
		{"config", "there is no configuration file"},
		{"clean", "fiolat delete RUN"},
		{"purge", "fiolat delete RUN"},
		{"prune", "fiolat delete RUN"},
		{"benchstat run other", "fiolat compare BEFORE AFTER"},
		{"regress run other", "fiolat compare --fail-if"},
		{"baseline run", "fiolat compare BEFORE AFTER"},
		{"percentiles --skip 5 run", "pass --from, such as --from 0:30"},
		{"history --ramp 5 run", "have --from: pass --from"},
		{"inspect --type csv run", "pass --format"},
		{"compare --threshold 10% run other", "pass --fail-if"},
		{"history --threshold 10% run", "pass --min-change"},
		{"curve --threshold 1ms run", "pass --at"},
		{"percentiles --threshold 1ms run", "pass --sla"},
		{"diagnose --threshold 1ms run", "fiolat diagnose PATH names what is slow"},
		{"compare --webhook http://x run other", "pass --alert-webhook URL"},
		{"percentiles --slack http://x run", "fiolat compare, history, live and probe have --alert-webhook"},
		{"history --host h3 run", "have --only: pass --only host=NAME"},
		{"report --overwrite run", "files are replaced"},
		{"runs --limit 5", "pass --last N"},
		{"runs --name x", "a run is named as an argument"},
		{"summary --wide p99 run", "fiolat percentiles has --wide"},
		{"compare -v run other", "there is nothing more to print"},
		{"summary --top 5 run", "pass --sort -METRIC"},
		{"diagnose --top 5 run", "fiolat diagnose PATH names"},
		{"summary --junit run", "compare and history have --format"},
		{"compare --junit run other", "did you mean --format junit?"},
		{"report --dark run", "as the system is"},
		{"summary --md run", "pass --format markdown"},
		{"diagnose --md run", "percentiles, compare and history have --format markdown"},
		{"compare --sla p99<1ms run other", "fiolat PATH --sla RULE"},
		{"slo-check run", "fiolat PATH --sla"},
		{"visualise run", "makes a page with charts"},
		{"visualisee run", "makes a page with charts"},
		{"zzz", "see fiolat --help"},
		{"percentiles --format html run", "fiolat report -o x.html PATH makes a page"},
		{"percentiles --max run", "percentiles and summary print it"},
		{"compare b-1 b-2 b-3 a-1 a-2 a-3", "fiolat compare 'before=b-*' 'after=a-*'"},
		{"compare x/1 x/2 y/1 y/2", "these are 2 and 2 runs of two groups"},
	} {
		code, _, stderr := fiolat(t, nil, strings.Fields(tt.line)...)
		says, works := strings.CutPrefix(tt.says, "=")
		if !strings.Contains(stderr, says) || (code == exitOK) != works || !works && code != exitUsage {
			t.Errorf("fiolat %s: exit %d, want %q\n%s", tt.line, code, tt.says, stderr)
		}
	}
}
