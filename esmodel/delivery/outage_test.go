package delivery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
)

// The server comes back, but not in time: all is spooled, the run says partial, and
// one load makes of it what an undisturbed ingest would have been.
func TestOutageIsSpooledAndLoaded(t *testing.T) {
	for _, tt := range []struct {
		name   string
		begins int // intervals before it goes away; -1: it was never there
	}{{"from the start", -1}, {"at once", 0}, {"in the middle", 10}, {"before the end", 20}} {
		t.Run(tt.name, func(t *testing.T) {
			esmodeltest.NoLeak(t)
			want := undisturbed(t, 20)
			s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
			c := testClient(t, client.Config{Addresses: []string{s.URL}, MaxWait: 300 * time.Millisecond})
			dir := filepath.Join(t.TempDir(), "out")
			run := esmodeltest.Run()
			intervals := esmodeltest.Intervals(run, 20)
			w, err := NewBulkWriter(c, BulkConfig{FlushBytes: 32 << 10, SpoolDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			sink := NewSink(w, SinkOptions{})
			away := esmodeltest.Fault{Times: -1, Reset: true, Match: func(*http.Request) bool { return true }}
			if tt.begins < 0 {
				s.Inject(away)
			}
			if err := sink.Begin(t.Context(), run); err != nil {
				t.Fatal(err)
			}
			for i, q := range intervals {
				if i == tt.begins {
					s.Inject(away)
				}
				if err := sink.Interval(t.Context(), q); err != nil {
					t.Fatal(err)
				}
			}
			s.Inject(away)
			err = sink.Close(t.Context(), sink.End(t.Context(), esmodeltest.Summary(run, intervals)))
			var incomplete *IncompleteError
			var unavailable *client.UnavailableError
			if !errors.As(err, &incomplete) || !errors.As(err, &unavailable) {
				t.Fatalf("error %v", err)
			}
			r := sink.Report()
			n := r.Total()
			if n.Made != int64(len(want)) || n.Indexed+n.Spooled != n.Made || n.Lost != 0 || n.Refused != 0 ||
				r.SpoolFile == "" {
				t.Errorf("%+v", n)
			}
			s.Heal()
			l, err := Load(t.Context(), c, []string{dir}, LoadOptions{})
			if err != nil || len(l.Complete) != 1 {
				t.Fatalf("%+v, %v", l, err)
			}
			esmodeltest.EqualContents(t, esmodeltest.Contents(s), want)
			c.Close()
			s.Close()
		})
	}
}

// A live run goes on over an outage that is longer than our patience: what comes
// while the server is away is spooled, what comes later is sent.
func TestOutageEndsAfterGivingUp(t *testing.T) {
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	var waits atomic.Int64
	c := testClient(
		t,
		client.Config{
			Addresses: []string{s.URL},
			MaxWait:   200 * time.Millisecond,
			OnWait:    func(client.Wait) { waits.Add(1) },
		},
	)
	w, err := NewBulkWriter(c, BulkConfig{NoTemplates: true, SpoolDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	add := func(id string) {
		t.Helper()
		if err := errors.Join(
			w.Add(t.Context(), "fio-event-2026.08", []byte(id), []byte("{}")),
			w.Flush(t.Context()),
		); err != nil {
			t.Fatal(err)
		}
	}
	add("before")
	s.Inject(esmodeltest.Fault{Times: -1, Status: 503})
	add("away")
	w.mu.Lock()
	w.probe = time.Now().Add(time.Hour)
	w.mu.Unlock()
	before := waits.Load()
	add("still away")
	if after := waits.Load(); before == 0 || after != before {
		t.Errorf("waited %d times, then %d times more", before, after-before)
	}
	s.Heal()
	w.mu.Lock()
	w.probe = time.Now()
	w.mu.Unlock()
	add("back")
	add("and on")
	if err := w.Close(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	wantCounts(t, w.Report(), Counts{Made: 5, Indexed: 3, Spooled: 2})
}

// Without a spool there is nowhere to go on to.
func TestOutageWithoutSpool(t *testing.T) {
	s := esmodeltest.New(t, esmodeltest.Options{})
	s.Inject(esmodeltest.Fault{Times: -1, Status: 503, Type: "x", Reason: "y"})
	c := testClient(t, client.Config{Addresses: []string{s.URL}, MaxWait: -1})
	w, err := NewBulkWriter(c, BulkConfig{NoTemplates: true})
	if err != nil {
		t.Fatal(err)
	}
	w.Add(t.Context(), "fio-event-2026.08", []byte("a"), []byte("{}"))
	var away *client.UnavailableError
	if err := w.Flush(t.Context()); !errors.As(err, &away) {
		t.Errorf("%v", err)
	}
	if err := w.Add(t.Context(), "fio-event-2026.08", []byte("b"), []byte("{}")); !errors.As(err, &away) {
		t.Errorf("%v", err)
	}
	w.Close(t.Context(), false)
	wantCounts(t, w.Report(), Counts{Made: 1, Lost: 1})
	if err := w.Add(t.Context(), "x", nil, nil); !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// Interrupted: the pipeline stops, and what is held is delivered or spooled, however
// dead the server is.
func TestInterruptDrains(t *testing.T) {
	for _, dead := range []bool{false, true} {
		t.Run(fmt.Sprintf("dead=%v", dead), func(t *testing.T) {
			esmodeltest.NoLeak(t)
			s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
			c := testClient(t, client.Config{Addresses: []string{s.URL}, MaxWait: time.Hour})
			run := esmodeltest.Run()
			w, err := NewBulkWriter(c, BulkConfig{FlushBytes: 16 << 10, SpoolDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			sink := NewSink(w, SinkOptions{})
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if err := sink.Begin(ctx, run); err != nil {
				t.Fatal(err)
			}
			if dead {
				s.Inject(esmodeltest.Fault{Times: -1, Reset: true})
			}
			stop := errors.New("interrupted by the user")
			intervals := esmodeltest.Intervals(run, 2000)
			for i, q := range intervals {
				if i == 3 { // it may wait for the server from some interval on
					time.AfterFunc(300*time.Millisecond, func() { cancel(stop) })
				}
				if i == len(intervals)/2 {
					cancel(stop)
				}
				if err = sink.Interval(ctx, q); err != nil {
					break
				}
			}
			if err == nil {
				err = sink.End(ctx, esmodeltest.Summary(run, intervals))
			}
			if err = sink.Close(ctx, err); !errors.Is(err, stop) { // the client itself has an hour
				t.Error(err)
			}
			r := sink.Report().Total()
			if r.Made == 0 || r.Made != r.Indexed+r.Spooled || dead != (r.Spooled > 0) {
				t.Errorf("%+v", r)
			}
			if !dead && runStatus(t, s) != "partial" {
				t.Errorf("status %s", runStatus(t, s))
			}
			c.Close()
			s.Close()
		})
	}
}

// The spool does not take more: what does not fit is lost by name, and no half
// document is left.
func TestSpoolThatCannotBeWritten(t *testing.T) {
	s := esmodeltest.New(t, esmodeltest.Options{})
	s.Inject(esmodeltest.Fault{Times: -1, Status: 503})
	c := testClient(t, client.Config{Addresses: []string{s.URL}, MaxWait: -1})
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := NewBulkWriter(c, BulkConfig{NoTemplates: true, SpoolDir: file})
	if err != nil {
		t.Fatal(err)
	}
	w.Add(t.Context(), "fio-event-2026.08", []byte("a"), []byte("{}"))
	if err := w.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be spooled") {
		t.Errorf("%v", err)
	}
	w.Close(t.Context(), false)
	wantCounts(t, w.Report(), Counts{Made: 1, Lost: 1})
}

// A disk without space for a single document: that is said also of an interrupted command, and no empty spool is left.
func TestSpoolOnAFullDisk(t *testing.T) {
	s := esmodeltest.New(t, esmodeltest.Options{})
	s.Inject(esmodeltest.Fault{Times: -1, Status: 503})
	dir := t.TempDir()
	w, err := NewBulkWriter(testClient(t, client.Config{Addresses: []string{s.URL}}),
		BulkConfig{NoTemplates: true, SpoolDir: dir})
	if err == nil {
		err = w.spool.create()
	}
	if err == nil {
		w.spool.f.Close()
		w.spool.f, err = os.OpenFile("/dev/full", os.O_WRONLY, 0)
	}
	if err != nil {
		t.Skip(err)
	}
	w.Add(t.Context(), "fio-event-2026.08", []byte("a"), []byte("{}"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.Close(ctx, false)
	r := w.Report()
	wantCounts(t, r, Counts{Made: 1, Lost: 1})
	if all := strings.Join(r.Warnings, "\n"); !strings.Contains(all, "no space left on device") {
		t.Errorf("warnings %q", all)
	}
	if left := list(t, dir); len(left) > 0 || r.SpoolFile != "" {
		t.Errorf("left: %q, %q", left, r.SpoolFile)
	}
}

// Whatever refuses whole requests for good, a proxy's path or its limit, leaves an account,
// a run that says partial as soon as that is known, and files that finish the run when
// the cause is mended.
func TestRequestsRefused(t *testing.T) {
	big := func(n int64) func(*http.Request) bool {
		return func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/_bulk") && r.ContentLength > n }
	}
	tests := []struct {
		name    string
		fault   esmodeltest.Fault
		spooled bool
		status  string
	}{
		{"404 for each bulk request", esmodeltest.Fault{Status: 404, Type: "Not Found"}, true, "running"},
		{"400 for each bulk request", esmodeltest.Fault{Status: 400, Type: "Bad Request"}, true, "running"},
		{"413 for single documents", esmodeltest.Fault{Status: 413, Match: big(2500)}, false, "partial"},
		{"413 for all but small ones", esmodeltest.Fault{Status: 413, Match: big(1300)}, false, "partial"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			timeless(t, func(t *testing.T, s *esmodeltest.Server, c *client.Client) {
				dir := t.TempDir()
				sink, err := begin(t, c, BulkConfig{SpoolDir: dir, GzipLevel: -1})
				if err != nil {
					t.Fatal(err)
				}
				tt.fault.Times = -1
				s.Inject(tt.fault)
				var incomplete *IncompleteError
				if err = finish(
					t.Context(),
					sink,
					esmodeltest.Run(),
					esmodeltest.Intervals(esmodeltest.Run(), 9),
				); !errors.As(err, &incomplete) {
					t.Fatal(err)
				}
				n := sink.Report().Total()
				if n.Made != n.Indexed+n.Refused+n.Spooled || tt.spooled != (n.Refused == 0) ||
					tt.spooled != (n.Spooled > 0) {
					t.Errorf("%+v", n)
				}
				if got := runStatus(t, s); got != tt.status {
					t.Errorf("the run is %s, want %s", got, tt.status)
				}
				s.Heal()
				if r, err := Load(t.Context(), c, []string{dir}, LoadOptions{}); err != nil || len(r.Complete) != 1 {
					t.Fatalf("%+v, %v", r, err)
				}
				esmodeltest.EqualContents(t, esmodeltest.Contents(s), undisturbed(t, 9))
			})
		})
	}
}
