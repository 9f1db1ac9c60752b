package diagnose

import (
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/pipeline"
)

// TestStoredDiagnosis: a diagnosis that was stored tells of the intervals that the run had before it was rolled up.
func TestStoredDiagnosis(t *testing.T) {
	t.Parallel()
	run := &pipeline.Run{ID: "r", Interval: int64(time.Minute), FirstInterval: int64(10 * time.Second),
		Fine: pipeline.Grain{Interval: int64(250 * time.Millisecond)},
		Logs: []*pipeline.Log{{End: int64(12 * time.Second)}, {End: int64(14*time.Second + 1)}}}
	run.Kind = fio.Clat
	d := (&Stored{More: []Finding{{About: aboutSlow, FromMS: 0, ToEnd: true},
		{About: aboutSlow, FromMS: 250, ToEnd: true}, {About: aboutSlow, FromMS: 0}}}).diagnosis(run, nil)
	// 4 s and a nanosecond take 17 intervals of 250 ms.
	if d.Run != "r" || d.IntervalMS != 250 || d.Intervals != 17 {
		t.Errorf("%q: %d intervals of %v ms, want 17 of 250", d.Run, d.Intervals, d.IntervalMS)
	}
	for i, want := range []bool{true, false, false} {
		if d.More[i].AllRun != want {
			t.Errorf("finding %d is of all the run: %t", i, d.More[i].AllRun)
		}
	}
}
