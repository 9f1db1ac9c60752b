//go:build integration

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// HdrHistogram's own program in Java reads what histogram writes: the distribution of the whole run is the same in
// both formats, each interval has its number of I/Os, and percentiles are as close to those of percentiles as the
// middle of fio's bucket is.
func TestHdrHistogram(t *testing.T) {
	dir := t.TempDir()
	mvn := exec.Command("mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy",
		"-DoutputDirectory="+dir, "-Dartifact=org.hdrhistogram:HdrHistogram:2.2.2")
	mvn.Dir = dir
	if out, err := mvn.CombinedOutput(); err != nil {
		t.Fatalf("mvn: %v\n%s", err, out)
	}
	for _, tt := range []struct{ logs, only, tag string }{
		{"randrw", "direction=read", "direction=read"}, {"cluster", "host=127.0.0.2", "host=127.0.0.2"},
		{"slow", "job=slow", ""},
	} {
		t.Run(tt.logs, func(t *testing.T) {
			logs, hlog := filepath.Join(real, tt.logs), filepath.Join(dir, tt.logs)
			by, _, _ := strings.Cut(tt.tag, "=")
			succeed(t, "histogram", "--format", "hlog", "--by", by, "-o", hlog, logs)
			args := []string{"-cp", filepath.Join(dir, "HdrHistogram-2.2.2.jar"),
				"org.HdrHistogram.HistogramLogProcessor", "-i", hlog, "-o", hlog + ".out", "-outputValueUnitRatio", "1"}
			if tt.tag != "" {
				args = append(args, "-tag", tt.tag)
			}
			if out, err := exec.Command("java", args...).CombinedOutput(); err != nil {
				t.Fatalf("java: %v\n%s", err, out)
			}
			hgrm, _ := succeed(t, "histogram", "--format", "hgrm", "--unit", "ns", "--only", tt.only, logs)
			sameDistribution(t, read(t, hlog+".out.hgrm"), hgrm)
			// time: I:count ( 50% 90% max ) T:...
			intervals := read(t, hlog+".out")
			rows, _ := succeed(t, "percentiles", "--format", "ndjson", "--only", tt.only, logs)
			sum, want, n := 0.0, 0.0, 0
			for line := range strings.Lines(rows) {
				var row struct {
					Samples     float64
					Percentiles map[string]float64
				}
				if err := json.Unmarshal([]byte(line), &row); err != nil {
					t.Fatal(err)
				}
				var at, count, p50, p90 float64
				if _, err := fmt.Sscanf(intervals[3+n], "%f: I:%f ( %f %f", &at, &count, &p50, &p90); err != nil {
					t.Fatalf("%q: %v", intervals[3+n], err)
				}
				n++
				sum, want = sum+count, want+row.Samples
				if math.Abs(sum-want) > 10 { // half an I/O for each of a few buckets
					t.Errorf("up to %g s: %g I/Os, want %g", at, sum, want)
				}
				for p, got := range map[string]float64{"50": p50, "90": p90} {
					// Half of fio's bucket, HdrHistogram's own precision; with few I/Os the rank decides.
					if ours := row.Percentiles[p]; row.Samples > 1000 && math.Abs(got-ours) > ours*(1./128+0.001) {
						t.Errorf("p%s up to %g s: %g ns, percentiles has %g", p, at, got, ours)
					}
				}
			}
			if len(intervals) != 3+n || n < 3 || math.Abs(sum-want) > 0.5 {
				t.Errorf("%d lines, %g I/Os in them; want %d, %g", len(intervals), sum, 3+n, want)
			}
		})
	}
}

func read(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// sameDistribution compares the text of HistogramLogProcessor, which has two more lines before it, with ours. The last
// digit of a percentile differs: Java rounds 0.5 up, Go to even.
func sameDistribution(t *testing.T, java []string, ours string) {
	t.Helper()
	lines := strings.Split(strings.TrimRight(ours, "\n"), "\n")
	if len(java) != len(lines)+2 {
		t.Fatalf("%d lines, Java has %d", len(lines), len(java)-2)
	}
	for i, line := range lines {
		want := java[i+2]
		a, b := strings.Fields(line), strings.Fields(want)
		if len(line) == len(want) && len(a) == len(b) && len(a) > 2 {
			p, err := strconv.ParseFloat(a[1], 64)
			q, err2 := strconv.ParseFloat(b[1], 64)
			if err == nil && err2 == nil && math.Abs(p-q) < 1.5e-12 {
				a[1] = b[1]
				line, want = strings.Join(a, " "), strings.Join(b, " ")
			}
		}
		if line != want {
			t.Errorf("line %d:\n%s\nJava has\n%s", i+1, line, want)
		}
	}
}
