package fiohist

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// slowEdges is the grid as fio's stat.h tells it, bucket by bucket.
func slowEdges(groups, coarseness int, unit int64) []int64 {
	var edges []int64
	low, width := int64(0), int64(1)
	for g := range groups {
		for range PerGroup {
			edges = append(edges, low*unit)
			low += width
		}
		if g > 0 {
			width *= 2
		}
	}
	edges = append(edges, low*unit)
	var out []int64
	for i := 0; i < len(edges); i += 1 << coarseness {
		out = append(out, edges[i])
	}
	return out
}

func TestGeometryOf(t *testing.T) {
	t.Parallel()
	seen := map[int]Geometry{}
	for groups := GroupsV2; groups <= maxGroups; groups++ {
		for c := 0; c <= MaxCoarseness; c++ {
			want := Geometry{Groups: groups, Coarseness: c, Unit: 1}
			if groups < GroupsV3 {
				want.Unit = 1000
			}
			columns := want.Columns()
			if other, clash := seen[columns]; clash {
				t.Errorf("%d columns are both %v and %v", columns, other, want)
			}
			seen[columns] = want
			got, err := GeometryOf(columns)
			if err != nil || got != want {
				t.Errorf("GeometryOf(%d) = %v, %v; want %v", columns, got, err, want)
			}
			edges := slowEdges(groups, c, want.Unit)
			if len(edges) != columns+1 {
				t.Fatalf("%v: %d columns, want %d", want, columns, len(edges)-1)
			}
			for i := range columns {
				if want.Lower(i) != edges[i] || want.Upper(i) != edges[i+1] {
					t.Fatalf("%v bucket %d: [%d,%d), want [%d,%d)", want, i, want.Lower(i), want.Upper(i), edges[i],
						edges[i+1])
				}
				for _, ns := range []int64{edges[i], edges[i+1] - 1, int64(want.Middle(i))} {
					if got := want.Index(ns); got != i {
						t.Fatalf("%v: Index(%d) = %d, want %d", want, ns, got, i)
					}
				}
			}
			if got := want.Index(math.MaxInt64); got != want.Last() {
				t.Errorf("%v: Index(max) = %d, want the last bucket %d", want, got, want.Last())
			}
			if got := want.Index(-5); got != 0 {
				t.Errorf("%v: Index(-5) = %d, want 0", want, got)
			}
		}
	}
	for _, columns := range []int{0, 1, 18, 33, 1855, 1857, 5, 2049, 64 * 18, -29} {
		if g, err := GeometryOf(columns); err == nil {
			t.Errorf("GeometryOf(%d) = %v, want an error", columns, g)
		}
	}
}

func TestCommon(t *testing.T) {
	t.Parallel()
	fine, coarse := Geometry{29, 0, 1}, Geometry{29, 3, 1}
	if g, err := fine.Common(coarse); err != nil || g != coarse {
		t.Errorf("fine.Common(coarse) = %v, %v", g, err)
	}
	if _, err := fine.Common(Geometry{19, 0, 1000}); err == nil {
		t.Error("fio 3 and fio 2 have no common grid, want an error")
	}
}

// slowPercentile states the definition over a dense array.
func slowPercentile(g Geometry, h []float64, p float64) float64 {
	n, last := 0.0, 0
	for b, c := range h {
		n += c
		if c != 0 {
			last = b
		}
	}
	want, sum := n*p/100, 0.0
	for b, c := range h {
		if c == 0 {
			continue
		}
		if sum+c >= want-1e-9*n || b == last {
			if b == len(h)-1 {
				return float64(g.Lower(b))
			}
			f := math.Max(0, math.Min(1, (want-sum)/c))
			return float64(g.Lower(b)) + f*float64(g.Upper(b)-g.Lower(b))
		}
		sum += c
	}
	return math.NaN()
}

