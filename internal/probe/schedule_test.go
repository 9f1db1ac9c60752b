package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// fakeFiles take as long as they are told to, on the bubble's clock, and may hang.
type fakeFiles struct {
	takes func(op Operation) time.Duration
	fails func(op Operation) error
	hangs func(op Operation) <-chan struct{}

	mu    sync.Mutex
	under int // operations under way at once
	kept  []byte

	keeps func() // while a status is stored
}

func (f *fakeFiles) Ready() error { return nil }

func (f *fakeFiles) Do(op Operation) (time.Time, time.Duration, error) {
	f.mu.Lock()
	f.under++
	if f.under > 1 {
		panic("two operations at a time")
	}
	f.mu.Unlock()
	defer func() { f.mu.Lock(); f.under--; f.mu.Unlock() }()
	at := time.Now()
	if f.hangs != nil {
		if c := f.hangs(op); c != nil {
			<-c
		}
	}
	if f.takes != nil {
		time.Sleep(f.takes(op))
	}
	var err error
	if f.fails != nil {
		err = f.fails(op)
	}
	return at, time.Since(at), err
}

func (f *fakeFiles) Kept() []byte { return f.kept }
func (f *fakeFiles) Close() error { return nil }

func (f *fakeFiles) Keep(status []byte) error {
	f.kept = status
	if f.keeps != nil {
		f.keeps()
	}
	return nil
}

// recorder keeps what a probe says, by target.
type recorder struct {
	mu      sync.Mutex
	samples map[string][]Sample
	reports map[string][]*Report
	changes []string
}

func (r *recorder) config() Config {
	r.samples, r.reports = map[string][]Sample{}, map[string][]*Report{}
	return Config{
		Every: time.Second, Deadline: 5 * time.Second, Interval: 10 * time.Second,
		OnSample: func(t *Target, s *Sample) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.samples[t.Path] = append(r.samples[t.Path], *s)
		},
		OnReport: func(p *Report) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.reports[p.Target.Path] = append(r.reports[p.Target.Path], p)
		},
		OnChange: func(t *Target, text string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.changes = append(r.changes, t.Path+": "+text)
		},
	}
}

func target(path string, f Files) *Target {
	return &Target{Path: path, Open: func(context.Context) (Files, error) { return f, nil }}
}

func (r *recorder) sum(path string) (rounds, late, missed int64) {
	for _, p := range r.reports[path] {
		rounds, late, missed = rounds+p.Rounds, late+p.Late, missed+p.Missed
	}
	return
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

// A round of 6 x 10 ms fits; one of 6 x 200 ms ends 0.2 s into the next slot, which
// begins late; one of 6 x 300 ms ends 0.8 s into it, and it is missed.
func TestScheduleCountsLateAndMissed(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		each                 time.Duration
		rounds, late, missed int64
	}{
		{"in time", ms(10), 60, 0, 0},
		// 1.2 s a round: begins at 0, 1.2, 2.4, then 3.6 is too late for slot 3 (and 2 was late), so 4 s anew.
		{"late", ms(200), 45, 30, 15},
		// 1.8 s a round: slot 1 would begin at 1.8: missed; slot 2 in time.
		{"missed", ms(300), 30, 0, 30},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r recorder
				ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second-ms(1))
				defer cancel()
				f := &fakeFiles{takes: func(Operation) time.Duration { return tt.each }}
				if err := Run(ctx, r.config(), []*Target{target("a", f)}); err != nil {
					t.Fatal(err)
				}
				rounds, late, missed := r.sum("a")
				if rounds != tt.rounds || late != tt.late || missed != tt.missed {
					t.Errorf("%d rounds, %d late, %d missed; want %d, %d, %d", rounds, late, missed, tt.rounds, tt.late,
						tt.missed)
				}
				for _, s := range r.samples["a"] {
					if s.AtLeast {
						t.Fatalf("a sample of an operation under way, though none took a second: %+v", s)
					}
					if s.Took != tt.each {
						t.Fatalf("%v took %v, want %v", s.Op, s.Took, tt.each)
					}
				}
			})
		})
	}
}

