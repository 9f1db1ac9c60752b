package plan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/ingest/fiolog"
	"fiolat/internal/testkit"
	"fiolat/internal/testlog"
	"fiolat/pipeline"
	"fiolat/pipeline/pipelinetest"
)

// made is a log of so many seconds in two directions, of real records.
func made(t testing.TB, seed uint64, seconds int) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(real, "randrw/randrw_clat_hist.1.log"))
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := testlog.NewTemplate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl.Log(seed, time.Second, seconds)
}

// coarse is a log of 29 columns.
func coarse(seed uint64, seconds int) []byte {
	return testlog.Config{Seed: seed, Duration: time.Duration(seconds) * time.Second, Rate: 20,
		Geometry: fiohist.Geometry{Groups: fiohist.GroupsV3, Coarseness: 6, Unit: 1}}.Log()
}

// folder writes logs into a new folder and returns it.
func folder(t testing.TB, logs ...[]byte) string {
	t.Helper()
	// A job file says that they started together.
	content := map[string][]byte{"job.fio": fmt.Appendf(nil, "[x]\nwrite_hist_log\nnumjobs=%d\n", len(logs))}
	for i, log := range logs {
		content[fmt.Sprintf("x_clat_hist.%d.log", i+1)] = log
	}
	return testkit.Files(t, content)
}

// files writes files into a new folder.
var files = testkit.Files[string]

// record returns the line of a record at coarseness 6 with the given counts by bucket.
func record(ms int, d fio.Direction, counts map[int]int) string {
	line := fmt.Sprintf("%d, %d, 4096", ms, d)
	for b := range 29 {
		line += fmt.Sprintf(", %d", counts[b])
	}
	return line + "\n"
}

// samples are the I/Os of a run by direction.
func samples(c *pipelinetest.Collect) map[string]float64 {
	sums := map[string]float64{}
	for _, r := range c.Rows {
		if r.Scope == "direction" {
			sums[r.Dims.Direction] += r.Stats.Samples
		}
	}
	return sums
}

// same compares all that came out of two runs.
func same(t *testing.T, what string, got, want *pipelinetest.Collect) {
	t.Helper()
	if !reflect.DeepEqual(got.Rows, want.Rows) || !reflect.DeepEqual(got.Offsets, want.Offsets) ||
		!reflect.DeepEqual(got.Sum, want.Sum) {
		t.Errorf("%s: the result differs", what)
	}
}

// TestWorkers: one log, or several, give the same result with any number of
// workers, who read ahead where there are more of them than logs.
func TestWorkers(t *testing.T) {
	t.Parallel()
	bad := made(t, 1, 400)
	bad = append(bad[:len(bad)/2], append([]byte("7, 0, \n"), bad[len(bad)/2:]...)...) // in the middle of a line
	for name, dir := range map[string]string{
		"one log":      folder(t, made(t, 1, 700)),
		"two logs":     folder(t, made(t, 1, 300), made(t, 2, 500)),
		"a line split": folder(t, bad[:len(bad)-100]),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fio.Defaults()
			s.Interval, s.SkipBad = 10*time.Second, true
			var want *pipelinetest.Collect
			var warned string
			for _, workers := range []int{1, 2, 16} {
				var warnings []string
				got, err := process(t, Config{Settings: s, Workers: workers, Hold: 1 << 20,
					Warn: func(w string) { warnings = append(warnings, w) }}, dir)
				if err != nil {
					t.Fatal(err)
				}
				if want == nil {
					want, warned = got, strings.Join(warnings, "\n")
				}
				same(t, fmt.Sprintf("%d workers", workers), got, want)
				if strings.Join(warnings, "\n") != warned {
					t.Errorf("%d workers: warnings %q, with one %q", workers, warnings, warned)
				}
			}
			if bad := name == "a line split"; bad != strings.Contains(warned, "_clat_hist.1.log:") {
				t.Errorf("warnings: %q", warned)
			}
		})
	}
	t.Run("an error names the line", func(t *testing.T) {
		t.Parallel()
		log := made(t, 1, 500)
		log = append(log, "600000, 0, 4096, 5\n"...)
		for _, workers := range []int{1, 2, 16} {
			_, err := process(t, Config{Settings: fio.Defaults(), Workers: workers}, folder(t, log))
			var bad *fio.ParseError
			if !errors.As(err, &bad) || bad.Line != int64(bytes.Count(log, []byte("\n"))) {
				t.Errorf("%d workers: %v", workers, err)
			}
		}
	})
}

