package logs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/fiolog"
	"fiolat/pipeline"
	"fiolat/pipeline/intervals"
)

// shapes are loads over time: I/Os in record n.
var shapes = map[string]func(n int) float64{
	"constant":             func(int) float64 { return 1000 },
	"growing":              func(n int) float64 { return 300 * float64(n+1) },
	"growing steeply":      func(n int) float64 { return 50 * math.Pow(1.3, float64(min(n, 25))) },
	"falling":              func(n int) float64 { return 5000 / float64(n+1) },
	"bursty":               func(n int) float64 { return []float64{10, 3000, 40, 900, 2}[n%5] },
	"every other record":   func(n int) float64 { return []float64{2000, 20}[n%2] },
	"every other, growing": func(n int) float64 { return []float64{100, 5}[n%2] * float64(n+1) },
	"few":                  func(n int) float64 { return float64(n%3) + 1 },
}

// load makes the true records of a direction: latencies around bucket 900, or
// with noise false the same counts scaled, as no real load is.
func load(rng *rand.Rand, shape func(int) float64, records int, noise bool) (out []fiohist.Sparse) {
	for n := range records {
		at := map[uint16]float64{}
		if noise {
			for range int(shape(n)) {
				at[uint16(min(max(900+40*rng.NormFloat64(), 0), 1800))]++
			}
			for range rng.IntN(3) {
				at[uint16(1000+rng.IntN(500))]++
			}
		} else {
			for b := range 60 {
				at[uint16(870+b)] = math.Ceil(shape(n) * float64(60-b) / 100)
			}
		}
		var c fiohist.Sparse
		for b := range uint16(1856) {
			if at[b] > 0 {
				c.Add(b, at[b])
			}
		}
		out = append(out, c)
	}
	return out
}

// damage does what fio --client does: h(n) = cum(n) - h(n-1).
func damage(records []fiohist.Sparse) (out []fiohist.Sparse) {
	var cum, before fiohist.Sparse
	for i := range records {
		cum = cum.Plus(&records[i], 1)
		h := cum.Plus(&before, -1)
		out = append(out, h)
		before = h
	}
	return out
}

// judged runs the decision over a log of the records; totals and bins are fio's.
func judged(records []fiohist.Sparse, truth []fiohist.Sparse, host string, json, bins bool) bool {
	l := logOf(records, truth, host, json, bins)
	judge([]*State{l}, "auto", func(string) {})
	return l.dirs[0].verdict.repair
}

// logOf makes a log of the records; totals and bins are fio's.
func logOf(records []fiohist.Sparse, truth []fiohist.Sparse, host string, json, bins bool) *State {
	source := &ingest.Source{Path: "x_clat_hist.1.log." + host, Name: ingest.Name{Hist: true, Host: host}}
	l := &State{Member: intervals.Member{Log: &pipeline.Log{Log: &ingest.Log{Source: source}}}, g: fiohist.Fio3}
	s := new(scan)
	for i := range records {
		s.feed(&fiolog.Record{Time: int64(1000 * i), Index: records[i].Index, Count: records[i].Count})
		if i < headRecords {
			l.dirs[0].lag.Add(&records[i])
		}
	}
	if json {
		l.Entry, l.Meta = &fiojson.Entry{}, &fiojson.Document{}
		tot := &l.Entry.Dirs[0].Kind[fio.Clat]
		var sum fiohist.Sparse
		for i := range truth {
			sum = sum.Plus(&truth[i], 1)
		}
		half := truth[0].Clone() // the tail: less than a window
		for i := range half.Count {
			half.Count[i] = math.Floor(half.Count[i] / 2)
		}
		sum = sum.Plus(&half, 1)
		var all []fiojson.Bin
		for i, b := range sum.Index {
			tot.N += uint64(sum.Count[i])
			all = append(all, fiojson.Bin{NS: int64(fiohist.Fio3.Middle(int(b))), Count: uint64(sum.Count[i])})
		}
		if bins {
			tot.Bins = fiojson.NewBins(all)
		}
	}
	l.scan = s
	return l
}

