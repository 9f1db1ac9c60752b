package diagnose

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiolog"
	"fiolat/internal/testkit"
)

const second = int64(1e9)

// draws is how many runs are drawn: FIOLAT_DIAGNOSE_DRAWS, else few.
func draws(t *testing.T, few int) int {
	t.Helper()
	testkit.Simulation(t)
	s := os.Getenv("FIOLAT_DIAGNOSE_DRAWS")
	if s == "" {
		return few
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("FIOLAT_DIAGNOSE_DRAWS=%q: want a number of runs", s)
	}
	return n
}

// records are those of one direction of a log.
func records(tb testing.TB, data []byte, name string, d fio.Direction) (out []*fiolog.Record, g fiohist.Geometry) {
	tb.Helper()
	r := fiolog.NewReader(bytes.NewReader(data), name, fiolog.ReaderOptions{})
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			g, _ = r.Geometry()
			return out, g
		}
		if err != nil {
			tb.Fatal(err)
		}
		if rec.Dir != d {
			continue
		}
		one := &fiolog.Record{Time: rec.Time, Dir: rec.Dir, IOs: rec.IOs}
		one.Index, one.Count = append(one.Index, rec.Index...), append(one.Count, rec.Count...)
		out = append(out, one)
	}
}

// device is a device as fio saw it: histograms of one second each.
type device struct {
	geometry fiohist.Geometry
	seconds  []*fiohist.Hist
}

// readDevice adds up the reads of a folder's logs second by second; the first and the last one, which are not whole,
// are left out.
func readDevice(tb testing.TB, pattern string) (d device) {
	tb.Helper()
	names, _ := filepath.Glob(pattern)
	if len(names) == 0 {
		tb.Fatalf("%s: no logs", pattern)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		d.add(tb, data, name)
	}
	return d
}

func (d *device) add(tb testing.TB, data []byte, name string) {
	tb.Helper()
	recs, g := records(tb, data, name, fio.Read)
	d.geometry = g
	for i, rec := range recs[2 : len(recs)-1] {
		if i == len(d.seconds) {
			d.seconds = append(d.seconds, new(fiohist.Hist))
		}
		d.seconds[i].AddAll(rec.Index, rec.Count, 0, 1)
	}
}

// readPeers reads testdata/peers.tar.zst: 20 jobs on one machine, each with a file and a thread of its own.
func readPeers(tb testing.TB) (jobs []device) {
	tb.Helper()
	for name, data := range testkit.Packed(tb, "testdata/peers.tar.zst") {
		if strings.HasSuffix(name, ".log") {
			var d device
			d.add(tb, data, name)
			jobs = append(jobs, d)
		}
	}
	return jobs
}

// together is all jobs as one device.
func together(jobs []device) device {
	out := device{geometry: jobs[0].geometry}
	for _, j := range jobs {
		for i, h := range j.seconds {
			if i == len(out.seconds) {
				out.seconds = append(out.seconds, new(fiohist.Hist))
			}
			out.seconds[i].AddHist(h)
		}
	}
	return out
}

// resample draws n seconds in blocks of neighbours.
func (d *device) resample(rng *rand.Rand, n, block int) (out []*fiohist.Hist) {
	for len(out) < n {
		from := rng.IntN(len(d.seconds))
		for i := range block {
			out = append(out, d.seconds[(from+i)%len(d.seconds)])
		}
	}
	return out[:n]
}

// fault changes the latency in ns of one I/O.
type fault func(rng *rand.Rand, ns float64) float64

func some(share, more float64) fault {
	return func(rng *rand.Rand, ns float64) float64 {
		if rng.Float64() < share {
			ns += more
		}
		return ns
	}
}

func all(factor float64) fault { return func(_ *rand.Rand, ns float64) float64 { return ns * factor } }

// shareOut gives each I/O of h to one of the hosts; those of bad get a fault.
func shareOut(rng *rand.Rand, g fiohist.Geometry, h *fiohist.Hist, hosts, each, bad int, f fault) (leaves []leaf) {
	hists := make([]*fiohist.Hist, hosts)
	for i := range hists {
		hists[i] = new(fiohist.Hist)
	}
	keep := float64(hosts*each) / h.Sum()
	h.Each(func(i int, w float64) {
		for range int(w) {
			for range repeats(rng, keep) {
				host, bucket := rng.IntN(hosts), i
				if f != nil && host == bad {
					bucket = g.Index(int64(f(rng, g.Middle(i))))
				}
				hists[host].Add(bucket, 1)
			}
		}
	})
	for i, h := range hists {
		name := fmt.Sprintf("host%02d", i)
		leaves = append(leaves, leaf{Direction: "read", By: [3]string{name, "job", name + ".log"}, Hist: h})
	}
	return leaves
}

// repeats is a whole number with the mean keep.
func repeats(rng *rand.Rand, keep float64) int {
	n := int(keep)
	if rng.Float64() < keep-float64(n) {
		n++
	}
	return n
}

