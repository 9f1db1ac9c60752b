package delivery

import "time"

// flow finds out how many requests at once a server gets most done with. It goes one
// up where that brings more bytes a second, one down where one less brings as many,
// and to the half where the server says that it has enough. What suits one server is
// too much for the next: a node with two cores is busy with two requests, a cluster
// takes as many as there are.
//
// It looks at rounds of two requests for each place, and only at those in which all
// places were taken: where documents come slower than the server takes them there is
// nothing to find out. One round says little of a server that others use as well, so
// what is known of each number of requests is a moving average; and because servers
// get faster and slower, one more is tried anew from time to time. A server that
// becomes slower makes the number fall, as what was known of fewer requests is better.
type flow struct {
	limit int
	rates []float64 // by number of requests at once, bytes a second; 0 is not known
	rest  int       // rounds until one more is tried
	round struct {
		since    time.Time // zero before the first request
		bytes    int64
		requests int
	}
}

const (
	flowStart  = 2
	flowGain   = 1.05 // what one request more must bring to be worth its memory
	flowWeight = 0.3  // of the last round in the average
	flowRest   = 16   // rounds
)

func newFlow(most int) flow {
	return flow{limit: min(flowStart, most), rates: make([]float64, most+1)}
}

// done notes that a request of so many bytes has its outcome at a time. busy says
// that all places were taken, pushedBack that the server refused it at first.
func (f *flow) done(now time.Time, bytes int, busy, pushedBack bool) {
	r := &f.round
	switch {
	case pushedBack:
		f.limit, f.rest = max(f.limit/2, 1), flowRest
		clear(f.rates)
		r.since = time.Time{}
		return
	case !busy || r.since.IsZero():
		r.since, r.bytes, r.requests = now, 0, 0
		return
	}
	r.bytes += int64(bytes)
	if r.requests++; r.requests < 2*f.limit {
		return
	}
	rate := float64(r.bytes) / max(now.Sub(r.since), time.Microsecond).Seconds()
	r.since, r.bytes, r.requests = now, 0, 0
	if known := f.rates[f.limit]; known > 0 {
		rate = known + (rate-known)*flowWeight
	}
	f.rates[f.limit] = rate
	if f.rest > 0 {
		f.rest--
	}
	switch n := f.limit; {
	case f.rates[n-1] > rate/flowGain: // [0] is never known
		f.limit--
		f.rest = flowRest
	case n+1 == len(f.rates):
	case f.rates[n+1] > rate*flowGain:
		f.limit++
	case f.rest == 0:
		f.limit++
		f.rates[f.limit] = 0
	}
}
