package fiohist

import (
	"fmt"
	"math/bits"
	"sync"
)

const (
	// PerGroup is the number of buckets in a group of fio's histograms at
	// coarseness 0 (FIO_IO_U_PLAT_VAL).
	PerGroup = 64
	// MaxCoarseness is the largest log_hist_coarseness: a whole group in one column.
	MaxCoarseness = 6
	// GroupsV2 is the number of groups that fio 2 is built with
	// (FIO_IO_U_PLAT_GROUP_NR).
	GroupsV2 = 19
	// GroupsV3 is the same for fio 3.
	GroupsV3 = 29

	maxGroups = 32 // in other builds of fio 3; fio 2 has fewer than fio 3
)

// Geometry maps the columns of a histogram to latencies. The zero value is not a
// valid geometry. Values are comparable with ==. Its JSON is in documents.
type Geometry struct {
	// Groups is the number of bucket groups: 29 in fio 3, 19 in fio 2.
	Groups int `json:"groups"`
	// Coarseness is log_hist_coarseness, 0 to 6: 2^Coarseness neighbouring buckets
	// are one column.
	Coarseness int `json:"coarseness"`
	// Unit is the width in nanoseconds of fio's narrowest bucket: 1 in fio 3,
	// 1000 in fio 2.
	Unit int64 `json:"unit_ns"`
}

// GeometryOf returns the geometry of a log with that many bucket columns. No two geometries have the same number,
// groups x 64 / 2^coarseness with 19 to 32 groups. Up to 28 groups are taken to be those of a fio 2 that was built with
// more than its 19: in fio 3 they would end at 8.6 s at most.
func GeometryOf(columns int) (Geometry, error) {
	for c := 0; c <= MaxCoarseness; c++ {
		full := columns << c
		if full%PerGroup != 0 {
			continue
		}
		switch g := full / PerGroup; {
		case g >= GroupsV2 && g < GroupsV3:
			return Geometry{Groups: g, Coarseness: c, Unit: 1000}, nil
		case g >= GroupsV3 && g <= maxGroups:
			return Geometry{Groups: g, Coarseness: c, Unit: 1}, nil
		}
	}
	return Geometry{}, fmt.Errorf("%d buckets fit no version of fio: "+
		"fio 3 logs 1856 and fio 2 logs 1216, halved once per log_hist_coarseness", columns)
}

// Columns returns the number of buckets.
func (g Geometry) Columns() int { return g.Groups * PerGroup >> g.Coarseness }

// String returns a description such as "fio 3, 29 groups, coarseness 0".
func (g Geometry) String() string {
	version := "fio 3"
	if g.Unit != 1 {
		version = "fio 2"
	}
	return fmt.Sprintf("%s, %d groups, coarseness %d", version, g.Groups, g.Coarseness)
}

// edge returns the lower edge, in units, of bucket i at coarseness 0. Groups 0 and 1
// have width 1, then the width doubles with each group (fio's stat.h).
func edge(i int) int64 {
	group, within := i/PerGroup, int64(i%PerGroup)
	if group == 0 {
		return within
	}
	return (PerGroup + within) << (group - 1)
}

// Lower returns the lower edge in ns of bucket i; Lower(Columns()) is the upper edge
// of the last bucket's nominal width.
func (g Geometry) Lower(i int) int64 { return edge(i<<g.Coarseness) * g.Unit }

// Upper returns the upper edge in ns of bucket i. For the last bucket it is nominal:
// that bucket also holds everything longer.
func (g Geometry) Upper(i int) int64 { return g.Lower(i + 1) }

// Middle returns the middle in ns of bucket i, nominal for the last one.
func (g Geometry) Middle(i int) float64 {
	return float64(g.Lower(i)+g.Upper(i)) / 2
}

// Middles returns the middles of all buckets, computed once. They must not be changed.
func (g Geometry) Middles() []float64 {
	if known, ok := middles.Load(g); ok {
		return known.([]float64)
	}
	m := make([]float64, g.Columns())
	for i := range m {
		m[i] = g.Middle(i)
	}
	middles.Store(g, m)
	return m
}

var middles sync.Map // Geometry to []float64

// Index returns the bucket of a latency of ns nanoseconds: the last one for everything
// beyond it, the first one below 0.
func (g Geometry) Index(ns int64) int {
	v := uint64(max(ns, 0) / g.Unit)
	i := int(v)
	if v >= PerGroup {
		shift := bits.Len64(v) - bits.Len64(PerGroup) // 0 in group 1
		i = min((shift+1)*PerGroup+int(v>>shift)-PerGroup, g.Groups*PerGroup-1)
	}
	return i >> g.Coarseness
}

// Last returns the index of the last bucket, which has no upper edge: a percentile
// in it is "at least" its lower edge.
func (g Geometry) Last() int { return g.Columns() - 1 }

// Coarsen returns the geometry with coarseness c.
func (g Geometry) Coarsen(c int) Geometry {
	g.Coarseness = c
	return g
}

// Common returns the finest geometry in which histograms of both can be added, which is
// the coarser of the two. It is an error if units or group counts differ.
func (g Geometry) Common(h Geometry) (Geometry, error) {
	if g.Groups != h.Groups || g.Unit != h.Unit {
		return Geometry{}, fmt.Errorf("histograms of different geometries cannot be added: %v and %v", g, h)
	}
	return g.Coarsen(max(g.Coarseness, h.Coarseness)), nil
}
