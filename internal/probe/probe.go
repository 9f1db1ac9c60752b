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

// Operation is one of those that make a round, in this order.
type Operation int

// The operations: two on blocks of a large file, four on small files.
const (
	Read Operation = iota
	Write
	Create
	Stat
	SmallRead
	Delete
	Operations // how many there are
)

var operationNames = [Operations]string{"read", "write", "create", "stat", "small-read", "delete"}

func (o Operation) String() string { return operationNames[o] }

// ErrSkipped is an operation that was not due: no file would be left to read, or
// the pool would grow or shrink without end, since its counterpart fails.
var ErrSkipped = errors.New("not due")

// Files are what the operations of one target are done to. No two methods run at
// the same time.
type Files interface {
	// Ready comes before each round and is not timed.
	Ready() error
	// Do does an operation, and times the system calls that make it.
	Do(op Operation) (at time.Time, took time.Duration, err error)
	// Keep stores what ReadStatus reads.
	Keep(status []byte) error
	// Kept is what was stored last, perhaps by another process; nil if nothing.
	Kept() []byte
	Close() error
}

// Sample is the outcome of one operation, or word of one that is still under way.
type Sample struct {
	Op Operation
	// At is when it began. Of one AtLeast it is when the next round was due.
	At time.Time
	// Late is by how much its round began later than it was due.
	Late time.Duration
	Took time.Duration
	// AtLeast says that the operation has not ended, and took Took until At.
	AtLeast bool
	// Err is why it failed, ErrSkipped if it was not tried.
	Err error
	// Expected is the usual time in ns before this sample, 0 if not known yet, and
	// Slowdown Took by Expected.
	Expected, Slowdown float64
}

// ErrorName is the errno's name, ENOSPC, or what else names an error.
func ErrorName(err error) string {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		if name := unix.ErrnoName(errno); name != "" {
			return name
		}
		return fmt.Sprintf("errno %d", int(errno))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "SHORT"
	}
	return "OTHER"
}

// State says how a target does.
type State string

// The states, from good to bad.
const (
	StatePreparing State = "preparing" // its files are being made
	StateLearning  State = "learning"  // too few samples to say what is usual
	StateQuiet     State = "quiet"
	StateSlow      State = "slow"
	StateVerySlow  State = "very slow"
	StateFailing   State = "failing" // an operation only failed in the interval
	StateHung      State = "hung"    // an operation has been under way for longer than the deadline
)

// verdict says whether users suffer; not known while the target is prepared or learned.
func (s State) verdict() (bad, known bool) {
	return s != StateQuiet, s != StatePreparing && s != StateLearning && s != ""
}

// Config says how to probe.
type Config struct {
	// Every is the time between the beginnings of two rounds.
	Every time.Duration
	// Deadline is how long an operation may take before the target counts as hung.
	Deadline time.Duration
	// Interval is the time between two reports; they lie on its multiples since 1970.
	Interval time.Duration
	// Window makes the usual time the median of that long instead of all samples.
	Window time.Duration
	// Baseline gives usual times instead, by target.
	Baseline Baseline
	// Slow and VerySlow are slowdowns from which on the state is that.
	Slow, VerySlow float64

	// OnSample and OnReport get everything, from several goroutines at a time. A
	// schedule waits for them, so they must not.
	OnSample func(t *Target, s *Sample)
	OnReport func(r *Report)
	// OnChange gets what people should know, a line each.
	OnChange func(t *Target, text string)
}

// Grace is how long the end of Run waits for operations that are under way.
const Grace = 2 * time.Second

// Target is a file system that is probed.
type Target struct {
	// Path names it.
	Path string
	// Open makes its files ready; it may take its time.
	Open func(context.Context) (Files, error)

	cfg   *Config
	state chan []byte // to be kept, the newest only

	mu     sync.Mutex // guards what follows, and the statistics
	phase  State      // preparing, learning (at work), failing (could not be opened)
	series [Operations]*Series
	failed [Operations]string // the error that was reported last, "" if it works
	hung   *Hang
	now    counts // of this interval, and
	events [Operations]opCounts
	total  counts // before it, and
	errors [Operations]map[string]int64
	worst  State // as of the last report, and
	all    float64
	last   [Operations][3]Window
	bad    bool      // as of the last Change,
	was    time.Time // from then on;
	differ int       // reports in a row that say otherwise,
	since  time.Time // from then on
}

// Hang is an operation that has been under way for longer than the deadline.
type Hang struct {
	Op    Operation
	Since time.Time
}

type counts struct{ Rounds, Late, Missed int64 }

// Run probes until ctx ends, and then waits for Grace at most. Targets that cannot
// be opened are left out and named in the error; without any left it returns.
func Run(ctx context.Context, cfg Config, targets []*Target) error {
	var wg sync.WaitGroup
	errs := make([]error, len(targets))
	for _, t := range targets {
		t.cfg, t.phase, t.state = &cfg, StatePreparing, make(chan []byte, 1)
		for op := range t.series {
			t.series[op] = newSeries(&cfg, cfg.Baseline.expected(t.Path, Operation(op)))
		}
	}
	for i, t := range targets {
		wg.Go(func() {
			files, err := t.Open(ctx)
			if err == nil && ctx.Err() != nil {
				_ = files.Close() // nobody waits for samples any more
				return
			}
			if err != nil {
				t.mu.Lock()
				t.phase = StateFailing
				t.mu.Unlock()
				if errs[i] = err; ctx.Err() == nil {
					cfg.OnChange(t, fmt.Sprintf("cannot be probed: %v", err))
				}
				return
			}
			// Targets take turns, so that none is in another's way.
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
			case <-time.After(Grace + Grace/4): // one that hangs in Open
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
		if r := t.report(end); r != nil {
			t.cfg.OnReport(r)
		}
	}
}
