package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"fiolat/esmodel/esmodeltest"
	"fiolat/fio"
	"fiolat/internal/testkit"
)

// hostile is a name with all that moves a terminal's cursor, forges a line, turns
// text around, is no UTF-8, or does something in a page.
const hostile = "e\x1b[31m\x1b]0;t\x07\x08\r\n\tfiolat: error: forged\x7f\u009b2J\u202e\u2028\xff<img src=x " +
	"onerror=alert(1)>\"'&`=cmd|x"

// tame fails if a text has a character that is not printable, but for newlines.
func tame(t *testing.T, what, text string) {
	t.Helper()
	for i, r := range text {
		if r != '\n' && !strconv.IsPrint(r) {
			t.Errorf("%s has %q:\n%.300q", what, r, text[max(0, i-100):])
			return
		}
	}
	if strings.Contains(text, "\nfiolat: error: forged") || !utf8.ValidString(text) {
		t.Errorf("%s has a forged line, or is no text:\n%q", what, text)
	}
}

// TestHostileNames: names of files, folders, hosts, jobs and options, and what is
// in bad logs, are never printed or stored as they are.
func TestHostileNames(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	good := goodLog(t)
	meta, err := os.ReadFile(real + "/gaps/fio.json")
	if err != nil {
		t.Fatal(err)
	}
	// Raw bytes where fio writes them raw.
	inJSON := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(hostile)
	meta = []byte(strings.NewReplacer(`"jobname" : "gaps"`, `"jobname" : "`+inJSON+`", "hostname": "`+inJSON+`"`,
		`"ioengine" : "null"`, `"`+inJSON+`" : "`+inJSON+`"`, `"fio-3.33"`,
		`"fio-3.33`+inJSON+`"`).Replace(string(meta)))
	write := func(dir, name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	fine := filepath.Join(t.TempDir(), hostile)
	write(fine, hostile+"_clat_hist.1.log."+hostile, good)
	write(fine, hostile+".json", meta)
	write(fine, hostile+"_bw.1.log", []byte("x"))
	write(fine, hostile+".fio", []byte("["+strings.NewReplacer("\n", "", "\r",
		"").Replace(hostile)+"]\nwrite_hist_log=x\n"))
	broken := filepath.Join(t.TempDir(), hostile)
	write(broken, hostile+"_clat_hist.1.log", []byte(hostile+"\n"))
	write(broken, hostile+"_clat_hist.2.log", []byte("1, 0, 4096, "+hostile+"\n"))
	write(broken, hostile+"_clat_hist.3.log.gz", testkit.Gzipped(good)[:300])
	write(broken, hostile+".json", []byte(`{"fio version": "fio-3.33", "jobs": [{"jobname": "`+inJSON+`", `+
		`"read": {"clat_ns": {"N": 18446744073709551615}}}`+hostile))
	bad := write(broken, hostile+".ndjson", []byte(hostile+"\n"))
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	s.Inject(esmodeltest.Fault{Times: -1, Match: func(r *http.Request) bool {
		return strings.HasPrefix(r.URL.Path, "/other-")
	}, Status: 400, Type: hostile, Reason: hostile})
	s.Inject(esmodeltest.Fault{Times: -1, Item: func(index, _ string) (int, string, string) {
		if strings.HasPrefix(index, "refused-histogram") {
			return 400, hostile, hostile
		}
		return 0, "", ""
	}})
	out := filepath.Join(t.TempDir(), hostile)
	mine := []string{"--run-name", hostile, "--run-id", strings.ReplaceAll(hostile, "\xff", ""), "--by",
		"direction,host,job,log"}
	for _, args := range [][]string{
		append([]string{"percentiles", fine}, mine...),
		append([]string{"percentiles", "--format", "csv", fine}, mine...),
		append([]string{"percentiles", "--format", "json", fine}, mine...),
		append([]string{"percentiles", "--format", "ndjson", fine}, mine...),
		append([]string{"inspect", fine}, mine[2:4]...),
		append([]string{"inspect", "--format", "json", fine}, mine[2:4]...),
		append([]string{"ingest", "--dry-run", fine}, mine...),
		append([]string{"ingest", "--output", out, fine}, mine...),
		{"load", "--es", s.URL, out},
		append([]string{"ingest", "--es", s.URL, "--output", out, fine}, mine...),
		append([]string{"ingest", "--es", s.URL, "--output", out, "--index-prefix", "refused", fine}, mine...),
		{"setup", "--es", s.URL, "--index-prefix", "other"},
		{"setup", "--es", hostile},
		{"ingest", "--es", s.URL, "--index-prefix", hostile, fine},
		{"ingest", "--label", hostile + "=" + hostile, fine},
		{"ingest", "--output", bad, fine},
		{"inspect", broken},
		{"inspect", "--format", "json", broken},
		{"percentiles", broken},
		{"percentiles", "--skip-bad", broken, fine},
		{"percentiles", filepath.Join(broken, "none"+hostile)},
		{"percentiles", filepath.Join(broken, "*"+hostile+"*[")},
		{"percentiles", "--fio-json", bad, fine},
		{"percentiles", "--start", hostile, fine},
		{"percentiles", "--like", "fio-histo-log-pctiles", filepath.Join(broken, hostile)},
		{"load", "--es", s.URL, bad},
		{"load", "--es", s.URL, filepath.Join(broken, hostile)},
		{hostile}, {"ingest", "--" + hostile}, {"ingest", "--es-password-file", hostile, "--es-user", hostile, "--es",
			s.URL, fine},
	} {
		for _, format := range []string{"text", "json"} {
			if args[0] == hostile && format == "json" || slices.Contains(args, "--like") && format == "json" {
				continue
			}
			full := slices.Clone(args)
			if format == "json" {
				full = append(full, "--log-format", "json")
			}
			code, stdout, stderr := fiolat(t, nil, full...)
			what := format + " " + strings.Join(args, " ")
			what = strconv.Quote(strings.ReplaceAll(what, hostile, "*"))
			tame(t, what+" (standard output)", stdout)
			tame(t, what+" (standard error)", stderr)
			if code != exitOK && stderr == "" {
				t.Errorf("%s: exit %d without a word", what, code)
			}
			if wantsOK := slices.Contains(args, fine) && !slices.ContainsFunc(args, func(a string) bool {
				return a == "refused" || a == broken || a == bad || a == "--label" || a == "--start" ||
					a == "--es-user" || a == hostile && slices.Contains(args, "--index-prefix") &&
					!slices.Contains(args, "--run-name")
			}); wantsOK && code != exitOK {
				t.Errorf("%s: exit %d\n%s", what, code, stderr)
			}
		}
	}
	runs := s.Docs("fio-run")
	if len(runs) != 1 {
		t.Fatalf("%d runs", len(runs))
	}
	var doc struct{ Run struct{ Name string } }
	if err := json.Unmarshal(runs[0].Source, &doc); err != nil || doc.Run.Name != fio.Printable(hostile) {
		t.Errorf("the name in the document is %q, %v", doc.Run.Name, err)
	}
	for _, index := range []string{"fio-run", "fio-histogram-*", "fio-percentiles-*", "fio-event-*"} {
		for _, d := range s.Docs(index) {
			if string(fio.PrintableJSON(d.Source, "")) != string(d.Source) {
				t.Fatalf("%s has a name that is not printable:\n%s", index, d.Source)
			}
		}
	}
	// What the user passes is found as it was passed, and as it is printed.
	for _, name := range []string{hostile, mine[3]} {
		for _, name := range []string{name, fio.Printable(name)} {
			job := strings.ToValidUTF8(hostile, "\uFFFD") // fio's JSON is UTF-8
			for _, only := range []string{job, fio.Printable(job)} {
				code, stdout, stderr := fiolat(t, nil, "percentiles", "--es", s.URL, "--format", "csv",
					"--interval", "run", "--only", "job="+only, name)
				if code != exitOK || strings.Count(stdout, "\n") < 2 {
					t.Errorf("%q, job %q: exit %d\n%s%s", name, only, code, stdout, stderr)
				}
			}
		}
	}
	for _, args := range [][]string{
		{"label", "--es", s.URL, hostile, "who=" + hostile},
		{"annotate", "--es", s.URL, "--at", "+1s", hostile, "a note"},
		{"rollup", "--es", s.URL, "--interval", "10s", hostile},
		append([]string{"ingest", "--es", s.URL, fine}, mine...),
		{"runs", "--es", s.URL, "--label", "who=" + hostile}, {"delete", "--es", s.URL, "--yes", hostile},
	} {
		code, stdout, stderr := fiolat(t, nil, args...)
		tame(t, args[0], stdout+stderr)
		if code != exitOK || strings.Contains(stdout+stderr, "no run") {
			t.Errorf("%s: exit %d\n%s%s", args[0], code, stdout, stderr)
		}
	}
	for _, index := range []string{"fio-run", "fio-histogram-*", "fio-percentiles-*", "fio-event-*"} {
		if n := len(s.Docs(index)); n > 0 {
			t.Errorf("%d documents left in %s", n, index)
		}
	}
}

// TestFormulas: no name makes a cell of CSV that a spreadsheet computes.
func TestFormulas(t *testing.T) {
	t.Parallel()
	meta, err := os.ReadFile(real + "/gaps/fio.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{`=cmd|' /C calc'!A0`, "+1", "-1", "@SUM(A1)"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a_clat_hist.1.log."+strings.ReplaceAll(name, "/", "")), goodLog(t),
			0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "fio.json"), bytes.Replace(meta, []byte(`"jobname" : "gaps"`),
			[]byte(`"jobname" : "`+name+`"`), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := fiolat(t, nil, "percentiles", "--format", "csv", "--by", "host,job", dir)
		rows, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
		if code != exitOK || err != nil || !strings.Contains(stdout, "'"+name[:2]) {
			t.Fatalf("exit %d, %v\n%.500s%s", code, err, stdout, stderr)
		}
		for _, row := range rows {
			for _, cell := range row {
				if cell != "" && strings.Contains("=+-@", cell[:1]) {
					t.Fatalf("a formula: %q", cell)
				}
			}
		}
	}
}