// TestJudgeByAnother: what fio's totals prove of one host's log holds for the other's, of which they are not here.
func TestJudgeByAnother(t *testing.T) {
	t.Parallel()
	for _, damaged := range []bool{false, true} {
		truth := load(rand.New(rand.NewPCG(1, 2)), shapes["growing"], 5, false) // too short to tell
		records := truth
		if damaged {
			records = damage(truth)
		}
		known, other := logOf(records, truth, "a", true, true), logOf(records, truth, "b", false, false)
		var said []string
		judge([]*State{known, other}, "auto", func(w string) { said = append(said, w) })
		if v := other.dirs[0].verdict; v.repair != damaged || len(said) > 0 {
			t.Errorf("damaged %v: repaired %v (%s), warned %q", damaged, v.repair, v.why, said)
		}
	}
}

// TestJudge: damaged logs are found, healthy ones of any shape left alone.
func TestJudge(t *testing.T) {
	t.Parallel()
	for name, shape := range shapes {
		for _, records := range []int{1, 2, 3, 4, 10, 30, 100} {
			for _, noise := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/records=%d/noise=%v", name, records, noise), func(t *testing.T) {
					t.Parallel()
					rng := rand.New(rand.NewPCG(1, uint64(records)))
					truth := load(rng, shape, records, noise)
					for _, bins := range []bool{true, false} {
						if judged(truth, truth, "h", true, bins) {
							t.Errorf("healthy, with JSON (bins: %v): repaired", bins)
						}
						// Up to two records nothing is wrong.
						if got := judged(damage(truth), truth, "h", true, bins); got != (records > 2) {
							t.Errorf("damaged, with JSON (bins: %v): repaired is %v", bins, got)
						}
					}
					if judged(truth, truth, "h", false, false) {
						t.Error("healthy, without JSON: repaired")
					}
					if judged(damage(truth), truth, "", false, false) {
						t.Error("damaged, but neither JSON nor a host in the name: repaired")
					}
					if noise && records >= 30 && name == "constant" && !judged(damage(truth), truth, "h", false,
						false) {
						t.Error("damaged beyond doubt, without JSON: not repaired")
					}
				})
			}
		}
	}
}

// FuzzRepair: undoing the damage gives the true records, bucket by bucket.
func FuzzRepair(f *testing.F) {
	f.Add(uint64(1), uint8(5), true)
	f.Add(uint64(7), uint8(40), false)
	f.Fuzz(func(t *testing.T, seed uint64, records uint8, noise bool) {
		rng := rand.New(rand.NewPCG(seed, 2))
		scale := rng.Float64() * 50
		truth := load(rng, func(n int) float64 { return math.Abs(scale * (1 + math.Sin(float64(n)*scale))) },
			int(records), noise)
		var l fiolog.Lag
		for n, h := range damage(truth) {
			d := l.Add(&h)
			if l.Records <= 2 {
				d = h
			}
			diff := d.Plus(&truth[n], -1)
			if len(diff.Count) != 0 || l.Fell {
				t.Fatalf("record %d of %d: off by %v", n, records, diff)
			}
		}
	})
}

// FuzzHealthy: a healthy log is never taken for a damaged one, whatever its load:
// steady, rising, falling, in bursts, with chance or without.
func FuzzHealthy(f *testing.F) {
	f.Add(uint64(1), uint8(5), 0.0, 0.0, true)
	f.Add(uint64(2), uint8(60), 3.0, 0.0, false)
	f.Add(uint64(3), uint8(60), -2.0, 1.5, true)
	f.Add(uint64(4), uint8(30), 9.0, 3.1, false)
	f.Fuzz(func(t *testing.T, seed uint64, records uint8, growth, wave float64, noise bool) {
		if records == 0 || !(math.Abs(growth) < 100) || !(math.Abs(wave) < 1e6) {
			return
		}
		rng := rand.New(rand.NewPCG(seed, 3))
		base := 1 + rng.Float64()*400
		truth := load(rng, func(n int) float64 {
			return max(base*(1+growth*float64(n)/10)*(1.01+math.Sin(wave*float64(n))), 1)
		}, int(records), noise)
		for _, bins := range []bool{true, false} {
			if judged(truth, truth, "host", true, bins) {
				t.Fatalf("repaired, with fio's totals (bins: %v)", bins)
			}
		}
		if judged(truth, truth, "host", false, false) {
			t.Fatal("repaired, without fio's totals")
		}
	})
}