// slowLimits states the confidence limits over a dense array.
func slowLimits(g Geometry, h []float64, p float64) (lower, upper float64) {
	n := 0.0
	for _, c := range h {
		n += c
	}
	edge := func(rank float64, edge func(int) int64) float64 {
		sum, last := 0.0, 0
		for b, c := range h {
			if sum += c; c != 0 {
				if last = b; sum >= rank-1e-9*n {
					break
				}
			}
		}
		if v := edge(last); v != g.Upper(g.Last()) {
			return float64(v)
		}
		return NoLimit
	}
	q := p / 100
	spread := 1.96 * math.Sqrt(n*q*(1-q))
	lower, upper = NoLimit, NoLimit
	if r := math.Floor(n*q - spread + 1e-9*n); r >= 1 {
		lower = edge(r, g.Lower)
	}
	if r := n*q + spread; r <= n*(1+1e-9) && p < 100 {
		upper = edge(math.Min(math.Ceil(r-1e-9*n), n), g.Upper)
	}
	return lower, upper
}

func TestLimits(t *testing.T) {
	t.Parallel()
	g := Geometry{GroupsV3, 0, 1}
	few := map[int]float64{10: 5, 20: 5, 30: 5, 40: 5} // 20 I/Os: p50 has ranks 5.6 and 14.4, p90 15.4 and 20.6
	tests := []struct {
		name         string
		counts       map[int]float64
		p            float64
		lower, upper float64
	}{
		{"ranks 5 and 15, outer edges", few, 50, 10, 31},
		{"the upper rank exceeds n", few, 90, 30, NoLimit},
		{"the lower rank is below 1", few, 10, NoLimit, 11},
		{"p0 is not below what was seen first", few, 0, NoLimit, 11},
		{"p100 is not below what was seen last", few, 100, 40, NoLimit},
		{"one I/O", map[int]float64{10: 1}, 50, NoLimit, NoLimit},
		{"the last bucket has no upper edge", map[int]float64{10: 50, 1855: 50}, 50, 10, NoLimit},
		{"its lower edge is a limit", map[int]float64{10: 10, 1855: 90}, 50, 17045651456, NoLimit},
		{"empty", nil, 50, NoLimit, NoLimit},
		{"shares of I/Os", map[int]float64{10: 2.5, 20: 2.5, 30: 7.5, 40: 7.5}, 50, 20, 41},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var h Hist
			for i, c := range tt.counts {
				h.Add(i, c)
			}
			s := h.Stats(g, []float64{99, tt.p}, Limits{})
			if s.Lower[1] != tt.lower || s.Upper[1] != tt.upper {
				t.Errorf("limits of p%g: %v and %v, want %v and %v", tt.p, s.Lower[1], s.Upper[1], tt.lower, tt.upper)
			}
		})
	}
}

// exactLatencies are the latencies of every single I/O of a direction of a real log.
func exactLatencies(t *testing.T, direction string) (ns []int64) {
	t.Helper()
	b, err := os.ReadFile("../../testdata/fio/exact/exact_clat.1.log")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimSpace(line), ", ")
		if f[2] != direction {
			continue
		}
		v, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ns = append(ns, v)
	}
	return ns
}

