package plan

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/pipeline/pipelinetest"
)

// latencies are those of every single I/O in the logs that match, by direction and
// second.
func latencies(t *testing.T, pattern string) map[string]map[int64][]float64 {
	t.Helper()
	out := map[string]map[int64][]float64{fio.All: {}}
	for _, io := range readExact(t, pattern) {
		for _, d := range []string{fio.All, io.dir} {
			if out[d] == nil {
				out[d] = map[int64][]float64{}
			}
			out[d][io.ms/1000] = append(out[d][io.ms/1000], float64(io.ns))
		}
	}
	return out
}

// ofKind runs the single I/Os of a kind in the real folder through the pipeline;
// without the histograms, so that clat comes from single I/Os, too.
func ofKind(t *testing.T, folder string, kind fio.Kind, s fio.Settings) (*Plan, *pipelinetest.Collect) {
	t.Helper()
	dir := t.TempDir()
	files, err := filepath.Glob(filepath.Join(real, folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		abs, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		if base := filepath.Base(file); !strings.Contains(base, "_hist.") {
			if err := os.Symlink(abs, filepath.Join(dir, base)); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.Kind = kind
	return planned(t, s, dir)
}

// TestSingleExact: percentiles per kind and second lie within a bucket's width of
// the exact ones, and no I/O is lost or in another second, in either alignment.
func TestSingleExact(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		folder string
		kind   fio.Kind
	}{{"exact", fio.Clat}, {"latkinds", fio.Clat}, {"latkinds", fio.Slat}, {"latkinds", fio.Lat}} {
		for _, align := range []string{"overlap", "inflight"} {
			t.Run(fmt.Sprintf("%s/%v/%s", tc.folder, tc.kind, align), func(t *testing.T) {
				t.Parallel()
				s := fio.Defaults()
				s.Align = align
				_, c := ofKind(t, tc.folder, tc.kind, s)
				want := latencies(t, filepath.Join(real, tc.folder, "*_"+tc.kind.String()+".*.log"))
				compared := 0
				for i, r := range c.Rows {
					exact := want[r.Dims.Direction][c.Offsets[i]/1e9]
					if r.Stats.Samples != float64(len(exact)) {
						t.Fatalf("%s at %d s: %v I/Os, want %d", r.Dims.Direction, c.Offsets[i]/1e9, r.Stats.Samples,
							len(exact))
					}
					slices.Sort(exact)
					for k, p := range s.Percentiles {
						if len(exact) == 0 {
							continue
						}
						compared++
						truth := exact[max(int(math.Ceil(float64(len(exact))*p/100-1e-9)), 1)-1]
						g := fiohist.Fio3
						b := g.Index(int64(truth))
						if got := r.Stats.Percentiles[k]; got < float64(g.Lower(b)) || got > float64(g.Upper(b)) {
							t.Errorf("%s at %d s, p%v: %v, want %v within [%d, %d]", r.Dims.Direction, c.Offsets[i]/1e9,
								p, got, truth, g.Lower(b), g.Upper(b))
						}
					}
				}
				if compared < 100 {
					t.Errorf("%d percentiles compared", compared)
				}
			})
		}
	}
}

// TestSingleIsHistogram: clat from single I/Os is clat from the histogram log with its
// tail restored, bucket by bucket over the whole run.
func TestSingleIsHistogram(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"exact", "latkinds"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			sums := func(c *pipelinetest.Collect) map[string]*fiohist.Hist {
				out := map[string]*fiohist.Hist{}
				for _, l := range c.Leaves {
					if out[l.Dims.Direction] == nil {
						out[l.Dims.Direction] = new(fiohist.Hist)
					}
					out[l.Dims.Direction].AddHist(l.Hist)
				}
				return out
			}
			p, single := ofKind(t, folder, fio.Clat, fio.Defaults())
			complete(t, p)
			_, hist := planned(t, fio.Defaults(), filepath.Join(real, folder))
			got, want := sums(single), sums(hist)
			for d, h := range want {
				for b := range fiohist.Fio3.Columns() {
					if math.Abs(got[d].Count(b)-h.Count(b)) > 1e-6 {
						t.Errorf("%s, bucket %d: %v single I/Os, %v in histograms", d, b, got[d].Count(b), h.Count(b))
					}
				}
			}
		})
	}
}

