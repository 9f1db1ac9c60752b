package logs

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/ingest"
	"fiolat/ingest/fiolog"
	"fiolat/ingest/source"
	"fiolat/internal/testlog"
	"fiolat/pipeline"
	"fiolat/pipeline/intervals"
)

// openedLogs are the states of two made-up logs in two directions, of real records, whose heads are read.
func openedLogs(t *testing.T, cfg Config, workers, seconds int, form func([]byte) []byte) (logs []*State) {
	t.Helper()
	raw, err := os.ReadFile("../../testdata/fio/randrw/randrw_clat_hist.1.log")
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := testlog.NewTemplate(raw)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for n := range 2 {
		log := form(tmpl.Log(uint64(n+1), time.Second, seconds))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("x_clat_hist.%d.log", n+1)), log, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ins, err := ingest.Discover([]string{dir}, ingest.DiscoverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found, _, err := ingest.Match(ins[0])
	if err != nil {
		t.Fatal(err)
	}
	cfg.Files, cfg.Settings.RecordTime, cfg.Settings.Align = new(source.Files), "end", "overlap"
	cfg.Divide(len(found), workers)
	for _, f := range found {
		l := New(f, &cfg, false)
		if err := l.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		logs = append(logs, l)
	}
	return logs
}

// TestRecordsWait: of logs that wait for others little is in intervals, and the records that cannot be placed yet wait
// as they are.
func TestRecordsWait(t *testing.T) {
	t.Parallel()
	withBad := func(log []byte) []byte {
		for n := range 9 { // lines that are skipped
			at := len(log) * (n + 1) / 10
			at += bytes.IndexByte(log[at:], '\n') + 1
			log = append(log[:at:at], append([]byte("7, 0, \n"), log[at:]...)...)
		}
		return log
	}
	logs := openedLogs(t, Config{Settings: fio.Settings{SkipBad: true}}, 1, 400, withBad)
	g := intervals.Grid{Interval: int64(time.Second)}
	var members []*intervals.Member
	for _, l := range logs {
		l.Begin(0)
		l.StartAt(0, 0)
		l.Ready(&g, l.g)
		members = append(members, &l.Member)
	}
	merge := intervals.New(&pipeline.Run{}, &g, members, nil, 1, true)
	for n := range int64(100) {
		for _, l := range logs {
			if err := l.Advance(g.Start(n + 1)); err != nil {
				t.Fatal(err)
			}
			if l.head.Records < headRecords && !l.fileEOF {
				t.Fatalf("interval %d: %d records wait", n, l.head.Records)
			}
		}
		if held := merge.Held(); held > 3*merge.Interval() {
			t.Fatalf("interval %d: %d bytes held", n, held)
		}
		merge.Cut(n + 1)
	}
}

// TestSmallLogs: a small log is read once, to its end, also if its head is less. A bad line is met after the records
// before it.
func TestSmallLogs(t *testing.T) {
	t.Parallel()
	const good = 100 // records
	small := func([]byte) (log []byte) {
		for n := range good {
			r := fiolog.Record{Time: int64(n+1) * 1000, Index: []uint16{12}, Count: []float64{5}}
			log = fiolog.AppendRecord(log, &r, 29)
		}
		return append(log, "bad\n"...)
	}
	for _, l := range openedLogs(t, Config{}, 2, 100, small) {
		if l.keepHead != true || l.head.Records != good || l.reopen || l.in != nil || !l.fileEOF {
			t.Errorf("kept %v with %d records, to be read again %v, open %v", l.keepHead, l.head.Records, l.reopen,
				l.in != nil)
		}
		for n := range good + 1 {
			_, err := l.next()
			if bad := new(fio.ParseError); errors.As(err, &bad) != (n == good) || n == good && bad.Line != good+1 {
				t.Fatalf("record %d: %v", n, err)
			}
		}
	}
}

// TestKeptHeads: a log is read from its start again unless that costs more than to keep
// what was read.
func TestKeptHeads(t *testing.T) {
	t.Parallel()
	gz := func(log []byte) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(log); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for _, tt := range []struct {
		name    string
		form    func([]byte) []byte
		cfg     Config
		workers int
		want    bool
	}{
		{"gzip", gz, Config{}, 2, true},
		{"plain", bytes.Clone, Config{}, 2, false},
		{"cores are left to read ahead", gz, Config{}, 3, false},
		{"all of it is read before", gz, Config{Settings: fio.Settings{SkipBad: true}}, 2, false},
		{"too many buckets", gz, Config{KeptHead: 3000}, 2, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, l := range openedLogs(t, tt.cfg, tt.workers, 100, tt.form) {
				if l.keepHead != tt.want || (l.head.Records > 0) != tt.want || l.reopen == tt.want ||
					(l.in != nil) != tt.want {
					t.Errorf("kept %v with %d records, to be read again %v, open %v, want %v", l.keepHead,
						l.head.Records, l.reopen, l.in != nil, tt.want)
				}
			}
		})
	}
}

// TestReadOnce: a small log is not opened again after it was found, whether its head is kept or read twice.
func TestReadOnce(t *testing.T) {
	t.Parallel()
	for _, skipBad := range []bool{false, true} {
		dir := t.TempDir()
		for n := range 2 {
			line := fmt.Sprintf("%d, 0, 4096, 1%s\n", 1000+n, strings.Repeat(", 2", 1855))
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("x_clat_hist.%d.log", n+1)), []byte(line),
				0o600); err != nil {
				t.Fatal(err)
			}
		}
		ins, err := ingest.Discover([]string{dir}, ingest.DiscoverOptions{})
		if err == nil {
			err = os.RemoveAll(dir)
		}
		if err != nil {
			t.Fatal(err)
		}
		found, _, err := ingest.Match(ins[0])
		if err != nil {
			t.Fatal(err)
		}
		cfg := Config{Files: new(source.Files), Settings: fio.Settings{RecordTime: "end", Align: "overlap",
			SkipBad: skipBad}}
		cfg.Divide(len(found), 1)
		for _, f := range found {
			l := New(f, &cfg, false)
			if err := l.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			r, err := l.next()
			if l.reopen {
				l.in, err = openLog(l)
				if err == nil {
					r, err = l.next()
				}
			}
			if err != nil || r.IOs != 1+2*1855 {
				t.Errorf("skip bad %v: %+v, %v", skipBad, r, err)
			}
		}
	}
}
