package delivery

import "time"

// flow finds the number of concurrent requests with the highest throughput. It adds one if that increases the
// bytes per second, removes one if that costs nothing, and halves the number when the server pushes back. No
// fixed number suits all: a node with two cores is busy with two requests, a cluster takes many more.
//
// It measures rounds of two requests per slot, and only while all slots are in use: if documents come slower
// than the server takes them, there is nothing to find out. One round says little about a server that others
// use as well, so the rate of each number of requests is a moving average. Because servers get faster and
// slower, one request more is tried from time to time; if a server becomes slower, the known rate of fewer
// requests is better, and the number falls.
type flow struct {
	limit int
	rates []float64 // by number of concurrent requests, bytes per second; 0 if unknown
	rest  int       // rounds until one more is tried
	round struct {
		since    time.Time // zero before the first request
		bytes    int64
		requests int
	}
}

const (
	flowStart  = 2
	flowGain   = 1.05 // by which one more request must raise the rate to be worth its memory
	flowWeight = 0.3  // of the last round in the average
	flowRest   = 16   // rounds
)

func newFlow(most int) flow {
	return flow{limit: min(flowStart, most), rates: make([]float64, most+1)}
}

// done records that a request of that many bytes has its outcome at a time. busy says that all slots were in
// use, pushedBack that documents had to be sent again.
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

// sizes is the size of requests: FlushBytes, or less where the server or a proxy does not take as much (413). That
// limit is not known, and need not be the same for the next request, so after some requests twice as much is tried.
type sizes struct {
	full, most int // bytes before compression
	good       int // requests taken since most was changed
}

// sizesGrow is after how many requests that were taken larger ones are tried: then one in so many is sent in vain.
const sizesGrow = 64

// refused records that a request of that many bytes was too large.
func (s *sizes) refused(bytes int) { s.most, s.good = min(s.most, bytes/2), 0 }

// taken records that a request was not.
func (s *sizes) taken() {
	if s.good++; s.most < s.full && s.good >= sizesGrow {
		s.most, s.good = min(max(2*s.most, 1), s.full), 0
	}
}