// TestForeignFile: of a file that a link or a mistake put in the place of a log, of fio's
// JSON or of a job file, nothing comes out: neither on the screen nor in documents.
func TestForeignFile(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	for _, content := range []string{
		"canary:$6$salt:19000:0:99999:7:::\ncanary:x:0:0::/root:/bin/sh\n",
		"-----BEGIN PRIVATE KEY-----\ncanary+/=\n", "{canary: 1}\n", "[canary\nioengine=canary\n", "\x00canary\x01\n",
		"-canary, 1, 2\n",
	} {
		for _, name := range []string{"a_clat_hist.1.log", "a_clat_hist.2.log", "a_clat.1.log", "fio.json", "job.fio"} {
			dir, foreign := t.TempDir(), filepath.Join(t.TempDir(), "foreign")
			if err := os.WriteFile(foreign, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if name != "a_clat_hist.1.log" {
				if err := os.WriteFile(filepath.Join(dir, "a_clat_hist.1.log"), goodLog(t), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(foreign, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "out")
			for _, args := range [][]string{
				{"inspect", dir}, {"percentiles", "--skip-bad", dir}, {"percentiles", "--kind", "clat,slat", dir},
				{"ingest", "--start", "0", "--skip-bad", "--output", out, dir},
				{"percentiles", "--fio-json", foreign, dir}, {"percentiles", "--like", "fiologparser_hist",
					"--job-file", foreign, foreign}, {"load", foreign},
			} {
				_, stdout, stderr := fiolat(t, nil, args...)
				said := stdout + stderr
				filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
					if err == nil && !d.IsDir() {
						b, _ := os.ReadFile(path)
						said += string(b)
					}
					return nil
				})
				if strings.Contains(said, "canar") {
					t.Errorf("%q as %s, %q:\n%s", content, name, args[:2], said)
				}
			}
		}
	}
}

// TestOddFiles: what is no file is never opened where it is merely found, loops
// end, and links to folders are searched once.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), t.TempDir()
	for _, d := range []string{dir, elsewhere} {
		if err := os.WriteFile(filepath.Join(d, "a_clat_hist.1.log"), goodLog(t), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, want, stderr := fiolat(t, nil, "percentiles", "--format", "csv", dir)
	if code != exitOK {
		t.Fatal(stderr)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	must(syscall.Mkfifo(in("pipe_clat_hist.1.log"), 0o600))
	must(syscall.Mkfifo(in("fio.json"), 0o600))
	must(syscall.Mkfifo(in("job.fio"), 0o600))
	must(os.Symlink("/dev/zero", in("zero_clat_hist.1.log")))
	must(os.Symlink("/dev/zero", in("zero.json")))
	must(os.Symlink("pipe_clat_hist.1.log", in("link_clat_hist.1.log")))
	must(os.Symlink("self_clat_hist.1.log", in("self_clat_hist.1.log")))
	must(os.Symlink(".", in("here")))
	must(os.Symlink("..", in("up")))
	must(os.Mkdir(in("sub"), 0o700))
	must(os.Symlink("../sub", in("sub/again")))
	must(os.Symlink("/", in("root")))
	listener, err := net.Listen("unix", in("socket_clat_hist.1.log"))
	must(err)
	defer listener.Close()
	cmd, stdout, errs := program(t, nil, "percentiles", "--format", "csv", dir)
	cmd.WaitDelay = time.Second
	stuck := time.AfterFunc(time.Hour, func() { cmd.Process.Kill() })
	defer stuck.Stop()
	if err := cmd.Run(); err != nil || stdout.String() != want {
		t.Errorf("%v\n%s\n%s", err, stdout, errs)
	}
	for _, name := range []string{"pipe", "zero", "link", "socket"} {
		if warning, _, _ := strings.Cut(errs.String(), "\n"); !strings.Contains(warning, ": not a regular file") ||
			!strings.Contains(warning, name+"_clat_hist.1.log") {
			t.Errorf("%s is left out in silence:\n%s", name, errs)
		}
	}
	if !strings.Contains(errs.String(), "self_clat_hist.1.log: too many levels of symbolic links") {
		t.Errorf("the loop is left out in silence:\n%s", errs)
	}
	// A link to a folder and to a file elsewhere are followed: the user may read them.
	must(os.Symlink(elsewhere, in("elsewhere")))
	if code, _, stderr := fiolat(t, nil, "inspect", in("elsewhere")); code != exitOK || !strings.Contains(stderr,
		"1 log, ") {
		t.Error(stderr)
	}
}

// TestGzipBomb: 10 GB in a few MB are refused in bounded memory.
func TestGzipBomb(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	var member bytes.Buffer
	z, err := gzip.NewWriterLevel(&member, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	zeros := make([]byte, 1<<20)
	for range 100 {
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	bomb := filepath.Join(t.TempDir(), "bomb_clat_hist.1.log.gz")
	if err := os.WriteFile(bomb, bytes.Repeat(member.Bytes(), 100), 0o600); err != nil {
		t.Fatal(err)
	}
	peak := filepath.Join(t.TempDir(), "peak")
	cmd, stdout, stderr := program(t, []string{peakFile + "=" + peak}, "percentiles", bomb)
	cmd.Run() // the code is looked at
	if cmd.ProcessState.ExitCode() != exitInput || stdout.Len() > 0 || !strings.Contains(stderr.String(),
		"bomb_clat_hist.1.log.gz:1: a line of more than 1048576 bytes") {
		t.Errorf("%v\n%s", cmd.ProcessState, stderr)
	}
	status, err := os.ReadFile(peak)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(status), "VmHWM:")
	var kb int
	// most of it the race detector's, where there is one
	if _, err := fmt.Sscan(text, &kb); err != nil || kb > 256<<10 {
		t.Errorf("%d KB of memory, %v", kb, err)
	}
	t.Logf("%d KB", kb)
}

// TestBombOfEmptyLines: kilobytes that unpack to gigabytes of empty lines end, and so do
// those that --skip-bad would skip one by one.
func TestBombOfEmptyLines(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	for name, again := range map[string]string{"empty lines": "\n", "bad lines": "x\n"} {
		bomb := filepath.Join(t.TempDir(), "bomb_clat_hist.1.log.zst")
		f, err := os.Create(bomb)
		if err != nil {
			t.Fatal(err)
		}
		z, err := zstd.NewWriter(f)
		if err != nil {
			t.Fatal(err)
		}
		z.Write(goodLog(t))
		block := bytes.Repeat([]byte(again), 1<<20/len(again))
		for range 1 << 10 {
			z.Write(block)
		}
		z.Close()
		f.Close()
		for _, args := range [][]string{{"percentiles", bomb}, {"percentiles", "--skip-bad", bomb}, {"ingest",
			"--skip-bad", "--output", t.TempDir(), bomb}} {
			if name == "bad lines" && len(args) == 2 {
				continue // the first of them is an error
			}
			code, _, stderr := fiolat(t, nil, args...)
			if code != exitInput || !strings.Contains(stderr, "bomb_clat_hist.1.log.zst: more than 100000 lines") ||
				strings.Count(stderr, "\n") > 10 {
				t.Errorf("%s, %q: exit %d\n%.1000s", name, args, code, stderr)
			}
		}
	}
}

// TestOutputIsOurs: files that lie where ours go are replaced by new ones of ours,
// and never written into.
func TestOutputIsOurs(t *testing.T) {
	t.Parallel()
	out, kept := filepath.Join(t.TempDir(), "out"), t.TempDir()
	ingest := func() []string {
		if code, _, stderr := fiolat(t, nil, "ingest", "--output", out, real+"/gaps"); code != exitOK {
			t.Fatal(stderr)
		}
		files, _ := filepath.Glob(filepath.Join(out, "*"))
		return files
	}
	files := ingest()
	if len(files) != 4 { // three of documents, and the page
		t.Fatal(files)
	}
	for _, f := range files {
		if err := os.WriteFile(f, []byte("theirs"), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(f, 0o666); err != nil {
			t.Fatal(err)
		}
		if os.Getuid() == 0 {
			if err := os.Chown(f, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Link(f, filepath.Join(kept, filepath.Base(f))); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range ingest() {
		st, err := os.Stat(f)
		if err != nil || st.Mode().Perm() != 0o600 || st.Sys().(*syscall.Stat_t).Uid != uint32(os.Getuid()) {
			t.Errorf("%s: %v, %v", f, st.Mode(), err)
		}
		if b, err := os.ReadFile(filepath.Join(kept, filepath.Base(f))); err != nil || string(b) != "theirs" {
			t.Errorf("written into: %.100s, %v", b, err)
		}
	}
}

// TestHugeNumbers: numbers at the ends of what fits are refused, or counted right to
// twelve digits.
func TestHugeNumbers(t *testing.T) {
	t.Parallel()
	row := func(stamp, count string) string {
		return stamp + ", 0, 4096, " + count + strings.Repeat(", "+count, 28) + "\n"
	}
	var seconds strings.Builder
	for s := range 40 {
		seconds.WriteString(row(fmt.Sprint(s, "000"), "1"))
	}
	for _, tt := range []struct {
		name, log string
		args      []string
		code      int
		want      string
	}{
		{"a count of 2^64", row("1000", "0") + row("2000", "18446744073709551616"), nil, exitInput, ".log:2: "},
		{"a count of 2^63", row("1000", "0") + row("2000", "9223372036854775808"), nil, exitInput, ".log:2: "},
		{"a count of 2^44", row("1000", "0") + row("2000", "17592186044416"), nil, exitInput, ".log:2: "},
		{"a stamp of 2^63", row("1000", "0") + row("9223372036854775808", "1"), nil, exitInput, ".log:2: "},
		{"a stamp of the year 2201", row("1000", "0") + row("7289654400000", "1"), nil, exitInput,
			"beyond the year 2200"},
		{"a million columns", row("1000", "1") + "2000, 0, 4096" + strings.Repeat(", 1", 300_000) + "\n", nil,
			exitInput, ".log:2: "},
		{"years in one record", row("1000", "1") + row("7000000000", "1"), []string{"--interval", "1s",
			"--log-hist-msec", "1000000000"}, exitInput, ".log:2: stamp 7000000000 ms: no line for 1944h0m0s before it"},
		{"years between records", seconds.String() + row("60000000000", "1"), nil, exitInput,
			".log:41: stamp 60000000000 ms: no line for 16667h0m0s before it"},
		// 29 x 40,000 of the largest count are more than 2^64.
		{"a sum of more than 2^64", strings.Repeat(row("1000", "17592186044415"), 40_000), nil, exitOK,
			"1 log, 20,406,935,811,52"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "a_clat_hist.1.log")
			if err := os.WriteFile(path, []byte(tt.log), 0o600); err != nil {
				t.Fatal(err)
			}
			code, stdout, stderr := fiolat(t, nil, append([]string{"percentiles", path}, tt.args...)...)
			if code != tt.code || !strings.Contains(stderr, tt.want) || (code != exitOK) != (stdout == "") {
				t.Errorf("exit %d, want %d and %q:\n%.1000s%s", code, tt.code, tt.want, stdout, stderr)
			}
		})
	}
}