// One target's create hangs for 60 s. The other one goes on as if nothing were. The
// hung one gives a growing sample a second, says so once past the deadline, and once
// that it answers again.
func TestHungTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		ctx, cancel := context.WithTimeout(t.Context(), 120*time.Second-ms(1))
		defer cancel()
		release := make(chan struct{})
		start := time.Now()
		time.AfterFunc(90500*time.Millisecond, func() { close(release) })
		quick := func(Operation) time.Duration { return ms(1) }
		hung := &fakeFiles{takes: quick, hangs: func(op Operation) <-chan struct{} {
			if op == Create && time.Since(start) > 30*time.Second && time.Since(start) < 31*time.Second {
				return release
			}
			return nil
		}}
		if err := Run(ctx, r.config(), []*Target{target("hung", hung), target("well",
			&fakeFiles{takes: quick})}); err != nil {
			t.Fatal(err)
		}
		rounds, late, missed := r.sum("well")
		if rounds != 120 || late+missed != 0 {
			t.Errorf("the other target: %d rounds, %d late, %d missed; want 120, 0, 0", rounds, late, missed)
		}
		var growing []time.Duration
		var last Sample
		for _, s := range r.samples["hung"] {
			if s.Op != Create || s.Took < time.Second {
				continue
			}
			if last = s; s.AtLeast {
				growing = append(growing, s.Took)
			}
		}
		if len(growing) != 59 {
			t.Fatalf("%d samples of the hang, want 59: %v", len(growing), growing)
		}
		for i, took := range growing {
			if want := time.Duration(i+2)*time.Second - ms(2); took != want {
				t.Errorf("sample %d of the hang: at least %v, want %v", i, took, want)
			}
		}
		if last.AtLeast || last.Took != ms(60499) {
			t.Errorf("the end of the hang: %+v, want a sample of 60.5 s", last)
		}
		_, _, missed = r.sum("hung")
		if missed < 58 || missed > 60 {
			t.Errorf("%d missed, want 59 or so", missed)
		}
		for i, rep := range r.reports["hung"] {
			end := rep.End.Sub(start)
			want := end > 36*time.Second && end <= 90*time.Second
			if (rep.State == StateHung) != want {
				t.Errorf("report %d at %v: %s", i, end, rep.State)
			}
		}
		if c := r.changes; len(c) != 2 || !strings.Contains(c[0], "hung: hangs: a create has been running for 5.9") ||
			!strings.Contains(c[1], "responds again") {
			t.Errorf("said %q", c)
		}
		// Of the samples of the 10 minutes, 60 of 120 were slower than a second: no percentile hides that.
		w := r.reports["hung"][len(r.reports["hung"])-1].Ops[Create].Last[1]
		if w.Samples < 119 || w.P99 < 58e9 || w.P90 < 45e9 {
			t.Errorf("10 minutes: %+v", w)
		}
	})
}

// An operation that never ends does not keep Run from ending.
func TestRunDoesNotWaitForAHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		forever := make(chan struct{})
		f := &fakeFiles{hangs: func(op Operation) <-chan struct{} { return forever }}
		opening := &Target{Path: "opening", Open: func(context.Context) (Files, error) {
			<-forever
			return nil, errors.New("too late")
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		start := time.Now()
		if err := Run(ctx, r.config(), []*Target{target("a", f), opening}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took > 30*time.Second+2*endWait {
			t.Errorf("Run took %v", took)
		}
		if s := r.reports["opening"]; len(s) < 3 || s[2].State != StatePreparing {
			t.Errorf("reports of a target that hangs when it is opened: %+v", s)
		}
		close(forever)
	})
}

// Errors are counted, said once when they begin and once when they end, and are not
// samples.
func TestErrorsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second-ms(1))
		defer cancel()
		start := time.Now()
		f := &fakeFiles{takes: func(Operation) time.Duration { return ms(1) }, fails: func(op Operation) error {
			if s := time.Since(start); op == Create && s > 20*time.Second && s < 40*time.Second {
				return fmt.Errorf("create: %w", unix.ENOSPC)
			} else if op == Delete && s > 20*time.Second && s < 40*time.Second {
				return ErrSkipped
			}
			return nil
		}}
		if err := Run(ctx, r.config(), []*Target{target("a", f)}); err != nil {
			t.Fatal(err)
		}
		n, skipped, samples := int64(0), int64(0), 0.0
		for _, rep := range r.reports["a"] {
			o := &rep.Ops[Create]
			n += o.Errors["ENOSPC"]
			skipped += rep.Ops[Delete].Skipped
			if o.Hist != nil {
				samples += o.Hist.Sum()
			}
		}
		if n != 20 || skipped != 20 || samples != 40 {
			t.Errorf("%d errors, %d skipped, %v samples; want 20, 20, 40", n, skipped, samples)
		}
		if c := r.changes; len(c) != 2 || !strings.Contains(c[0], "create fails: create: no space left on device "+
			"(ENOSPC)") || !strings.Contains(c[1], "create works again") {
			t.Errorf("said %q", c)
		}
		if s := r.reports["a"][3].State; s != StateFailing {
			t.Errorf("state %s while nothing can be created", s)
		}
	})
}

