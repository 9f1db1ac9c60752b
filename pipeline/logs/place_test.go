package logs

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"fiolat/fio/fiohist"
)

type rec struct {
	ms     int64
	counts map[int]float64
}

type span struct {
	start, end float64 // ms
	counts     map[int]float64
}

// slowOpened is B: see reference.py. soonest is NaN if nothing tells when the first I/O can have completed.
func slowOpened(records []rec, h, begin, soonest float64) float64 {
	at, latest := 0, math.Inf(1)
	for n, r := range records[:min(len(records), headRecords)] {
		if b := float64(r.ms) - float64(n+1)*h; b < latest {
			at, latest = n, b
		}
	}
	b := max(begin, latest)
	if math.IsNaN(soonest) || at == 0 || sum(records[at].counts) > 1 {
		return b
	}
	least := soonest
	for n := 1; n < min(len(records), headRecords); n++ {
		if sum(records[n].counts) >= 2 {
			least = max(least, float64(records[n-1].ms)-float64(n+1)*h+1)
		}
	}
	return min(b, least)
}

func sum(counts map[int]float64) (n float64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// slowPlaced states the window model over whole lists.
func slowPlaced(records []rec, h, begin, soonest float64) (out []span) {
	b := slowOpened(records, h, begin, soonest)
	prev := b
	for n, r := range records {
		boundary, t := b+float64(n+1)*h, float64(r.ms)
		total, top := sum(r.counts), -1
		for i := range r.counts {
			top = max(top, i)
		}
		switch {
		case total == 0:
		case boundary <= prev || t <= prev || total == 1:
			out = append(out, span{t - 1, t, r.counts})
		default:
			last, rest := map[int]float64{}, map[int]float64{}
			late := t - boundary
			for i, c := range r.counts {
				last[i] = c / total
				if late >= h/100 && (top == fiohist.Fio3.Last() || float64(fiohist.Fio3.Upper(top))/1e6 >= late) {
					last[i] = 0
					if i == top {
						last[i] = 1
					}
				}
				rest[i] = c - last[i]
			}
			out = append(out, span{prev, min(boundary, t), rest}, span{t - 1, t, last})
		}
		prev = t
	}
	return out
}

// placeAll is what the pipeline does: records wait until the windows are decided.
func placeAll(records []rec, h, begin, soonest int64) (out []span) {
	w := windows{h: h * msec, begin: begin * msec, soonest: soonest, g: fiohist.Fio3}
	if soonest != never {
		w.soonest *= msec
	}
	w.started = farPast // slowPlaced has no I/O that opened the first window
	emit := func(p portion) {
		s := span{float64(p.start) / 1e6, float64(p.end) / 1e6, map[int]float64{}}
		last := span{float64(p.closing)/1e6 - 1, float64(p.closing) / 1e6, map[int]float64{}}
		share := 0.0
		if p.closing > 0 {
			share = 1 / p.counts.Sum()
		}
		for i, b := range p.counts.Index {
			s.counts[int(b)] += p.counts.Count[i] * (1 - share)
			last.counts[int(b)] += p.counts.Count[i] * share
		}
		out = append(out, s)
		if share > 0 {
			out = append(out, last)
		}
	}
	flush := func() {
		w.fix()
		for i := range w.waits {
			w.place(&w.waits[i], emit)
		}
		w.waits = nil
	}
	for _, r := range records {
		var c fiohist.Sparse
		keys := make([]int, 0, len(r.counts))
		for i := range r.counts {
			keys = append(keys, i)
		}
		slices.Sort(keys)
		for _, i := range keys {
			c.Add(uint16(i), r.counts[i])
		}
		if w.known {
			w.place(&stamped{time: r.ms * msec, line: 1, ios: c.Sum(), counts: c}, emit)
			continue
		}
		w.waits = append(w.waits, stamped{time: r.ms * msec, line: 1, ios: c.Sum(), counts: c})
		if w.decided(r.ms * msec) {
			flush()
		}
	}
	if !w.known && len(w.waits) > 0 {
		flush()
	}
	return out
}

func samePlaces(t *testing.T, got, want []span) {
	t.Helper()
	drop := func(s []span) (out []span) {
		for _, x := range s {
			sum := 0.0
			for _, c := range x.counts {
				sum += c
			}
			if sum > 1e-12 {
				out = append(out, x)
			}
		}
		return out
	}
	got, want = drop(got), drop(want)
	if len(got) != len(want) {
		t.Fatalf("%d portions, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i].start != want[i].start || got[i].end != want[i].end {
			t.Fatalf("portion %d: (%v, %v], want (%v, %v]", i, got[i].start, got[i].end, want[i].start, want[i].end)
		}
		for b, c := range want[i].counts {
			if math.Abs(got[i].counts[b]-c) > 1.0/fiohist.Parts {
				t.Fatalf("portion %d bucket %d: %v, want %v", i, b, got[i].counts[b], c)
			}
		}
	}
}

func TestWindows(t *testing.T) {
	t.Parallel()
	one := func(bucket int) map[int]float64 { return map[int]float64{bucket: 1} }
	many := map[int]float64{100: 50, 900: 10}
	slow := map[int]float64{100: 50, 1750: 1} // bucket 1750 is 4.9 to 5.0 s
	tests := []struct {
		name    string
		records []rec
		want    [][2]float64 // where the portions lie
	}{
		{"steady", []rec{{1003, many}, {2003, many}},
			[][2]float64{{3, 1003}, {1002, 1003}, {1003, 2003}, {2002, 2003}}},
		{"the example of docs/log-format.md", []rec{{1003, many}, {2001, many}, {6400, slow}, {6400, one(5)}, {6400,
			one(5)}, {6401, one(5)}, {7001, many}},
			[][2]float64{{1, 1001}, {1002, 1003}, {1003, 2001}, {2000, 2001}, {2001, 3001}, {6399, 6400}, {6399, 6400},
				{6399, 6400}, {6400, 6401}, {6401, 7001}, {7000, 7001}}},
		{"a stall at the very start", []rec{{5000, many}, {5000, one(5)}, {5001, one(5)}, {5002, one(5)}, {5100, many},
			{6100, many}},
			[][2]float64{{100, 1100}, {4999, 5000}, {4999, 5000}, {5000, 5001}, {5001, 5002}, {5002, 5100},
				{5099, 5100}, {5100, 6100}, {6099, 6100}}},
		{"a stall from the first window on", []rec{{5000, many}, {5000, one(5)}, {5001, one(5)}, {5002, one(5)},
			{5103, one(5)}, {7100, many}},
			[][2]float64{{8, 1008}, {4999, 5000}, {4999, 5000}, {5000, 5001}, {5001, 5002}, {5102, 5103}, {5103, 6008},
				{7099, 7100}}},
		{"a stall shorter than a window", []rec{{1000, many}, {2400, many}, {3000, many}}, [][2]float64{{0, 1000},
			{999, 1000}, {1000, 2000}, {2399, 2400}, {2400, 3000}, {2999, 3000}}},
		{"the start of the job bounds the first window", []rec{{900, many}}, [][2]float64{{0, 900}, {899, 900}}},
		{"no I/O, no portion", []rec{{1000, nil}, {2000, many}}, [][2]float64{{1000, 2000}, {1999, 2000}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := placeAll(tt.records, 1000, 0, 8)
			samePlaces(t, got, slowPlaced(tt.records, 1000, 0, 8))
			if len(got) != len(tt.want) {
				t.Fatalf("%d portions, want %d: %v", len(got), len(tt.want), got)
			}
			for i, w := range tt.want {
				if got[i].start != w[0] || got[i].end != w[1] {
					t.Errorf("portion %d: (%v, %v], want (%v, %v]", i, got[i].start, got[i].end, w[0], w[1])
				}
			}
		})
	}
}

// FuzzWindows: placing record by record is the model over the whole list, and
// every I/O is placed exactly once, not after its record's stamp.
func FuzzWindows(f *testing.F) {
	f.Add([]byte{3, 10, 200, 0, 0, 100, 1, 0}, uint16(1000), int64(0))
	f.Add([]byte{255, 255, 1, 0, 0, 1, 0, 0, 1}, uint16(10), int64(0))
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0}, uint16(0), int64(farPast/msec))
	f.Add([]byte{0, 10, 9, 9, 0, 0, 1, 0, 1, 0, 0, 1, 0, 9, 3, 4}, uint16(100), int64(7))
	f.Fuzz(func(t *testing.T, data []byte, h uint16, begin int64) {
		soonest, unknown := int64(never), math.NaN()
		if begin > 0 {
			soonest, unknown, begin = begin%1000, float64(begin%1000), 0
		} else if begin != 0 {
			begin = farPast / msec
		}
		var records []rec
		ms, in := int64(1), 0.0
		for ; len(data) >= 4 && len(records) < 200; data = data[4:] {
			ms += int64(binary.LittleEndian.Uint16(data)) % 3000
			c := map[int]float64{}
			if data[2] > 0 {
				c[int(data[2])*7] = float64(data[3])
				c[int(data[3])] += float64(data[2])
				in += float64(data[2]) + float64(data[3])
			}
			for i, n := range c {
				if n == 0 {
					delete(c, i)
				}
			}
			records = append(records, rec{ms, c})
		}
		got := placeAll(records, int64(h), begin, soonest)
		length := cmp.Or(h, uint16(usualLength/msec))
		samePlaces(t, got, slowPlaced(records, float64(length), float64(begin), unknown))
		out := 0.0
		for _, p := range got {
			if p.end > float64(ms) || p.start >= p.end {
				t.Fatalf("(%v, %v] with the last stamp at %d", p.start, p.end, ms)
			}
			for _, c := range p.counts {
				if c < 0 {
					t.Fatalf("negative count %v", c)
				}
				out += c
			}
		}
		if in != out {
			t.Fatalf("%v I/Os in, %v out", in, out)
		}
	})
}
