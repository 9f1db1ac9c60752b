package intervals

// MaxIntervalsFactor is the factor by which a run may exceed the intervals that its length gives without asking: a
// wrong clock or offset makes millions of intervals, each with documents.
const MaxIntervalsFactor = 10

// fewIntervals are made without asking, however short the run: servers of fio --client can start seconds apart.
const fewIntervals = 100

// CheckIntervals calls *allow, at most once, if the intervals are far more than usual for the length of the run.
func CheckIntervals(allow *func(intervals, usual int64) error, intervals int64, usual func() int64) error {
	f := *allow
	if f == nil || intervals <= fewIntervals {
		return nil
	}
	n := usual()
	if intervals <= MaxIntervalsFactor*n {
		return nil
	}
	*allow = nil
	return f(intervals, n)
}