// TestPackedWorkers: logs packed in one piece or in several give what the plain ones
// do, with any number of workers, whether they decompress a log of their own, decompress
// for others, go on after its head, or begin it anew since that was too much to keep.
// Each byte is reported once.
func TestPackedWorkers(t *testing.T) {
	t.Parallel()
	frames := func(size int) func([]byte) []byte {
		return func(log []byte) (packed []byte) {
			z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
			if err != nil {
				t.Fatal(err)
			}
			for ; len(log) > 0; log = log[min(size, len(log)):] {
				packed = z.EncodeAll(log[:min(size, len(log))], packed)
			}
			return packed
		}
	}
	logs := [][]byte{made(t, 1, 500), made(t, 2, 700), made(t, 3, 20)}
	s := fio.Defaults()
	s.Interval = 10 * time.Second
	for name, pack := range map[string]func([]byte) []byte{"zstd frames": frames(1 << 20),
		"a zstd frame": frames(1 << 30), "gzip": func(log []byte) []byte { return testkit.Gzipped(log) }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for n := 1; n <= len(logs); n++ {
				var packed [][]byte
				for _, log := range logs[:n] {
					packed = append(packed, pack(log))
				}
				want, err := process(t, Config{Settings: s, Workers: 1}, folder(t, logs[:n]...))
				if err != nil {
					t.Fatal(err)
				}
				dir, size := folder(t, packed...), int64(len(slices.Concat(packed...)))
				for _, workers := range []int{1, 2, 16} {
					for _, kept := range []int{0, 3000} {
						var read atomic.Int64
						got, err := process(t, Config{Settings: s, Workers: workers, Hold: 1 << 20, keptHead: kept,
							Progress: func(n int64) { read.Add(n) }}, dir)
						if err != nil {
							t.Fatal(err)
						}
						same(t, fmt.Sprintf("%d logs, %d workers, %d kept", n, workers, kept), got, want)
						if read.Load() != size {
							t.Errorf("%d logs, %d workers, %d kept: %d bytes, want %d", n, workers, kept, read.Load(),
								size)
						}
					}
				}
			}
		})
	}
}

// TestFewIntervalsHeld: of many logs only what is added up next lies in histograms, however far
// a direction that may still begin has them read ahead. Skipped lines count as if they were
// placed at once.
func TestFewIntervalsHeld(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	log := made(t, 1, 400)
	for n := range 9 { // lines that are skipped
		at := len(log) * (n + 1) / 10
		at += bytes.IndexByte(log[at:], '\n') + 1
		log = slices.Concat(log[:at], []byte("7, 0, \n"), log[at:])
	}
	dir, s := folder(t, log, made(t, 2, 400)), fio.Defaults()
	s.SkipBad = true
	want, err := process(t, Config{Settings: s, Workers: 1, Hold: 64 << 20}, dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := process(t, Config{Settings: s, Workers: 1, Hold: -1}, dir)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "held in histograms or not", got, want)
}

// TestManyFiles: more logs than files may be open, whether they begin anew after their
// heads or go on.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	var logs, packed [][]byte
	for i := range 40 {
		logs = append(logs, coarse(uint64(i), 100+i))
		packed = append(packed, testkit.Gzipped(logs[i]))
	}
	want, err := process(t, Config{Settings: fio.Defaults()}, folder(t, logs...))
	if err != nil {
		t.Fatal(err)
	}
	for what, dir := range map[string]string{"plain": folder(t, logs...), "gzip": folder(t, packed...)} {
		got, err := process(t, Config{Settings: fio.Defaults(), OpenFiles: 3, Hold: -1}, dir)
		if err != nil {
			t.Fatal(err)
		}
		same(t, what+", 3 open files", got, want)
	}
}

// stage is a Sink that does something when the first interval comes.
type stage struct {
	pipelinetest.Collect
	first func()
	once  sync.Once
}

func (s *stage) Interval(ctx context.Context, q *pipeline.Interval) error {
	s.once.Do(s.first)
	return s.Collect.Interval(ctx, q)
}