// A file system whose reads take 3 or 60 times as long from some moment on, and then again as before: within three
// intervals the state says so and names them, though the mean over the operations hardly changes. The usual time comes
// back after a restart.
func TestSlowdown(t *testing.T) {
	for _, tt := range []struct {
		name   string
		from   time.Duration // in an interval
		times  int
		state  State
		within int // intervals
	}{
		{"at once", 0, 3, StateSlow, 2}, {"in the middle", 5 * time.Second, 60, StateVerySlow, 2},
		{"at the end", 9500 * time.Millisecond, 60, StateVerySlow, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				from, until := 10*time.Minute+tt.from, 15*time.Minute
				f := &fakeFiles{takes: func(op Operation) time.Duration {
					if s := time.Since(start); op == Read && s >= from && s < until {
						return ms(10 * tt.times)
					}
					return ms(10)
				}}
				run := func(d time.Duration) []*Report {
					var r recorder
					ctx, cancel := context.WithTimeout(t.Context(), d)
					defer cancel()
					if err := Run(ctx, r.config(), []*Target{target("a", f)}); err != nil {
						t.Fatal(err)
					}
					for i, s := range r.samples["a"] {
						if i < 6*enough && s.Slowdown != 0 && f.kept == nil {
							t.Fatalf("a slowdown of %v before anything was usual", s.Slowdown)
						}
					}
					return r.reports["a"]
				}
				reports := run(14*time.Minute - ms(1))
				within := 0
				for _, r := range reports[2:] {
					o := &r.Ops[Read]
					switch {
					case !r.End.After(start.Add(from)):
						if r.State != StateQuiet || math.Abs(r.Mean-1) > 0.02 {
							t.Fatalf("quiet: %s, %v", r.State, r.Mean)
						}
						continue
					case r.State == StateQuiet:
						within++
						continue
					case r.State != tt.state || r.Slowest != Read || r.Slowdown != o.Slowdown ||
						math.Abs(o.Slowdown/float64(tt.times)-1) > 0.02 ||
						math.Abs(r.Mean-math.Pow(r.Slowdown, 1.0/6)) > 0.02:
						t.Fatalf("%s, %v %v, overall %v", r.State, r.Slowest, r.Slowdown, r.Mean)
					}
				}
				if within++; within > tt.within {
					t.Errorf("said within %d intervals, want %d", within, tt.within)
				}
				// A new process at once knows what is usual.
				r := run(30 * time.Second)[1]
				if r.State != tt.state || math.Abs(r.Ops[Read].Expected-10e6) > 2e5 {
					t.Errorf("after the restart: %s, %v", r.State, r.Ops[Read].Expected)
				}
				var status Status
				if err := json.Unmarshal(f.kept, &status); err != nil {
					t.Fatal(err)
				}
				want := fmt.Sprintf("this file system is %s: slowest is read, with %.1f times its usual time (%v instead "+
					"of 10.", tt.state, float64(ms(10*tt.times))/r.Ops[Read].Expected, ms(10*tt.times))
				if text := status.Text(time.Now()); !strings.HasPrefix(text, want) {
					t.Errorf("--status says %q, want %q", text, want)
				}
				if old := status.Text(time.Now().Add(time.Hour)); !strings.HasPrefix(old, "no update for 1h0m") {
					t.Errorf("an hour later: %q", old)
				}
			})
		})
	}
}

// TestStoppedInARound: a probe that is stopped in a round ends with it. A round of 6 x 10 ms begins each second.
func TestStoppedInARound(t *testing.T) {
	for _, tt := range []struct {
		name      string
		stop, end time.Duration
	}{{"in a round", ms(2020), ms(2060)}, {"between two", ms(2500), ms(2500)}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r recorder
				begun := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), tt.stop)
				defer cancel()
				f := &fakeFiles{takes: func(Operation) time.Duration { return ms(10) }}
				if err := Run(ctx, r.config(), []*Target{target("a", f)}); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begun); took < tt.stop || took > tt.end { // of the bubble's clock
					t.Errorf("ended after %v, want by %v", took, tt.end)
				}
			})
		})
	}
}

// TestHangOfAStatus: where storing a status hangs, its growing samples end with one that is whole.
func TestHangOfAStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r recorder
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		hang := sync.OnceFunc(func() { time.Sleep(ms(3500)) })
		if err := Run(ctx, r.config(), []*Target{target("a", &fakeFiles{keeps: hang})}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range r.samples["a"] {
			if s.Took > 0 {
				got = append(got, fmt.Sprintf("%v %v %t", s.Op, s.Took, s.AtLeast))
			}
		}
		// The interval of 10 s ends with the round at 10 s, and the schedule goes on each second.
		want := []string{"write 1s true", "write 2s true", "write 3s true", "write 3.5s false"}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
