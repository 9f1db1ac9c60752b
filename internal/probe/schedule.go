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
	err    error
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
	timer, deadline := time.NewTimer(time.Until(next)), time.NewTimer(time.Hour)
	deadline.Stop()
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
			t.missed()
		} else {
			busy, op, since = true, Read, now
			t.began(late)
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
					t.missed()
				}
				pending = next
				if took := next.Sub(since); busy && took >= every {
					t.sample(Sample{Op: op, At: next, Took: took, AtLeast: true})
				}
			}
			timer.Reset(next.Sub(now))
			if !busy {
				begin(now)
			}
		case <-deadline.C:
			t.hang(&Hang{op, since})
		case e := <-events:
			switch e.kind {
			case begins:
				op, since = e.op, time.Now()
				deadline.Reset(t.cfg.Deadline)
			case ended:
				deadline.Stop()
				t.recover(e.sample.Op)
				t.sample(e.sample)
			case roundEnded:
				deadline.Stop()
				t.recover(op)
				if e.err != nil {
					t.cfg.OnChange(t, fmt.Sprintf("its status could not be stored: %v", e.err))
				}
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
		case <-scheduleEnded: // the schedule has ended
		}
	}
	// keep stores the status if there is a new one. It counts as a create operation,
	// because it creates a file.
	keep := func() (err error) {
		select {
		case status := <-t.state:
			send(event{kind: begins, op: Create})
			err = files.Keep(status)
		default:
		}
		return err
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
		if err == nil {
			err = keep()
		} else {
			err = nil // already reported
		}
		send(event{kind: roundEnded, err: err})
	}
	if err := files.Keep(t.kept(time.Now())); err != nil {
		t.cfg.OnChange(t, fmt.Sprintf("its status could not be stored: %v", err))
	}
	_ = files.Close()
	send(event{kind: closed})
}

// began counts a started round.
func (t *Target) began(late time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.Rounds++
	if late > t.cfg.Every/10 {
		t.now.Late++
	}
}

func (t *Target) missed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now.Missed++
}

// sample adds a sample to the statistics and passes it on.
func (t *Target) sample(s Sample) {
	t.mu.Lock()
	series, n := t.series[s.Op], &t.events[s.Op]
	s.Expected = series.expected()
	change := ""
	switch {
	case errors.Is(s.Err, ErrSkipped):
		n.skipped++
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

func (t *Target) hang(h *Hang) {
	t.mu.Lock()
	t.hung = h
	t.mu.Unlock()
	took := time.Since(h.Since).Round(time.Millisecond)
	t.cfg.OnChange(t, fmt.Sprintf("hangs: a %s has been running for %v", h.Op, took))
}

// recover ends a hang, if any.
func (t *Target) recover(op Operation) {
	t.mu.Lock()
	h := t.hung
	t.hung = nil
	t.mu.Unlock()
	if h != nil {
		took := time.Since(h.Since).Round(time.Millisecond)
		t.cfg.OnChange(t, fmt.Sprintf("responds again: the %s ended after %v", op, took))
	}
}
