// Package probe measures the slowdown of a file system as users perceive it: small operations at a fixed pace, each
// timed separately and compared with its usual time. The method is from Kunkel and others, "Tracking
// User-Perceived I/O Slowdown via Probing" (2019).
//
//	probe.go      operations, samples, settings; Run for all targets
//	schedule.go   one target: a fixed schedule, and operations that may never end
//	stats.go      usual times, slowdowns, reports
//	status.go     what a target keeps for the next probe, and for --status
//	dir_linux.go  the files of a target
//
// The package touches nothing outside of the directory that it created, opens no file for writing that it did not
// create, and starts no second operation on a file system that has not finished the first. An operation that hangs
// does not block the schedule: it is reported with a lower bound of its time. It prints nothing.
package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Operation is one of the operations of a round, in this order.
type Operation int

// The operations: two on blocks of the data file, four on a small file that is new in each round.
const (
	Read Operation = iota
	Write
	Create
	Stat
	SmallRead
	Delete
	operations // their number
)

var operationNames = [operations]string{"read", "write", "create", "stat", "small-read", "delete"}

func (o Operation) String() string { return operationNames[o] }

// ErrSkipped is returned for an operation that was not tried: the small file could not be created, or the last one
// not deleted.
var ErrSkipped = errors.New("not due")

// Files are the files of one target. Its methods are never called concurrently.
type Files interface {
	// Ready is called before each round and is not timed.
	Ready() error
	// Do performs an operation and times its system calls.
	Do(op Operation) (at time.Time, took time.Duration, err error)
	// Keep stores a status for the next probe.
	Keep(status []byte) error
	// Kept returns the status that the previous probe stored, or nil.
	Kept() []byte
	Close() error
}

// Sample is the result of one operation, or of one that is still running.
type Sample struct {
	Op Operation
	// At is its start; if AtLeast, the time at which the next round was due.
	At time.Time
	// Late is the delay of the start of its round.
	Late time.Duration
	Took time.Duration
	// AtLeast is true if the operation was still running at At, after Took.
	AtLeast bool
	// Err is the error, ErrSkipped if it was not tried.
	Err error
	// Expected is the usual time in ns before this sample, 0 if unknown. Slowdown is Took / Expected.
	Expected, Slowdown float64
}

// ErrorName returns the name of an errno, such as ENOSPC, or another short name.
func ErrorName(err error) string {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		if name := unix.ErrnoName(errno); name != "" {
			return name
		}
		return fmt.Sprintf("errno %d", int(errno))
	case errors.Is(err, io.EOF):
		return "SHORT"
	}
	return "OTHER"
}

// State is the state of a target.
type State string

// The states, from best to worst.
const (
	StatePreparing State = "preparing" // its files are being created
	StateLearning  State = "learning"  // too few samples for a usual time
	StateQuiet     State = "quiet"
	StateSlow      State = "slow"      // an operation takes twice its usual time
	StateVerySlow  State = "very slow" // or five times
	StateFailing   State = "failing"   // some operation failed each time in the interval
	StateHung      State = "hung"      // an operation has been running for longer than the deadline
)

// verdict reports whether users are affected; unknown while preparing or learning.
func (s State) verdict() (bad, known bool) {
	return s != StateQuiet, s != StatePreparing && s != StateLearning
}

// Config configures Run.
type Config struct {
	// Every is the time between the starts of two rounds.
	Every time.Duration
	// Deadline is the time after which a running operation makes the target hung, when the next round is due.
	Deadline time.Duration
	// Interval is the time between two reports, which are aligned to its multiples since 1970.
	Interval time.Duration

	// OnSample and OnReport are called for all samples and reports, concurrently. They must not block, because the
	// schedule waits for them.
	OnSample func(t *Target, s *Sample)
	OnReport func(r *Report)
	// OnChange is called with messages for users, one line each.
	OnChange func(t *Target, text string)
}

// endWait is how long Run waits at its end for running operations.
const endWait = 2 * time.Second

// Target is a file system that is probed.
type Target struct {
	// Path identifies the target.
	Path string
	// Open prepares its files, which may take long.
	Open func(context.Context) (Files, error)

	cfg *Config

	mu             sync.Mutex // guards the following fields
	phase          State      // preparing, learning (running), failing (could not be opened)
	series         [operations]*series
	failed         [operations]string // the error reported last, "" if the operation works
	hung           *Hang
	counts         Counts               // of this interval
	ops            [operations]OpReport // of this interval
	text           string               // of the last report
	status         []byte               // of the last report, until it is stored
	bad            bool                 // of the last Change
	badSince       time.Time            // when bad began to hold
	hangTold       bool                 // a Change since then was a hang
	contradictions int                  // consecutive reports that contradict bad
	since          time.Time            // start of the first of these
}

// Hang is an operation that has been running for longer than the deadline.
type Hang struct {
	Op    Operation
	Since time.Time
}

// Run probes until ctx ends, and then waits a little longer than endWait at most. Targets that cannot be opened are
// skipped and named in the error. If none can be opened, Run returns.
func Run(ctx context.Context, cfg Config, targets []*Target) error {
	var wg sync.WaitGroup
	errs := make([]error, len(targets))
	for _, t := range targets {
		t.cfg, t.phase = &cfg, StatePreparing
		for op := range t.series {
			t.series[op] = newSeries(&cfg)
		}
	}
	for i, t := range targets {
		wg.Go(func() {
			files, err := t.Open(ctx)
			if err == nil && ctx.Err() != nil {
				_ = files.Close() // too late for samples
				return
			}
			if err != nil {
				t.mu.Lock()
				t.phase = StateFailing
				t.mu.Unlock()
				errs[i] = err
				if ctx.Err() == nil {
					cfg.OnChange(t, fmt.Sprintf("cannot be probed: %v", err))
				}
				return
			}
			// The targets' rounds are staggered so that they do not disturb each other.
			t.schedule(ctx, files, time.Now().Add(cfg.Every*time.Duration(i)/time.Duration(len(targets))))
		})
	}
	all := make(chan struct{})
	go func() { wg.Wait(); close(all) }()
	for {
		now := time.Now()
		end := now.Truncate(cfg.Interval).Add(cfg.Interval)
		timer := time.NewTimer(end.Sub(now))
		select {
		case <-timer.C:
			reportAll(targets, end)
			continue
		case <-all:
		case <-ctx.Done():
			select {
			case <-all:
			case <-time.After(endWait + endWait/4): // a target hangs in Open
				return nil
			}
		}
		timer.Stop()
		reportAll(targets, end)
		return errors.Join(errs...)
	}
}

func reportAll(targets []*Target, end time.Time) {
	for _, t := range targets {
		t.cfg.OnReport(t.report(end))
	}
}