// TestSingleOdd: single I/Os that are not what they seem, or none.
func TestSingleOdd(t *testing.T) {
	t.Parallel()
	const json = `{"fio version":"fio-3.33","timestamp_ms":1790000001500,"jobs":[{"jobname":"x","job_runtime":1000,` +
		`"job options":{"ioengine":"psync"%s},"read":{"total_ios":3,"runtime":1000,"slat_ns":{"N":0},` +
		`"lat_ns":{"N":3,"min":5,"max":9},"clat_ns":{"N":3,"min":5,"max":9}}}]}`
	for _, tc := range []struct {
		name, log, options string
		kind               fio.Kind
		want               string // I/Os by interval, or the error
	}{
		{"steady", "0, 5, 0, 4096\n999, 6, 0, 4096\n1000, 9, 0, 4096\n", "", fio.Lat, "2 1"},
		{"absolute", "1790000000500, 5, 0, 4096\n1790000001400, 6, 0, 4096\n1790000001500, 9, 0, 4096\n", "",
			fio.Lat, "2 1"},
		{"empty, as of a synchronous engine", "", "", fio.Slat, ""},
		{"averages", "500, 5, 0, 0\n", "", fio.Lat, "it holds averages"},
		{"several jobs in one log", "5, 5, 0, 4096\n900, 6, 0, 4096\n4, 9, 0, 4096\n", "", fio.Lat,
			":3: time runs backwards"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir := files(t, map[string]string{"x_" + tc.kind.String() + ".1.log": tc.log,
				"fio.json": fmt.Sprintf(json, tc.options)})
			s := fio.Defaults()
			s.Kind, s.By = tc.kind, nil
			ins, err := ingest.Discover([]string{dir}, ingest.DiscoverOptions{Kind: tc.kind})
			if err != nil {
				t.Fatal(err)
			}
			c := new(pipelinetest.Collect)
			p, err := Prepare(t.Context(), ins[0], Config{Settings: s})
			if err == nil {
				defer p.Close()
				_, err = p.Process(t.Context(), c)
			}
			var got []string
			for _, r := range c.Rows {
				got = append(got, fmt.Sprint(r.Stats.Samples))
			}
			said := strings.Join(got, " ")
			if err != nil {
				said = err.Error()
			}
			if said != tc.want && (err == nil || !strings.Contains(said, tc.want)) {
				t.Errorf("got %q, want %q", said, tc.want)
			}
		})
	}
}

// TestSingleMissing: logs of single I/Os that hold fewer I/Os of a direction than fio
// counted are named, and those that fio --client must have cut also without a count.
func TestSingleMissing(t *testing.T) {
	t.Parallel()
	const json = `{"fio version":"fio-3.42","timestamp_ms":1790000000000,"jobs":[{"jobname":"x","job_runtime":1000,` +
		`"read":{"total_ios":3,"runtime":1000,"clat_ns":{"N":3,"min":5,"max":9}},"write":{"total_ios":1,` +
		`"runtime":1000,"clat_ns":{"N":1,"min":5,"max":9}}}]}`
	const cut = "fio --client cuts off the end"
	for _, tc := range []struct {
		name, file, log, json, want string
	}{
		{"all", "x_clat.1.log", "0, 5, 0, 512\n0, 5, 0, 512\n0, 5, 1, 512\n9, 9, 0, 512\n", json, ""},
		{"a read too few, a write too many", "x_clat.1.log", "0, 5, 0, 512\n0, 5, 1, 512\n0, 5, 1, 512\n9, 9, 0, 512\n",
			json, "2 reads, of 3 that fio counted: 1 I/Os are missing | 2 writes, of 1 that fio counted: 1 I/Os too " +
				"many: is it the JSON of this run?"},
		{"cut", "x_clat.1.log.h", "0, 5, 0, 512, 4096, 0\n0, 5, 0, 512, 0, 0\n0, 5, 1, 512, 0, 0\n", json,
			"2 reads, of 3 that fio counted: 1 I/Os are missing; " + cut},
		{"cut, without JSON", "x_clat.1.log.h", "0, 5, 0, 512, 4096, 0\n", "", cut},
		{"not over --client", "x_clat.1.log", "0, 5, 0, 512, 4096, 0\n", "", ""},
		{"over --client, usual columns", "x_clat.1.log.h", "0, 5, 0, 512, 0\n", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			in := map[string]string{tc.file: tc.log}
			if tc.json != "" {
				in["fio.json"] = tc.json
			}
			dir := files(t, in)
			ins, err := ingest.Discover([]string{dir}, ingest.DiscoverOptions{})
			if err != nil {
				t.Fatal(err)
			}
			p, err := Prepare(t.Context(), ins[0], Config{Settings: fio.Defaults()})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			s, err := p.Process(t.Context(), new(pipelinetest.Collect))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range s.Account.Warnings {
				_, msg, _ := strings.Cut(w, tc.file+": ")
				got = append(got, msg)
			}
			if all := strings.Join(got, " | "); !strings.HasPrefix(all, tc.want) || tc.want == "" && all != "" {
				t.Errorf("got %q, want %q", all, tc.want)
			}
		})
	}
}
