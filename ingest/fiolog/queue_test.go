package fiolog

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"fiolat/fio"
)

// TestQueue: records come back as they went in.
func TestQueue(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	var k Queue
	var want []*Record
	for n := range 100 {
		r := &Record{Time: rng.Int64N(MaxTime), Dir: fio.Direction(n % fio.Directions),
			Line: int64(n), NS: rng.Uint64(), Index: []uint16{}, Count: []float64{}}
		for b := rng.IntN(50); b < 2048; b += 1 + rng.IntN(300) {
			c := rng.Uint64N(MaxCount) >> rng.IntN(44)
			r.Index, r.Count, r.IOs = append(r.Index, uint16(b)), append(r.Count, float64(c)), r.IOs+c
		}
		k.Add(r, 0)
		want = append(want, r.Clone())
		if r.Index = r.Index[:0]; n%2 == 0 {
			continue
		}
		seen := 0
		k.Each(func(r *Record) { seen++ })
		got := k.Next()
		if seen != len(want) || len(got.Index) != len(want[0].Index) || len(got.Index) > 0 && !reflect.DeepEqual(got,
			want[0]) {
			t.Fatalf("%d: %d records, %+v, want %+v", n, seen, got, want[0])
		}
		want = want[1:]
	}
	for k.Records > 0 {
		if got := k.Next(); got.Time != want[0].Time {
			t.Fatalf("%+v, want %+v", got, want[0])
		}
		want = want[1:]
	}
	if len(want) > 0 || k.b != nil {
		t.Errorf("%d are missing, %d bytes are left", len(want), len(k.b))
	}
	if k.Free(); !reflect.DeepEqual(k, Queue{}) {
		t.Errorf("freed, it is %+v", k)
	}
}
