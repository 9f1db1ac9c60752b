package delivery

import (
	"sync"
	"time"
)

// pace is what a server has shown that it can do in time. What it has not answered in time it may store nevertheless,
// so the same request again is work for nothing: the next ones are half its size, and are waited for twice as long,
// until the server is fast again.
type pace struct {
	most           int           // bytes of a request
	usual, longest time.Duration // how long to wait for an answer, at first and at most

	mu   sync.Mutex
	slow int // how many times sizes were halved and waits doubled
}

// slowest is how many times sizes are halved at most: to 1 KiB from 4 MiB.
const slowest = 12

// bytes returns the size of a request.
func (p *pace) bytes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most >> p.slow
}

// wait returns how long to wait for the answer, and what to tell answered or missed of it.
func (p *pace) wait() (time.Duration, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(p.usual<<p.slow, p.longest), p.slow
}

// missed says that a request was not answered in time. Of several at once, all sent at the same pace, one counts.
func (p *pace) missed(at int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.slow = max(p.slow, min(at+1, slowest))
}

// answered says that a request was answered after a time. Far from the limit it may be larger again.
func (p *pace) answered(at int, after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slow == at && at > 0 && after < p.usual/8 {
		p.slow--
	}
}
