package delivery

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
	"fiolat/esmodel/indices"
	"fiolat/pipeline"
)

// inProcess passes requests to a server without a network, so that a test can have a
// clock of its own.
type inProcess struct{ http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (res *http.Response, err error) {
	w := httptest.NewRecorder()
	defer func() {
		if recover() != nil {
			res, err = nil, io.ErrUnexpectedEOF
		}
	}()
	if r.Body != nil {
		defer r.Body.Close()
	} else {
		r.Body = http.NoBody
	}
	p.ServeHTTP(w, r)
	return w.Result(), r.Context().Err()
}

// timeless runs a test against a stand-in, with a clock that stands still while
// anything is under way.
func timeless(t *testing.T, f func(t *testing.T, s *esmodeltest.Server, c *client.Client)) {
	t.Helper()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true, Lifecycle: true})
	synctest.Test(t, func(t *testing.T) {
		c := testClient(t, client.Config{Addresses: []string{s.URL}, Transport: inProcess{s.Config.Handler}})
		f(t, s, c)
	})
}

// begin begins an ingest of testRun.
func begin(t *testing.T, c *client.Client, cfg BulkConfig) (*Sink, error) {
	t.Helper()
	w, err := NewBulkWriter(c, cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := NewSink(w, SinkOptions{})
	return s, s.Begin(t.Context(), esmodeltest.Run())
}

// finish sends intervals and ends the ingest.
func finish(ctx context.Context, s *Sink, run *pipeline.Run, intervals []*pipeline.Interval) error {
	for _, q := range intervals {
		if err := s.Interval(ctx, q); err != nil {
			return s.Close(ctx, err)
		}
	}
	return s.Close(ctx, s.End(ctx, esmodeltest.Summary(run, intervals)))
}

// ownerIn is the mark on the document of the only run, nil without one.
func ownerIn(t *testing.T, s *esmodeltest.Server) *esmodel.Owner {
	t.Helper()
	docs := s.Docs("fio-run")
	if len(docs) != 1 {
		t.Fatalf("%d documents of runs", len(docs))
	}
	var doc struct {
		Owner *esmodel.Owner
	}
	if err := json.Unmarshal(docs[0].Source, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Owner
}

// delayed holds up a request that matches, the first time, until act has returned.
type delayed struct {
	http.RoundTripper
	match func(*http.Request) bool
	act   func()
	acted atomic.Bool
}

func (d *delayed) RoundTrip(r *http.Request) (*http.Response, error) {
	if d.match(r) && d.acted.CompareAndSwap(false, true) {
		d.act()
	}
	return d.RoundTripper.RoundTrip(r)
}

// bulkOf reports whether a request sends documents to indices of a kind, and leaves its body as it was.
func bulkOf(r *http.Request, kind string) bool {
	if !strings.HasSuffix(r.URL.Path, "/_bulk") {
		return false
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	return err == nil && strings.Contains(string(body), `"_index":"fio-`+kind)
}

// otherSettings is the run of esmodeltest with other settings: its nine intervals are six longer ones.
func otherSettings() (*pipeline.Run, []*pipeline.Interval) {
	run := esmodeltest.Run()
	run.Generation = "other"
	return run, esmodeltest.Intervals(run, 6)
}

// Two processes ingest one run at once. Whoever began last has it, whatever the other one sends and whenever; the other
// one says so, and what it sent is gone. With the same settings both are right.
func TestTwoAtOnce(t *testing.T) {
	for _, same := range []bool{true, false} {
		for _, sent := range []int{0, 1, 4, 9} { // intervals of the first before the second
			for _, late := range []bool{true, false} { // the first is the last to end
				t.Run(fmt.Sprintf("same=%v,sent=%d,late=%v", same, sent, late), func(t *testing.T) {
					s, c := standIn(t)
					run := esmodeltest.Run()
					intervals := esmodeltest.Intervals(run, 9)
					first, err := begin(t, c, BulkConfig{FlushBytes: 1})
					for i := 0; err == nil && i < sent; i++ {
						err = first.Interval(t.Context(), intervals[i])
					}
					if err != nil {
						t.Fatal(err)
					}
					other, theirs := otherSettings()
					if same {
						other, theirs = esmodeltest.Run(), intervals
					}
					w, err := NewBulkWriter(c, BulkConfig{})
					if err != nil {
						t.Fatal(err)
					}
					second := NewSink(w, SinkOptions{})
					if err = second.Begin(t.Context(), other); err != nil {
						t.Fatal(err)
					}
					end := []func() error{
						func() error { return finish(t.Context(), second, other, theirs) },
						func() error { return finish(t.Context(), first, run, intervals[sent:]) },
					}
					var errs [2]error
					for i := range end {
						if !late {
							i = 1 - i
						}
						errs[i] = end[i]()
					}
					if errs[0] != nil {
						t.Errorf("the second: %v", errs[0])
					}
					if !errors.As(errs[1], new(*indices.MarkError)) && !(same && errs[1] == nil) {
						t.Errorf("the first: %v", errs[1])
					}
					alone, c2 := standIn(t)
					if _, err := ingestRun(t.Context(), c2, BulkConfig{}, other, theirs); err != nil {
						t.Fatal(err)
					}
					esmodeltest.EqualContents(t, esmodeltest.Contents(s), esmodeltest.Contents(alone))
				})
			}
		}
	}
}

// What cannot be read again stays while the process that has the run is not complete, and not beside a complete one.
func TestReadOnceStays(t *testing.T) {
	for _, late := range []bool{false, true} { // it ends after the other
		s, c := standIn(t)
		w, err := NewBulkWriter(c, BulkConfig{})
		if err != nil {
			t.Fatal(err)
		}
		run := esmodeltest.Run()
		run.Live = true
		first := NewSink(w, SinkOptions{})
		if err = first.Begin(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		other, theirs := otherSettings()
		w, err = NewBulkWriter(c, BulkConfig{})
		if err != nil {
			t.Fatal(err)
		}
		second := NewSink(w, SinkOptions{})
		if err = second.Begin(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		own := func() int { return len(s.Docs("fio-histogram-*")) }
		if late {
			err = finish(t.Context(), second, other, theirs)
		}
		before := own()
		lost := finish(t.Context(), first, run, esmodeltest.Intervals(run, 9))
		if kept := own() > before; kept == late || strings.Contains(fmt.Sprint(lost), "another --run-id") != kept ||
			!errors.As(lost, new(*indices.MarkError)) {
			t.Errorf("late=%v: %d documents, then %d: %v", late, before, own(), lost)
		}
		if !late {
			err = finish(t.Context(), second, other, theirs)
		}
		alone, c2 := standIn(t)
		if _, bad := ingestRun(t.Context(), c2, BulkConfig{}, other, theirs); err != nil || bad != nil {
			t.Fatal(err, bad)
		}
		if want := len(alone.Docs("fio-histogram-*")); own() != want {
			t.Errorf("late=%v: %d documents remain, want %d", late, own(), want)
		}
	}
}

// A request of the first that was held up on its way, and arrives when the second has ended, is withdrawn by it, even
// if it fails for another reason.
func TestLateRequests(t *testing.T) {
	dir := t.TempDir()
	if _, err := dirRun(t, dir, esmodeltest.Run().ID, "", "loaded", 9, nil); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	for _, test := range []struct {
		name string
		send func(ctx context.Context, c *client.Client, run *pipeline.Run) error
	}{
		{"ingest", func(ctx context.Context, c *client.Client, run *pipeline.Run) error {
			_, err := ingestRun(ctx, c, BulkConfig{}, run, esmodeltest.Intervals(run, 9))
			return err
		}},
		{"ingest that fails", func(ctx context.Context, c *client.Client, run *pipeline.Run) error {
			w, err := NewBulkWriter(c, BulkConfig{})
			if err != nil {
				return err
			}
			sink := NewSink(w, SinkOptions{})
			err = sink.Begin(ctx, run)
			for _, q := range esmodeltest.Intervals(run, 9) {
				if err == nil {
					err = sink.Interval(ctx, q)
				}
			}
			if err = sink.Close(ctx, cmp.Or(err, broken)); !errors.Is(err, broken) {
				t.Error(err)
			}
			return err
		}},
		{"load", func(ctx context.Context, c *client.Client, _ *pipeline.Run) error {
			_, err := Load(ctx, c, []string{dir}, LoadOptions{})
			return err
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
			held := &delayed{RoundTripper: http.DefaultTransport,
				match: func(r *http.Request) bool { return bulkOf(r, "histogram") }}
			slow := testClient(t, client.Config{Addresses: []string{s.URL}, Transport: held})
			c := testClient(t, client.Config{Addresses: []string{s.URL}})
			other, theirs := otherSettings()
			held.act = func() {
				if _, err := ingestRun(t.Context(), c, BulkConfig{}, other, theirs); err != nil {
					t.Error(err)
				}
			}
			err := test.send(t.Context(), slow, esmodeltest.Run())
			if !held.acted.Load() || !errors.As(err, new(*indices.MarkError)) {
				t.Errorf("%v", err)
			}
			alone, c2 := standIn(t)
			if _, err := ingestRun(t.Context(), c2, BulkConfig{}, other, theirs); err != nil {
				t.Fatal(err)
			}
			esmodeltest.EqualContents(t, esmodeltest.Contents(s), esmodeltest.Contents(alone))
		})
	}
}

func TestMarkLosesReplies(t *testing.T) {
	timeless(t, func(t *testing.T, s *esmodeltest.Server, c *client.Client) {
		lost := 0
		s.Inject(esmodeltest.Fault{Times: -1, Reply: func(body []byte) []byte {
			if lost++; strings.Contains(string(body), `"_index":"fio-run"`) && lost%2 == 1 {
				return body[:len(body)/2]
			}
			return body
		}})
		sink, err := begin(t, c, BulkConfig{})
		if err != nil {
			t.Fatal(err)
		}
		run := esmodeltest.Run()
		if err := finish(t.Context(), sink, run, esmodeltest.Intervals(run, 9)); err != nil {
			t.Fatal(err)
		}
		if lost < 3 {
			t.Errorf("%d bulk requests", lost)
		}
		esmodeltest.EqualContents(t, esmodeltest.Contents(s), undisturbed(t, 9))
	})
}

// Interrupted while its mark is stored and not yet answered: the mark is removed.
func TestMarkIsInterrupted(t *testing.T) {
	s, c := standIn(t)
	run := esmodeltest.Run()
	ctx, cancel := context.WithCancel(t.Context())
	s.Inject(esmodeltest.Fault{Times: -1, Reply: func(reply []byte) []byte {
		if ctx.Err() == nil && ownerIn(t, s) != nil {
			cancel()
			time.Sleep(100 * time.Millisecond)
		}
		return reply
	}})
	if _, err := ingestRun(ctx, c, BulkConfig{SpoolDir: t.TempDir()}, run, esmodeltest.Intervals(run, 9)); err == nil {
		t.Fatal("not interrupted")
	}
	if docs := s.Docs("*"); len(docs) != 0 {
		t.Errorf("left: %s", docs[0].Source)
	}
}

// What the server refuses, or a signal ends, leaves no mark behind.
func TestMarkIsRemoved(t *testing.T) {
	stop := errors.New("stop")
	for name, tt := range map[string]struct {
		fault *esmodeltest.Fault
		err   error
	}{
		"interrupted": {nil, stop},
		"refused": {&esmodeltest.Fault{Times: -1, Item: func(index, _ string) (int, string, string) {
			if strings.Contains(index, "histogram") {
				return 400, "x", "y"
			}
			return 0, "", ""
		}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			timeless(t, func(t *testing.T, s *esmodeltest.Server, c *client.Client) {
				run, intervals := esmodeltest.Run(), esmodeltest.Intervals(esmodeltest.Run(), 9)
				sink, err := begin(t, c, BulkConfig{SpoolDir: t.TempDir()})
				if err != nil {
					t.Fatal(err)
				}
				if tt.fault != nil {
					s.Inject(*tt.fault)
				}
				if tt.err != nil {
					err = sink.Close(t.Context(), tt.err)
				} else {
					err = finish(t.Context(), sink, run, intervals)
				}
				if err == nil || runStatus(t, s) != "partial" || ownerIn(t, s) != nil {
					t.Fatalf("%v: %s, marked by %v", err, runStatus(t, s), ownerIn(t, s))
				}
				s.Heal()
				began := time.Now()
				if sink, err = begin(t, c, BulkConfig{}); err == nil {
					err = finish(t.Context(), sink, run, intervals)
				}
				if err != nil || time.Since(began) > time.Second {
					t.Errorf("again: %v after %v", err, time.Since(began))
				}
				esmodeltest.EqualContents(t, esmodeltest.Contents(s), undisturbed(t, 9))
			})
		})
	}
}

// A rollup of a run that was stored again since it was read leaves it as it was.
func TestRollUpOfAChangedRun(t *testing.T) {
	s, c := standIn(t)
	run := esmodeltest.Run()
	if _, err := ingestRun(t.Context(), c, BulkConfig{}, run, esmodeltest.Intervals(run, 9)); err != nil {
		t.Fatal(err)
	}
	before := esmodeltest.Contents(s)
	w, err := NewBulkWriter(c, BulkConfig{})
	if err != nil {
		t.Fatal(err)
	}
	coarser := esmodeltest.Run()
	coarser.Generation = "coarser"
	sink := NewSink(w, SinkOptions{Read: &esmodel.State{Generation: "read before"}, RollUp: true})
	if err = sink.Close(t.Context(), sink.Begin(t.Context(), coarser)); err == nil {
		t.Error("no error")
	}
	esmodeltest.EqualContents(t, esmodeltest.Contents(s), before)
}
