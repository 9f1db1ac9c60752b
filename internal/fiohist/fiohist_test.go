package fiohist

import (
	"math"
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
			if groups == GroupsV2 {
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
					t.Fatalf("%v bucket %d: [%d,%d), want [%d,%d)", want, i, want.Lower(i), want.Upper(i), edges[i], edges[i+1])
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
		{"one bucket, linear inside", map[int]float64{200: 4}, Limits{}, []float64{0, 25, 50, 100}, []float64{288, 289, 290, 292}, 0},
		{"exactly at an edge", map[int]float64{10: 1, 20: 1}, Limits{}, []float64{50, 51}, []float64{11, 20.02}, 0},
		{"dust does not push on", map[int]float64{10: 1 - 1e-12, 20: 1}, Limits{}, []float64{50}, []float64{11}, 0},
		{"last bucket", map[int]float64{10: 1, 1855: 1}, Limits{}, []float64{50, 99, 100}, []float64{11, 17045651456, 17045651456}, 2},
		{"limits clamp", map[int]float64{200: 4}, Limits{Min: 289, Max: 290, Known: true}, []float64{0, 50, 100}, []float64{289, 290, 290}, 0},
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
		dense := make([]float64, g.Columns())
		for ; len(data) >= 3; data = data[3:] {
			i := (int(data[0])<<8 | int(data[1])) % g.Columns()
			w := float64(data[2]) / 7
			h.Add(i, w)
			dense[i] += w
		}
		twice.AddHist(&h)
		twice.AddHist(&h)
		sum := 0.0
		for i, w := range dense {
			sum += w
			if h.Count(i) != w || twice.Count(i) != 2*w {
				t.Fatalf("bucket %d: %v and %v, want %v and twice that", i, h.Count(i), twice.Count(i), w)
			}
		}
		if h.Sum() != sum {
			t.Fatalf("sum %v, want %v", h.Sum(), sum)
		}
		s := h.Stats(g, []float64{0, p / 2, p, 100}, Limits{})
		if s.Empty() {
			return
		}
		if want := slowPercentile(g, dense, p); math.Abs(s.Percentiles[2]-want) > 1e-9*want {
			t.Fatalf("p%v = %v, want %v", p, s.Percentiles[2], want)
		}
		for k := 1; k < 4; k++ {
			if s.Percentiles[k] < s.Percentiles[k-1]-1e-9 {
				t.Fatalf("percentiles fall: %v", s.Percentiles)
			}
		}
		if s.Mean < s.Min || (s.Mean > s.Max && len(s.AtLeast) == 0) {
			t.Fatalf("mean %v outside [%v, %v]", s.Mean, s.Min, s.Max)
		}
	})
}
