package probe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// event is a message from the goroutine that performs the operations to the schedule.
type event struct {
	kind   eventKind
	op     Operation
	sample Sample
}

type eventKind int

const (
	begins     eventKind = iota // an operation starts
	ended                       // it ended, with a sample
	roundEnded                  // the round ended
	closed                      // the files are closed
)

// schedule starts a round at each due time, start + n x Every, and never waits for one.
// Rounds become due even while another one is running: a round that can start within
// half of its slot starts late, the others are missed.
//
// At each due time at which an operation has been running for Every or longer, there is
// a sample with that time as a lower bound. A hang of a minute thus gives samples of 1,
// 2, ... 60 s, as many as without the hang. Counted once, it would be invisible in every
// percentile (coordinated omission; HdrHistogram's correction adds the same values).
//
// The operations run in a goroutine of their own, which a hung file system may block
// forever.
func (t *Target) schedule(ctx context.Context, files Files, start time.Time) {
	t.mu.Lock()
	t.phase = StateLearning
	t.restore(files.Kept())
	t.mu.Unlock()
	rounds, events, scheduleEnded := make(chan time.Duration), make(chan event), make(chan struct{})
	end := sync.OnceFunc(func() { close(rounds) })
	defer close(scheduleEnded)
	defer end()
	go t.work(files, rounds, events, scheduleEnded)

	every := t.cfg.Every
	next := start
	timer := time.NewTimer(time.Until(next))
	var (
		busy    bool
		op      Operation // running if busy
		since   time.Time
		pending time.Time // a due round that has not started
		done    = ctx.Done()
		grace   <-chan time.Time
	)
	begin := func(now time.Time) {
		late := now.Sub(pending)
		if late > every/2 {
			t.count(Counts{Missed: 1})
		} else {
			busy, op, since = true, Read, now
			c := Counts{Rounds: 1}
			if late > every/10 {
				c.Late = 1
			}
			t.count(c)
			rounds <- late
		}
		pending = time.Time{}
	}
	for {
		select {
		case <-timer.C:
			now := time.Now()
			for ; !next.After(now); next = next.Add(every) {
				if !pending.IsZero() {
					t.count(Counts{Missed: 1})
				}
				pending = next
				if took := next.Sub(since); busy && took >= every {
					t.sample(Sample{Op: op, At: next, Took: took, AtLeast: true})
					if took >= t.cfg.Deadline {
						t.hang(&Hang{op, since})
					}
				}
			}
			timer.Reset(next.Sub(now))
			if !busy {
				begin(now)
			}
		case e := <-events:
			switch e.kind {
			case begins:
				op, since = e.op, time.Now()
			case ended:
				t.hang(nil)
				t.sample(e.sample)
			case roundEnded:
				t.hang(nil)
				busy = false
				if done == nil {
					end()
				} else if !pending.IsZero() {
					begin(time.Now())
				}
			case closed:
				return
			}
		case <-done:
			done, grace = nil, time.After(endWait)
			timer.Stop()
			if !busy {
				end()
			}
		case <-grace:
			return
		}
	}
}

// work performs the operations of the rounds, and then closes the files.
func (t *Target) work(files Files, rounds <-chan time.Duration, events chan<- event, scheduleEnded <-chan struct{}) {
	send := func(e event) {
		select {
		case events <- e:
		case <-scheduleEnded:
		}
	}
	// keep stores a status. It hangs as a write, because it is one; then its end is a sample, as what came before is.
	keep := func(status []byte) {
		send(event{kind: begins, op: Write})
		at := time.Now()
		err := files.Keep(status)
		if took := time.Since(at); err != nil {
			t.cfg.OnChange(t, fmt.Sprintf("its status could not be stored: %v", err))
		} else if took >= t.cfg.Every {
			send(event{kind: ended, sample: Sample{Op: Write, At: at, Took: took}})
		}
	}
	for late := range rounds {
		send(event{kind: begins, op: Read})
		err := files.Ready()
		for op := range operations {
			send(event{kind: begins, op: op})
			s := Sample{Op: op, At: time.Now(), Err: err}
			if err == nil {
				s.At, s.Took, s.Err = files.Do(op)
			}
			s.Late = late
			send(event{kind: ended, sample: s})
		}
		t.mu.Lock()
		status := t.status
		t.status = nil
		t.mu.Unlock()
		if status != nil && err == nil {
			keep(status)
		}
		send(event{kind: roundEnded})
	}
	t.mu.Lock()
	status := t.marshal(time.Now())
	t.mu.Unlock()
	keep(status)
	_ = files.Close()
	send(event{kind: closed})
}

// count counts a round, started or missed.
func (t *Target) count(c Counts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Rounds += c.Rounds
	t.counts.Late += c.Late
	t.counts.Missed += c.Missed
}

// sample adds a sample to the statistics and passes it on.
func (t *Target) sample(s Sample) {
	t.mu.Lock()
	series, n := t.series[s.Op], &t.ops[s.Op]
	s.Expected = series.expected()
	change := ""
	switch {
	case errors.Is(s.Err, ErrSkipped):
		n.Skipped++
	case s.Err != nil:
		name := ErrorName(s.Err)
		n.fail(name)
		if t.failed[s.Op] != name {
			t.failed[s.Op] = name
			change = fmt.Sprintf("%s fails: %v (%s)", s.Op, s.Err, name)
		}
	default:
		series.add(s.At.UnixNano(), int64(s.Took), s.AtLeast)
		n.take(int64(s.Took), s.AtLeast)
		if s.Expected > 0 {
			s.Slowdown = float64(s.Took) / s.Expected
		}
		if t.failed[s.Op] != "" && !s.AtLeast {
			change = fmt.Sprintf("%s works again, after %s", s.Op, t.failed[s.Op])
			t.failed[s.Op] = ""
		}
	}
	t.mu.Unlock()
	t.cfg.OnSample(t, &s)
	if change != "" {
		t.cfg.OnChange(t, change)
	}
}

// hang begins a hang, or ends it if h is nil.
func (t *Target) hang(h *Hang) {
	t.mu.Lock()
	was := t.hung
	t.hung = h
	t.mu.Unlock()
	took := func(h *Hang) time.Duration { return time.Since(h.Since).Round(time.Millisecond) }
	switch {
	case was == nil && h != nil:
		t.cfg.OnChange(t, fmt.Sprintf("hangs: a %s has been running for %v", h.Op, took(h)))
	case was != nil && h == nil:
		t.cfg.OnChange(t, fmt.Sprintf("responds again: the %s ended after %v", was.Op, took(was)))
	}
}