// The limits of 95 % enclose the true percentile of what I/Os are drawn from in at
// least 94 % of 2,000 intervals, wherever ten I/Os or more are expected above it.
func TestLimitsCover(t *testing.T) {
	t.Parallel()
	reads, writes := exactLatencies(t, "0"), exactLatencies(t, "1")
	// Two humps with nothing between them at the median: a cache that hits every other time.
	humps := make([]int64, 0, 2*len(reads))
	for _, ns := range reads {
		humps = append(humps, ns, 40*ns)
	}
	g := Geometry{GroupsV3, 0, 1}
	for name, population := range map[string][]int64{"reads": reads, "writes": writes, "two humps": humps} {
		slices.Sort(population)
		for _, n := range []int{20, 21, 36, 100, 200, 237, 500, 1000, 1200, 1737, 5000} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				t.Parallel()
				const intervals = 2000
				wanted := []float64{50, 95, 99}
				var covered [3]int
				rng := rand.New(rand.NewPCG(uint64(n), uint64(len(population))))
				for range intervals {
					var h Hist
					for range n {
						h.Add(g.Index(population[rng.IntN(len(population))]), 1)
					}
					s := h.Stats(g, wanted, Limits{})
					for k, p := range wanted {
						truth := float64(population[int(math.Ceil(p/100*float64(len(population))))-1])
						q := p / 100
						none := float64(n)*q+1.96*math.Sqrt(float64(n)*q*(1-q)) > float64(n)
						if none != (s.Upper[k] == NoLimit) {
							t.Fatalf("p%g of %d I/Os has the upper limit %v", p, n, s.Upper[k])
						}
						if s.Lower[k] <= truth && (truth <= s.Upper[k] || s.Upper[k] == NoLimit) {
							covered[k]++
						}
					}
				}
				for k, p := range wanted {
					share := float64(covered[k]) / intervals
					t.Logf("p%g of %d I/Os: covered in %.1f %%", p, n, 100*share)
					if float64(n)*(100-p)/100 >= 10 && share < 0.94 {
						t.Errorf("p%g of %d I/Os: the limits cover the true one in %.2f %% of %d intervals", p, n,
							100*share, intervals)
					}
				}
			})
		}
	}
}

func BenchmarkStats(b *testing.B) {
	g := Geometry{GroupsV3, 0, 1}
	rng := rand.New(rand.NewPCG(1, 1))
	var h Hist
	for range 5000 {
		h.Add(g.Index(int64(1e5*math.Exp(rng.NormFloat64()))), 1)
	}
	wanted := []float64{50, 90, 95, 99, 99.9}
	b.ReportAllocs()
	for b.Loop() {
		h.Stats(g, wanted, Limits{})
	}
}

func TestStats(t *testing.T) {
	t.Parallel()
	g := Geometry{GroupsV3, 0, 1}
	tests := []struct {
		name    string
		counts  map[int]float64
		limits  Limits
		wanted  []float64
		want    []float64
		atLeast int
	}{
		{"one bucket, linear inside", map[int]float64{200: 4}, Limits{}, []float64{0, 25, 50, 100}, []float64{288, 289,
			290, 292}, 0},
		{"exactly at an edge", map[int]float64{10: 1, 20: 1}, Limits{}, []float64{50, 51}, []float64{11, 20.02}, 0},
		{"dust does not push on", map[int]float64{10: 1 - 1e-12, 20: 1}, Limits{}, []float64{50}, []float64{11}, 0},
		{"last bucket", map[int]float64{10: 1, 1855: 1}, Limits{}, []float64{50, 99, 100}, []float64{11, 17045651456,
			17045651456}, 2},
		{"limits clamp", map[int]float64{200: 4}, Limits{Min: 289, Max: 290, Known: true}, []float64{0, 50, 100},
			[]float64{289, 290, 290}, 0},
		{"empty", nil, Limits{}, []float64{50}, []float64{0}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var h Hist
			for i, c := range tt.counts {
				h.Add(i, c)
			}
			s := h.Stats(g, tt.wanted, tt.limits)
			for k, want := range tt.want {
				if math.Abs(s.Percentiles[k]-want) > 1e-9*want {
					t.Errorf("p%g = %v, want %v", tt.wanted[k], s.Percentiles[k], want)
				}
			}
			if len(s.AtLeast) != tt.atLeast {
				t.Errorf("at least: %v, want %d of them", s.AtLeast, tt.atLeast)
			}
		})
	}
}