// TestJudgeTogether: without JSON the logs of fio --client are judged together: all are
// repaired, or all may be damaged, and the user is warned.
func TestJudgeTogether(t *testing.T) {
	t.Parallel()
	coarse := func(records []fiohist.Sparse) []fiohist.Sparse { // log_hist_coarseness=6
		out := make([]fiohist.Sparse, len(records))
		for i, r := range records {
			for k, b := range r.Index {
				if n := len(out[i].Index); n > 0 && out[i].Index[n-1] == b>>6 {
					out[i].Count[n-1] += r.Count[k]
				} else {
					out[i].Add(b>>6, r.Count[k])
				}
			}
		}
		return out
	}
	same := func(r []fiohist.Sparse) []fiohist.Sparse { return r }
	constant := func(n float64) func(int) float64 { return func(int) float64 { return n } }
	for _, tt := range []struct {
		name    string
		shape   func(int) float64
		form    func([]fiohist.Sparse) []fiohist.Sparse
		host    string
		logs    int
		records int
		damaged bool
		want    string // repaired, told, nothing
	}{
		{"two records are what they should be", constant(1000), same, "h", 4, 2, true, "nothing"},
		{"three records, one log", constant(1000), same, "h", 1, 3, true, "repaired"},
		{"three records, four logs", constant(1000), same, "h", 4, 3, true, "repaired"},
		{"five records, two logs", constant(300), same, "h", 2, 5, true, "repaired"},
		{"coarse and steady, three records", constant(3000), coarse, "h", 4, 3, true, "repaired"},
		{"coarse and steady, twenty records", constant(3000), coarse, "h", 1, 20, true, "repaired"},
		{"few I/Os a window, long", constant(3), same, "h", 2, 40, true, "repaired"},
		{"few I/Os a window, short", constant(2), same, "h", 1, 4, true, "told"},
		{"a name without a host, long", constant(1000), same, "", 1, 40, true, "told"},
		{"healthy, three records", constant(1000), same, "h", 4, 3, false, "nothing"},
		{"healthy, coarse, growing evenly", func(n int) float64 { return 1000 * float64(n+1) }, coarse, "h", 4, 5,
			false, "nothing"},
		{"healthy, coarse, falling", shapes["falling"], coarse, "h", 4, 5, false, "nothing"},
		{"healthy, long, coarse", constant(3000), coarse, "h", 2, 30, false, "nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(3, 3))
			var logs []*State
			for range tt.logs {
				l := &State{Member: intervals.Member{Log: &pipeline.Log{Log: &ingest.Log{Source: &ingest.Source{
					Path: "x_clat_hist.1.log",
					Name: ingest.Name{Hist: true, Host: tt.host}}}}}, g: fiohist.Fio3}
				records := tt.form(load(rng, tt.shape, tt.records, true))
				if tt.damaged {
					records = damage(records)
				}
				for i := range records {
					l.dirs[1].lag.Add(&records[i])
				}
				logs = append(logs, l)
			}
			warnings := 0
			judge(logs, "auto", func(string) { warnings++ })
			repaired := 0
			for _, l := range logs {
				if l.dirs[1].verdict.repair {
					repaired++
				}
			}
			got := "nothing"
			switch {
			case repaired > 0:
				got = "repaired"
			case warnings > 0:
				got = "told"
			}
			if got != tt.want || repaired > 0 && (repaired != tt.logs || warnings > 0) {
				t.Errorf("%d of %d logs repaired, told %d times; want %s", repaired, tt.logs, warnings, tt.want)
			}
		})
	}
}
