//go:build integration

package report_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"fiolat/internal/testlog"
)

// BenchmarkReport makes the page of an hour of 100 hosts, and of a small run, from
// documents, and opens it in Chromium. It says how large the page is, how much memory
// the program took that made it, and how long it takes from opening the file to the
// last chart; in the larger run also as a multiple of the smaller. The documents of
// the larger run take some GB below TMPDIR while it runs.
func BenchmarkReport(b *testing.B) {
	real, err := os.ReadFile("../testdata/fio/randrw/randrw_clat_hist.1.log")
	if err != nil {
		b.Fatal(err)
	}
	template, err := testlog.NewTemplate(real)
	if err != nil {
		b.Fatal(err)
	}
	var small float64
	for _, size := range []struct{ intervals, hosts int }{{600, 3}, {3600, 100}} {
		b.Run(fmt.Sprintf("quanta=%d/hosts=%d", size.intervals, size.hosts), func(b *testing.B) {
			dir := b.TempDir()
			logs, docs, file := filepath.Join(dir, "logs"), filepath.Join(dir, "docs"), filepath.Join(dir,
				"report.html")
			if err := os.Mkdir(logs, 0o755); err != nil {
				b.Fatal(err)
			}
			for h := range size.hosts {
				name := filepath.Join(logs, fmt.Sprintf("job_clat_hist.1.log.node%03d.zst", h))
				if err := compress(name, template.Stream(uint64(h), time.Second, size.intervals)); err != nil {
					b.Fatal(err)
				}
			}
			fiolat(b, "ingest", "--start", "2026-01-01T00:00:00Z", "--interval", "1s", "--output", docs, logs)
			if err := os.RemoveAll(logs); err != nil {
				b.Fatal(err)
			}
			path, err := program()
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				cmd := exec.Command(path, "report", "-o", file, docs)
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("%v\n%s", err, out)
				}
				b.ReportMetric(float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)/1e3, "MB-rss")
			}
			info, err := os.Stat(file)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(info.Size())/1e6, "MB-page")
			if info.Size() >= 10e6 {
				b.Errorf("the page has %d bytes, want less than 10 MB", info.Size())
			}
			var draw float64
			for i := range 3 { // the fastest of three
				t := openTab(b, 1200, 900, "light")
				t.open(file)
				took := eval[float64](t, "performance.getEntriesByName('drawn')[0].startTime")
				if t.Clean(); i == 0 || took < draw {
					draw = took
				}
			}
			b.ReportMetric(draw, "ms-draw")
			if small == 0 {
				small = draw
			} else {
				b.ReportMetric(draw/small, "times-small")
			}
		})
	}
}

func compress(name string, from io.Reader) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	z, err := zstd.NewWriter(f, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	if _, err = io.Copy(z, from); err == nil {
		err = z.Close()
	}
	if err == nil {
		err = f.Close()
	}
	return err
}