// TestPageAdd holds the way of this processor to the one of all.
func TestPageAdd(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 1000 {
		var fast, slow, q page
		for i := range q {
			fast[i], q[i] = r.Float64()*math.Pow(10, float64(r.IntN(12))), float64(r.IntN(3))*r.Float64()
		}
		slow, was := fast, q
		fast.add(&q)
		slow.addEach(&q)
		if fast != slow || q != was {
			t.Fatalf("%v\nand %v, want\n%v\nand %v", fast, q, slow, was)
		}
	}
}

// FuzzHist compares the paged histogram and its percentiles with a dense array
// and the definition, and holds the invariants of both.
func FuzzHist(f *testing.F) {
	f.Add([]byte{1, 2, 3, 200, 9, 9}, uint8(0), 50.0)
	f.Add([]byte{255, 255, 255, 0, 0, 1}, uint8(6), 99.9)
	f.Fuzz(func(t *testing.T, data []byte, coarseness uint8, p float64) {
		if !(p > 0 && p < 100) {
			t.Skip()
		}
		g := Geometry{GroupsV3, int(coarseness % 7), 1}
		var h, twice Hist
		twice.AddAll([]uint16{0, 70, 71, 900}, []float64{1, 1, 1, 1}, int(coarseness%7))
		twice.Reset() // leaves nothing behind
		dense := make([]float64, g.Columns())
		for ; len(data) >= 3; data = data[3:] {
			i := (int(data[0])<<8 | int(data[1])) % g.Columns()
			w := float64(data[2]) / 7
			h.Add(i, w)
			dense[i] += w
		}
		twice.AddHist(&h)
		index, counts := h.Sparse(nil, nil)
		twice.AddAll(index, counts, 0)
		sum, k := 0.0, 0
		for i, w := range dense {
			sum += w
			if w != 0 {
				if k >= len(index) || int(index[k]) != i || counts[k] != w {
					t.Fatalf("bucket %d: %v is not element %d of %v, %v", i, w, k, index, counts)
				}
				k++
			}
			if h.Count(i) != w || twice.Count(i) != 2*w {
				t.Fatalf("bucket %d: %v and %v, want %v and twice that", i, h.Count(i), twice.Count(i), w)
			}
		}
		if h.Sum() != sum || k != len(index) {
			t.Fatalf("sum %v of %d buckets, want %v of %d", h.Sum(), len(index), sum, k)
		}
		s := h.Stats(g, []float64{0, p / 2, p, 100}, Limits{})
		if s.Empty() {
			return
		}
		if want := slowPercentile(g, dense, p); math.Abs(s.Percentiles[2]-want) > 1e-9*want {
			t.Fatalf("p%v = %v, want %v", p, s.Percentiles[2], want)
		}
		if lower, upper := slowLimits(g, dense, p); s.Lower[2] != lower || s.Upper[2] != upper {
			t.Fatalf("limits of p%v: %v and %v, want %v and %v", p, s.Lower[2], s.Upper[2], lower, upper)
		}
		for k := 1; k < 4; k++ {
			if s.Lower[k] > s.Percentiles[k] || s.Upper[k] != NoLimit && s.Upper[k] < s.Percentiles[k] {
				t.Fatalf("the limits %v and %v do not enclose the percentile %v", s.Lower[k], s.Upper[k],
					s.Percentiles[k])
			}
			if s.Percentiles[k] < s.Percentiles[k-1]-1e-9 {
				t.Fatalf("percentiles fall: %v", s.Percentiles)
			}
		}
		if s.Mean < s.Min || (s.Mean > s.Max && len(s.AtLeast) == 0) {
			t.Fatalf("mean %v outside [%v, %v]", s.Mean, s.Min, s.Max)
		}
	})
}

