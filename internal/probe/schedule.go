package probe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// event is what the goroutine that does the operations says to the one that keeps
// the schedule.
type event struct {
	kind   eventKind
	op     Operation
	sample Sample
	err    error
}

type eventKind int

const (
	begins  eventKind = iota // an operation begins now
	ended                    // it ended: a sample
	through                  // so did the round
	closed                   // the files are closed
)

// schedule starts a round at each due time, start + n x Every, and never waits for
// one. While a round is under way the next ones become due all the same: one that
// can begin within half of its slot begins late, the others are missed.
//
// A due time at which an operation has been under way for Every or longer gives a
// sample of it: it takes at least so long. So a hang of a minute is samples of 1, 2,
// ... 60 s, as many as there would have been without it; counting it once would hide
// it from every percentile ("coordinated omission"; HdrHistogram's correction adds
// the same values, after the fact).
//
// The operations are done by a goroutine of their own, which a hung file system may
// hold for ever.
func (t *Target) schedule(ctx context.Context, files Files, start time.Time) {
	t.mu.Lock()
	t.phase = StateLearning
	t.restore(files.Kept())
	t.mu.Unlock()
	rounds, events, gone := make(chan time.Duration), make(chan event), make(chan struct{})
	end := sync.OnceFunc(func() { close(rounds) })
	defer close(gone)
	defer end()
	go t.work(files, rounds, events, gone)

	every := t.cfg.Every
	next := start
	timer, deadline := time.NewTimer(time.Until(next)), time.NewTimer(time.Hour)
	deadline.Stop()
	var (
		busy    bool
		op      Operation // under way if busy
		since   time.Time
		pending time.Time // a due round that has not begun
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
			case through:
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
			done, grace = nil, time.After(Grace)
			timer.Stop()
			if !busy {
				end()
			}
		case <-grace:
			return
		}
	}
}

// work does the operations of rounds until there are no more, then closes the files.
func (t *Target) work(files Files, rounds <-chan time.Duration, events chan<- event, gone <-chan struct{}) {
	say := func(e event) {
		select {
		case events <- e:
		case <-gone: // long after: nobody waits for this one any more
		}
	}
	// keep stores a status if there is a new one. It makes a file, and is under way as
	// the making of a file is.
	keep := func() (err error) {
		select {
		case status := <-t.state:
			say(event{kind: begins, op: Create})
			err = files.Keep(status)
		default:
		}
		return err
	}
	for late := range rounds {
		say(event{kind: begins, op: Read})
		err := files.Ready()
		for op := range Operations {
			say(event{kind: begins, op: op})
			s := Sample{Op: op, At: time.Now(), Err: err}
			if err == nil {
				s.At, s.Took, s.Err = files.Do(op)
			}
			s.Late = late
			say(event{kind: ended, sample: s})
		}
		if err == nil {
			err = keep()
		} else {
			err = nil // said already
		}
		say(event{kind: through, err: err})
	}
	if err := files.Keep(t.kept(time.Now())); err != nil {
		t.cfg.OnChange(t, fmt.Sprintf("its status could not be stored: %v", err))
	}
	_ = files.Close()
	say(event{kind: closed})
}

// began counts a round.
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

// sample takes a sample into the statistics and hands it on.
func (t *Target) sample(s Sample) {
	t.mu.Lock()
	series, n := t.series[s.Op], &t.events[s.Op]
	s.Expected = series.Expected()
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
		series.Add(s.At.UnixNano(), int64(s.Took), s.AtLeast)
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
	t.cfg.OnChange(t, fmt.Sprintf("hangs: a %s has been under way for %v", h.Op, time.Since(h.Since).Round(time.Millisecond)))
}

// recover ends a hang, if there is one.
func (t *Target) recover(op Operation) {
	t.mu.Lock()
	h := t.hung
	t.hung = nil
	t.mu.Unlock()
	if h != nil {
		t.cfg.OnChange(t, fmt.Sprintf("answers again: the %s came to an end after %v", op, time.Since(h.Since).Round(time.Millisecond)))
	}
}