func TestWhoMakesTheTail(t *testing.T) {
	dev := readDevice(t, "../../testdata/fio/randrw/*.log")
	const hosts, each, healthy = 20, 500, 30
	for _, c := range []struct {
		name   string
		fault  fault
		quanta int
		least  int // named in so many of 100
	}{
		{"2 % of its I/Os 10 ms slower", some(0.02, 10e6), 5, 95},
		{"0.5 % of its I/Os 10 ms slower", some(0.005, 10e6), 30, 80},
		{"all 1.3 times as slow", all(1.3), 5, 95},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := draws(t, 5)
			named, others, onset := 0, 0, 0
			for seed := range n {
				rng := rand.New(rand.NewPCG(uint64(seed), 1))
				bad := rng.IntN(hosts)
				p := newPeers(dev.geometry, 0, second)
				for i, h := range dev.resample(rng, healthy+c.quanta, 5) {
					f := c.fault
					if i < healthy {
						f = nil
					}
					p.Add(int64(i)*second, shareOut(rng, dev.geometry, h, hosts, each, bad, f))
				}
				found, wrong, since := false, false, false
				for _, s := range p.Stragglers() {
					if s.Value == fmt.Sprintf("host%02d", bad) {
						found = true
						since = since || s.SinceMS >= (healthy-1)*1000 && s.SinceMS <= (healthy+1)*1000
					} else {
						wrong = true
					}
				}
				named, others, onset = named+btoi(found), others+btoi(wrong), onset+btoi(since)
			}
			t.Logf("%d runs: named %d, onset within a quantum %d, another named %d", n, named, onset, others)
			if named*100 < c.least*n || others*100 > 5*n {
				t.Errorf("named in %d of %d runs, want %d %%; another in %d, want 5 %% at most", named, n, c.least,
					others)
			}
		})
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestNobodyMakesTheTail(t *testing.T) {
	dev := readDevice(t, "../../testdata/fio/randrw/*.log")
	n := draws(t, 1)
	wrong := 0
	for seed := range n {
		rng := rand.New(rand.NewPCG(uint64(seed), 2))
		p := newPeers(dev.geometry, 0, second)
		for i, h := range dev.resample(rng, 600, 5) {
			p.Add(int64(i)*second, shareOut(rng, dev.geometry, h, 20, 500, 0, nil))
		}
		if s := p.Stragglers(); len(s) > 0 {
			wrong++
			t.Logf("run %d: %+v", seed, s[0])
		}
	}
	t.Logf("%d runs: somebody named in %d", n, wrong)
	if wrong*100 > 5*n {
		t.Errorf("somebody named in %d of %d healthy runs", wrong, n)
	}
}

// TestNobodyOfUnlikeSeconds: every host draws each of its seconds by itself, from writes of which one second in a few
// is more than twice as slow as the others. Several of them in a row are chance.
func TestNobodyOfUnlikeSeconds(t *testing.T) {
	testkit.NotRaced(t)
	var seconds device
	for n := 1; n <= 3; n++ {
		name := fmt.Sprintf("../../testdata/fio/randrw/randrw_clat_hist.%d.log", n)
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		recs, g := records(t, data, name, fio.Write)
		seconds.geometry = g
		for _, rec := range recs {
			h := new(fiohist.Hist)
			h.AddAll(rec.Index, rec.Count, 0, 1)
			seconds.seconds = append(seconds.seconds, h)
		}
	}
	n, wrong := draws(t, 5), 0
	for seed := range n {
		rng := rand.New(rand.NewPCG(uint64(seed), 3))
		p := newPeers(seconds.geometry, 0, second)
		for i := range 300 {
			var leaves []leaf
			for h, hist := range seconds.resample(rng, 32, 1) {
				name := fmt.Sprintf("host%02d", h)
				leaves = append(leaves, leaf{Direction: "write", By: [3]string{name, "job", name + ".log"}, Hist: hist})
			}
			p.Add(int64(i)*second, leaves)
		}
		if s := p.Stragglers(); len(s) > 0 {
			wrong++
			t.Logf("run %d: %d named: %+v", seed, len(s), s[0])
		}
	}
	t.Logf("%d runs: somebody named in %d", n, wrong)
	if wrong*100 > 5*n {
		t.Errorf("somebody named in %d of %d healthy runs", wrong, n)
	}
}

func TestNoJobOfTwentyMakesTheTail(t *testing.T) {
	testkit.NotRaced(t)
	jobs := readPeers(t)
	for _, c := range []struct {
		name  string
		apart bool // each job's seconds are drawn apart, and not those of all jobs together
	}{{"together", false}, {"apart", true}} {
		t.Run(c.name, func(t *testing.T) {
			n, wrong := draws(t, 2), 0
			for seed := range n {
				p := newPeers(jobs[0].geometry, 0, second)
				drawn := make([][]*fiohist.Hist, len(jobs))
				for j := range jobs {
					stream := uint64(6)
					if c.apart {
						stream += uint64(j)
					}
					drawn[j] = jobs[j].resample(rand.New(rand.NewPCG(uint64(seed), stream)), 600, 30)
				}
				for i := range 600 {
					var leaves []leaf
					for j := range jobs {
						name := fmt.Sprintf("job%02d", j)
						leaves = append(leaves, leaf{Direction: "read", By: [3]string{"host", name, name},
							Hist: drawn[j][i]})
					}
					p.Add(int64(i)*second, leaves)
				}
				if s := p.Stragglers(); len(s) > 0 {
					wrong++
					t.Logf("run %d: %+v", seed, s[0])
				}
			}
			t.Logf("%d runs: somebody named in %d", n, wrong)
			if wrong*100 > 5*n {
				t.Errorf("somebody named in %d of %d healthy runs", wrong, n)
			}
		})
	}
}