// TestPack: a packed histogram is the same to whoever reads it, and adds up to the same
// bits as one that is not.
func TestPack(t *testing.T) {
	t.Parallel()
	g, err := GeometryOf(1856)
	if err != nil {
		t.Fatal(err)
	}
	made := func(seed uint64, pack bool) *Hist {
		rng := rand.New(rand.NewPCG(seed, 1))
		h := new(Hist)
		for range rng.IntN(300) {
			h.Add(rng.IntN(1856), rng.Float64()*100)
		}
		if pack {
			return h.Pack()
		}
		return h
	}
	same := func(what string, a, b *Hist) {
		t.Helper()
		ai, an := a.Sparse(nil, nil)
		bi, bn := b.Sparse(nil, nil)
		if !slices.Equal(ai, bi) || !slices.Equal(an, bn) || a.Sum() != b.Sum() || a.Empty() != b.Empty() ||
			a.Count(700) != b.Count(700) {
			t.Errorf("%s: %v %v, want %v %v", what, bi, bn, ai, an)
		}
		if sa, sb := a.Stats(g, []float64{50, 99}, Limits{}), b.Stats(g, []float64{50, 99},
			Limits{}); !reflect.DeepEqual(sa, sb) {
			t.Errorf("%s: %v, want %v", what, sb, sa)
		}
	}
	for seed := range uint64(50) {
		same("read", made(seed, false), made(seed, true))
		var plain, from Hist
		to := made(seed, true)
		plain.AddHist(made(seed, false))
		from.AddHist(made(seed, true))
		for _, h := range []*Hist{&plain, &from, to} {
			h.AddHist(made(seed+1, h == &from))
			h.Add(5, 0.1)
		}
		same("added from", &plain, &from)
		same("added to", &plain, to)
		if to.Packed() || !to.Pack().Packed() {
			t.Error("packed or not")
		}
		again := made(seed+2, seed%2 == 0)
		again.SetPacked(to)
		same("packed in place", to, again)
		to = to.Pack()
		to.Reset()
		same("emptied", new(Hist), to)
	}
}

// TestPackedCounts: a packed histogram has the same counts, to the last bit, in little memory where they are whole
// I/Os or parts of one.
func TestPackedCounts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		n     []float64
		bytes int // a bucket, at most
	}{
		"whole":     {[]float64{1, 63, 5}, 3},
		"parts":     {[]float64{1.0 / Parts, 0.5, 7 + 3.0/Parts}, 6},
		"much":      {[]float64{1 << 52, 1<<53 - 1, 1}, 10},
		"too much":  {[]float64{1 << 53, 1, 1}, 10},
		"no parts":  {[]float64{1, 0.1, 2}, 10},
		"negative":  {[]float64{1, -2, 2}, 10},
		"not a sum": {[]float64{1, math.Inf(1), 2}, 10},
	} {
		index := []uint16{0, 64, 2047}
		h := new(Hist)
		h.AddAll(index, tt.n, 0)
		p := h.Pack()
		if most := p.PackedBytes() - new(Hist).Pack().PackedBytes(); most > len(index)*tt.bytes {
			t.Errorf("%s: %d bytes", name, most)
		}
		gotIndex, got := p.Sparse(nil, nil)
		if !p.Packed() || !slices.Equal(gotIndex, index) || !slices.Equal(got, tt.n) || p.Empty() {
			t.Errorf("%s: %v %v, want %v", name, gotIndex, got, tt.n)
		}
		if p.Sum() != h.Sum() || p.String() != h.String() {
			t.Errorf("%s: sum %v of %v, want %v of %v", name, p.Sum(), p, h.Sum(), h)
		}
		sum := new(Hist)
		sum.AddHist(p)
		sum.AddHist(h)
		if got := sum.Count(64); got != 2*tt.n[1] {
			t.Errorf("%s: added, bucket 64 holds %v", name, got)
		}
		if p.Count(2047) != tt.n[2] || p.Packed() {
			t.Errorf("%s: bucket 2047 holds %v", name, p.Count(2047))
		}
	}
	if !new(Hist).Pack().Empty() {
		t.Error("nothing, packed, is not empty")
	}
}