// TestFileChanges: a file that does not stay what it was is named, whatever happens
// to it and whether it is open meanwhile or not.
func TestFileChanges(t *testing.T) {
	t.Parallel()
	log := made(t, 1, 600)
	for _, tt := range []struct {
		name, want string
		change     func(path string) error
	}{
		{"cut", "was cut from", func(p string) error { return os.Truncate(p, 2_000_000) }},
		{"emptied", "was cut from", func(p string) error { return os.Truncate(p, 0) }},
		{"longer", "was extended from", func(p string) error {
			f, err := os.OpenFile(p, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.Write(log[:1000])
			return errors.Join(err, f.Close())
		}},
		{"rewritten", "was written to", func(p string) error {
			f, err := os.OpenFile(p, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteAt(log[:1000], 1000)
			return errors.Join(err, f.Close(), os.Chtimes(p, time.Time{}, time.Now().Add(time.Hour)))
		}},
		{"replaced", "replaced by another file", func(p string) error {
			return errors.Join(os.WriteFile(p+".new", log, 0o600), os.Rename(p+".new", p))
		}},
		{"deleted", "was deleted", os.Remove},
	} {
		for _, openFiles := range []int{1, 100} {
			t.Run(fmt.Sprintf("%s/%d open files", tt.name, openFiles), func(t *testing.T) {
				t.Parallel()
				dir := folder(t, log, log, log)
				path := filepath.Join(dir, "x_clat_hist.2.log")
				ins, err := ingest.Discover([]string{dir}, ingest.DiscoverOptions{})
				if err != nil {
					t.Fatal(err)
				}
				s := fio.Defaults()
				s.Interval = 10 * time.Second
				p, err := Prepare(t.Context(), ins[0], Config{Settings: s, Workers: 1, Hold: -1, OpenFiles: openFiles})
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				sink := &stage{first: func() {
					if err := tt.change(path); err != nil {
						t.Error(err)
					}
				}}
				_, err = p.Process(t.Context(), sink)
				if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v, want %q of %s", err, tt.want, path)
				}
			})
		}
	}
}

// TestPipes: a single writer fills many pipes in the order of time, each no further
// than its capacity: all must be read, however many workers there are.
func TestPipes(t *testing.T) {
	t.Parallel()
	dir, files := t.TempDir(), t.TempDir()
	const pipes, seconds = 40, 1500
	var logs [][]byte
	for i := range pipes {
		logs = append(logs, coarse(uint64(i), seconds))
		name := fmt.Sprintf("x_clat_hist.%d.log", i+1)
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(files, name), logs[i], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var paths []string
	for i := range pipes {
		paths = append(paths, filepath.Join(dir, fmt.Sprintf("x_clat_hist.%d.log", i+1)))
	}
	done := make(chan error, 1)
	go func() { done <- feedPipes(paths, logs) }()
	s := fio.Defaults()
	s.Interval = 10 * time.Second
	got, err := process(t, Config{Settings: s, Workers: 1, Hold: -1}, paths...)
	if err = errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	want, err := process(t, Config{Settings: s}, files)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Rows, want.Rows) {
		t.Error("pipes give another result than files")
	}
}

// feedPipes writes all logs at the same pace, the last opened first.
func feedPipes(paths []string, logs [][]byte) error {
	out := make([]*os.File, len(paths))
	for i := len(paths) - 1; i >= 0; i-- {
		f, err := os.OpenFile(paths[i], os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		out[i] = f
	}
	const step = 1000
	for at := 0; ; at += step {
		wrote := false
		for i, f := range out {
			if at < len(logs[i]) {
				wrote = true
				if _, err := f.Write(logs[i][at:min(at+step, len(logs[i]))]); err != nil {
					return err
				}
			}
		}
		if !wrote {
			return nil
		}
	}
}

// TestRareDirection: a direction with a record now and then, whose windows nobody
// told, does not hold up all intervals of the others.
func TestRareDirection(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	var log []byte
	reads, trims := 0, 0
	for n := 1; n <= 20_000; n++ {
		log = fiolog.AppendRecord(log, &fiolog.Record{Time: int64(n) * 1000, Index: []uint16{12}, Count: []float64{5}},
			29)
		reads += 5
		if n%1000 == 77 {
			log = fiolog.AppendRecord(log, &fiolog.Record{Time: int64(n)*1000 + 1, Dir: fio.Trim,
				Index: []uint16{14}, Count: []float64{3}}, 29)
			trims += 3
		}
	}
	ins, err := ingest.Discover([]string{folder(t, log)}, ingest.DiscoverOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var read atomic.Int64
	p, err := Prepare(t.Context(), ins[0], Config{Settings: fio.Defaults(), Hold: -1, Workers: 1,
		Progress: func(n int64) { read.Add(n) }})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	most := int64(0) // seconds between what was read and what came out
	sink := &seen{see: func(q *pipeline.Interval) {
		most = max(most,
			20_000*read.Load()/int64(len(log))-q.Offset/(1000*msec))
	}}
	if _, err := p.Process(t.Context(), sink); err != nil {
		t.Fatal(err)
	}
	if got := sink.Sum.Account.Placed; got != float64(reads+trims) {
		t.Errorf("%v I/Os, want %d", got, reads+trims)
	}
	if most > 8000 { // two blocks, and the records that it may wait for
		t.Errorf("%d quanta held", most)
	}
}

// seen is a Sink that sees every interval.
type seen struct {
	pipelinetest.Collect
	see func(*pipeline.Interval)
}

func (w *seen) Interval(ctx context.Context, q *pipeline.Interval) error {
	w.see(q)
	return w.Collect.Interval(ctx, q)
}

// TestLaterContradictions: what the head of a log said and a later line contradicts
// is an error that names the line, never a wrong number, although intervals have left.
func TestLaterContradictions(t *testing.T) {
	t.Parallel()
	record := func(n, stamp int64, counts ...uint64) []byte {
		r := &fiolog.Record{Time: stamp}
		for i, c := range counts {
			r.Index, r.Count = append(r.Index, uint16(10+i)), append(r.Count, float64(c+uint64(n)*3))
		}
		return fiolog.AppendRecord(nil, r, 29)
	}
	const lines, late = 5000, 4000
	for _, tt := range []struct {
		name, repair, want string
		line               []byte
	}{
		{"another number of columns", "auto", "buckets, want 29", []byte("4000000, 0, 4096, 1, 2, 3\n")},
		{"damage that is none", "yes", "falls below its value two records before", record(late-100, late*1000, 5, 5)},
		{"time runs backwards", "auto", "time runs backwards", record(late, 1000*1000, 5, 5)},
		{"garbage", "auto", "binary data", []byte("4000000, 0, 4096, \x01\x02\n")},
		{"a wrapped counter", "auto", "wrapped around", []byte("4000000, 0, 4096, " + strings.Repeat("0, ", 10) +
			"18446744073709551609, " + strings.Repeat("0, ", 17) + "0\n")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log []byte
			for n := int64(1); n <= lines; n++ {
				if n == late {
					log = append(log, tt.line...)
					continue
				}
				log = append(log, record(n, n*1000, 5, 5)...)
			}
			s := fio.Defaults()
			s.Repair, s.Interval = tt.repair, 10*time.Second
			for _, workers := range []int{1, 4} {
				left := false
				sink := &stage{first: func() { left = true }}
				ins, err := ingest.Discover([]string{folder(t, log)}, ingest.DiscoverOptions{})
				if err != nil {
					t.Fatal(err)
				}
				p, err := Prepare(t.Context(), ins[0], Config{Settings: s, Workers: workers, Hold: -1})
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				_, err = p.Process(t.Context(), sink)
				var bad *fio.ParseError
				if !errors.As(err, &bad) || bad.Line != late || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%d workers: error %v, want %q of line %d", workers, err, tt.want, late)
				}
				if !left || sink.Sum != nil {
					t.Errorf("%d workers: quanta had left: %v, the end was told: %v", workers, left, sink.Sum != nil)
				}
			}
		})
	}
}

// TestSkipAllZero: a log without any I/O is skipped also where its head does not show that it has none.
func TestSkipAllZero(t *testing.T) {
	t.Parallel()
	var good, zero strings.Builder
	for n := range 60 {
		good.WriteString(record(1000*(n+1), fio.Read, map[int]int{11: 5}))
		zero.WriteString(record(1000*(n+1), fio.Read, nil))
	}
	dir := files(t, map[string]string{"x_clat_hist.1.log": good.String(), "x_clat_hist.2.log": zero.String()})
	const why = "x_clat_hist.2.log: all buckets of all records are 0"
	s := fio.Defaults()
	if _, err := process(t, Config{Settings: s}, dir); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("without SkipBad: %v", err)
	}
	s.SkipBad = true
	var warnings []string
	c, err := process(t, Config{Settings: s, Warn: func(w string) { warnings = append(warnings, w) }}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.Sum.Account.LogsSkipped != 1 || samples(c)["read"] != 300 || !strings.Contains(strings.Join(warnings, "\n"),
		why) {
		t.Errorf("%d skipped, %v; %q", c.Sum.Account.LogsSkipped, samples(c), warnings)
	}
}

// TestVersionOfSingleIOs: fio 3.6 to 3.16 wrote garbage into histograms, not into logs of single I/Os.
func TestVersionOfSingleIOs(t *testing.T) {
	t.Parallel()
	meta := `{"fio version":"fio-3.16","jobs":[{"jobname":"y","read":{"total_ios":1,"runtime":1,` +
		`"lat_ns":{"N":1,"min":50000,"max":50000}}}]}`
	s := fio.Defaults()
	s.Kind = fio.Lat
	_, c := planned(t, s, files(t, map[string]string{"y_lat.1.log": "1, 50000, 0, 4096, 0\n", "fio.json": meta}))
	if samples(c)["read"] != 1 {
		t.Errorf("%v", samples(c))
	}
	dir := files(t, map[string]string{"y_clat_hist.1.log": record(1000, fio.Read, map[int]int{11: 1}),
		"fio.json": meta})
	if _, err := process(t, Config{Settings: fio.Defaults()}, dir); err == nil ||
		!strings.Contains(err.Error(), "fio-3.16 wrote garbage") {
		t.Errorf("a histogram log: %v", err)
	}
}
