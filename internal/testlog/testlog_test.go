package testlog

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiolog"
)

const ms = time.Millisecond

func records(t *testing.T, log []byte) (recs []*fiolog.Record) {
	t.Helper()
	r := fiolog.NewReader(bytes.NewReader(log), "log", fiolog.ReaderOptions{})
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return recs
		}
		if err != nil {
			t.Fatal(err)
		}
		recs = append(recs, rec.Clone())
	}
}

func TestWindows(t *testing.T) {
	type rec struct {
		time int64
		sum  uint64
	}
	tests := []struct {
		name string
		done []time.Duration
		want []rec
		rest uint64
	}{
		{"on time", []time.Duration{10 * ms, 900 * ms, 1009 * ms, 1010 * ms, 2009 * ms, 2011 * ms, 3000 * ms},
			[]rec{{1010, 4}, {2011, 2}}, 1},
		{"after a stall", []time.Duration{10 * ms, 900 * ms, 5000 * ms, 5001 * ms, 5002 * ms, 5003 * ms, 5400 * ms,
			5500 * ms}, []rec{{5000, 3}, {5001, 1}, {5002, 1}, {5003, 1}, {5400, 1}}, 1},
		{"several in one ms", []time.Duration{10 * ms, 4000 * ms, 4000*ms + 1, 4000*ms + 2, 4000*ms + 3, 5011 * ms},
			[]rec{{4000, 2}, {4000, 1}, {4000, 1}, {5011, 2}}, 0},
		{"the first ms does not count", []time.Duration{0, ms / 2, 1001 * ms, 2000 * ms, 2001 * ms}, []rec{{2001, 5}},
			0},
		{"nothing", nil, nil, 0},
		{"shorter than h", []time.Duration{10 * ms, 1000 * ms}, nil, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := Windows{H: time.Second, Geometry: fiohist.Geometry{Groups: 29, Unit: 1}}
			var got []rec
			for _, d := range tt.done {
				if r := w.add(IO{Done: d, Latency: ms}); r != nil {
					got = append(got, rec{r.Time, r.IOs})
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			rest := uint64(0)
			if w.counts[0] != nil {
				if r := w.rest(fio.Read); r != nil {
					rest = r.IOs
				}
			}
			if rest != tt.rest {
				t.Errorf("%d I/Os are left, want %d", rest, tt.rest)
			}
		})
	}
}

// TestWindows_LikeFio feeds Windows with the single I/Os that a real run logged
// beside its histograms, and compares with these. fio takes the two times of an
// I/O one after the other, so an I/O near a boundary may be in the next record, and
// the stamp a ms later.
func TestWindows_LikeFio(t *testing.T) {
	for _, n := range []string{"1", "2"} {
		hist, err := os.ReadFile("../../testdata/fio/exact/exact_clat_hist." + n + ".log")
		if err != nil {
			t.Fatal(err)
		}
		single, err := os.ReadFile("../../testdata/fio/exact/exact_clat." + n + ".log")
		if err != nil {
			t.Fatal(err)
		}
		w := Windows{H: time.Second, Geometry: fiohist.Geometry{Groups: 29, Unit: 1}}
		var made []*fiolog.Record
		for _, line := range bytes.Split(bytes.TrimSpace(single), []byte("\n")) {
			v := numbers(t, line)
			if r := w.add(IO{Done: time.Duration(v[0]) * ms, Latency: time.Duration(v[1]),
				Dir: fio.Direction(v[2])}); r != nil {
				made = append(made, r.Clone())
			}
		}
		real := records(t, hist)
		if len(made) != len(real) {
			t.Fatalf("log %s: %d records, want %d", n, len(made), len(real))
		}
		for d := range fio.Direction(fio.Directions) {
			of := func(recs []*fiolog.Record) []*fiolog.Record {
				return slices.DeleteFunc(slices.Clone(recs), func(r *fiolog.Record) bool { return r.Dir != d })
			}
			got, want := of(made), of(real)
			for i := range want {
				if late := got[i].Time - want[i].Time; late < -2 || late > 2 {
					t.Errorf("log %s, %v record %d: stamp %d, want %d", n, d, i, got[i].Time, want[i].Time)
				}
				if more := int64(got[i].IOs - want[i].IOs); more < -3 || more > 3 {
					t.Errorf("log %s, %v record %d: %d I/Os, want %d", n, d, i, got[i].IOs, want[i].IOs)
				}
			}
		}
	}
}

func numbers(t *testing.T, line []byte) (v []int64) {
	t.Helper()
	for _, f := range bytes.Split(line, []byte(",")) {
		n := int64(0)
		for _, c := range bytes.TrimSpace(f) {
			if c-'0' > 9 {
				return v // the offset of newer formats
			}
			n = n*10 + int64(c-'0')
		}
		v = append(v, n)
	}
	if len(v) < 3 {
		t.Fatalf("%q", line)
	}
	return v
}

func TestConfig(t *testing.T) {
	c := Config{
		Seed: 7, Dirs: []fio.Direction{fio.Read, fio.Trim}, H: 500 * ms, Duration: 20 * time.Second, Rate: 200,
		Latency: Mixture(LogNormal(ms, 0.3), LogNormal(100*ms, 0.3), 0.1), Geometry: fiohist.Geometry{Groups: 19,
			Coarseness: 2, Unit: 1000},
		Stalls: []Stall{{5 * time.Second, 2 * time.Second}}, Epoch: 1_700_000_000_000,
	}
	n, before := [fio.Directions]uint64{}, time.Duration(0)
	for i := range c.IOs() {
		switch {
		case i.Done < before:
			t.Fatalf("%v after %v", i.Done, before)
		case i.Done > 5*time.Second && i.Done < 7*time.Second:
			t.Fatalf("a completion at %v, in the stall", i.Done)
		case i.Latency > i.Done:
			t.Fatalf("at %v, %v long", i.Done, i.Latency)
		}
		before = i.Done
		n[i.Dir]++
	}
	if n[0] < 3000 || n[0] > 4200 || n[1] != 0 || n[2] < 3000 || n[2] > 4200 {
		t.Errorf("I/Os %v, want 3600 reads and trims", n)
	}
	log := c.Log()
	logged := [fio.Directions]uint64{}
	for _, r := range records(t, log) {
		logged[r.Dir] += r.IOs
		if r.Time < c.Epoch || r.Time > c.Epoch+20_000 {
			t.Errorf("stamp %d", r.Time)
		}
	}
	w := c.Windows()
	w.Log(c.IOs())
	for _, d := range c.Dirs {
		if r := w.rest(d); r != nil {
			logged[d] += r.IOs
		}
	}
	if logged != n {
		t.Errorf("%v I/Os in the log and the last window, want %v", logged, n)
	}
	if again := c.Log(); !bytes.Equal(again, log) {
		t.Error("the same seed gave another log")
	}
	s := c.stream()
	if streamed, err := io.ReadAll(s); err != nil || !bytes.Equal(streamed, log) {
		t.Errorf("the stream differs from the log: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if c.Seed++; bytes.Equal(c.Log(), log) {
		t.Error("another seed gave the same log")
	}
}

func TestStream_CloseEarly(t *testing.T) {
	s := Config{Duration: time.Hour}.stream()
	if _, err := s.Read(make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Read(make([]byte, 100)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("%d, %v", n, err)
	}
}

func TestTemplateAndResample(t *testing.T) {
	log, err := os.ReadFile("../../testdata/fio/trim/trim_clat_hist.1.log")
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := NewTemplate(log)
	if err != nil {
		t.Fatal(err)
	}
	resampled, err := Resample(log, 3, time.Second, 50)
	if err != nil {
		t.Fatal(err)
	}
	for name, made := range map[string][]byte{"template": tmpl.Log(3, time.Second, 50), "resample": resampled} {
		recs := records(t, made)
		if len(recs) != 100 {
			t.Fatalf("%s: %d records, want 50 writes and 50 trims", name, len(recs))
		}
		n := [fio.Directions]int64{}
		for _, r := range recs {
			n[r.Dir]++
			if late := r.Time - 1000*n[r.Dir]; late < 0 || late > 3 || r.IOs == 0 {
				t.Errorf("%s: %v record %d: stamp %d, %d I/Os", name, r.Dir, n[r.Dir], r.Time, r.IOs)
			}
		}
	}
	if !bytes.Equal(tmpl.Log(3, time.Second, 50), tmpl.Log(3, time.Second, 50)) || bytes.Equal(tmpl.Log(3, time.Second,
		50), tmpl.Log(4, time.Second, 50)) {
		t.Error("the seed does not decide")
	}
	for _, bad := range []string{"", "1, 0\n", "1, 5, 4096, 0\n", "1, 0, 4096, 0"} {
		if _, err := NewTemplate([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
