package delivery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"

	"go.uber.org/goleak"

	"fiolat/esmodel/esmodeltest"
	"fiolat/internal/tempfile"
)

// Nothing here, however it ended, leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Of a request of which some documents are refused for now, only those are sent again.
func TestOnlyWhatFailedIsSentAgain(t *testing.T) {
	s, c := standIn(t)
	var failed []string
	s.Inject(esmodeltest.Fault{Item: func(_, id string) (int, string, string) {
		if strings.HasSuffix(id, "7") {
			failed = append(failed, id)
			return 429, "es_rejected_execution_exception", "queue capacity"
		}
		return 0, "", ""
	}})
	w, err := NewBulkWriter(c, BulkConfig{NoTemplates: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		w.Add(t.Context(), "fio-event-2026.08", fmt.Appendf(nil, "%02d", i), []byte("{}"))
	}
	if err := w.Close(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	r := w.Report()
	wantCounts(t, r, Counts{Made: 100, Indexed: 100})
	if len(failed) != 10 || r.Retried != 10 || r.Requests != 2 {
		t.Errorf("%d failed, %d sent again in %d requests", len(failed), r.Retried, r.Requests)
	}
	for _, d := range s.Docs("*") {
		if d.Writes != 1 {
			t.Errorf("%s was stored %d times", d.ID, d.Writes)
		}
	}
}

// However long the server is away, the writer holds no more documents than it says;
// the others are spooled.
func TestHeldDocumentsAreBounded(t *testing.T) {
	s := esmodeltest.New(t, esmodeltest.Options{})
	c := testClient(t, client.Config{Addresses: []string{s.URL}, MaxWait: 100 * time.Millisecond})
	s.Inject(esmodeltest.Fault{Times: -1, Status: 429})
	cfg := BulkConfig{NoTemplates: true, FlushBytes: 64 << 10, InFlight: 3, SpoolDir: t.TempDir()}
	w, err := NewBulkWriter(c, cfg)
	if err != nil {
		t.Fatal(err)
	}
	doc := fmt.Appendf(nil, `{"x":%q}`, strings.Repeat("y", 1000))
	const n = 20000
	for i := range n {
		if err := w.Add(t.Context(), "fio-event-2026.08", fmt.Appendf(nil, "%06d", i), doc); err != nil {
			t.Fatal(err)
		}
		r := w.Report().Total()
		if held := r.Bytes / r.Made * (r.Made - r.Spooled); held > int64((cfg.InFlight+1)*cfg.FlushBytes) {
			t.Fatalf("%d bytes of documents are held", held)
		}
	}
	if err := w.Close(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	wantCounts(t, w.Report(), Counts{Made: n, Spooled: n})
	if lines := strings.Count(mustRead(t, w.Report().SpoolFile), "\n"); lines != 2*n {
		t.Errorf("%d lines in the spool", lines)
	}
}

// An index that takes no writes for longer than we wait: the run says that it is
// partial, for its own index does, and a load finishes it.
func TestBlockedIndexLeavesThePartialRun(t *testing.T) {
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	c := testClient(t, client.Config{Addresses: []string{s.URL}, MaxWait: 100 * time.Millisecond})
	run := esmodeltest.Run()
	s.Inject(esmodeltest.Fault{Times: -1, Item: func(index, _ string) (int, string, string) {
		if strings.Contains(index, "percentiles-2026.09") {
			return 403, "cluster_block_exception", "index [x] blocked by: [FORBIDDEN/8/index write (api)]"
		}
		return 0, "", ""
	}})
	dir := t.TempDir()
	_, err := ingestRun(
		t.Context(),
		c,
		BulkConfig{SpoolDir: dir, FlushBytes: 32 << 10},
		run,
		esmodeltest.Intervals(run, 20),
	)
	var incomplete *IncompleteError
	if !errors.As(err, &incomplete) || runStatus(t, s) != "partial" {
		t.Fatalf("status %s, %v", runStatus(t, s), err)
	}
	s.Heal()
	if r, err := Load(t.Context(), c, []string{dir}, LoadOptions{}); err != nil || len(r.Complete) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	esmodeltest.EqualContents(t, esmodeltest.Contents(s), undisturbed(t, 20))
}

// Requests that hang do not keep the run's document from saying that it is partial.
func TestInterruptedRunIsPartialWhileRequestsHang(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	c := testClient(t, client.Config{Addresses: []string{s.URL}, MaxWait: time.Hour})
	run := esmodeltest.Run()
	w, err := NewBulkWriter(c, BulkConfig{SpoolDir: t.TempDir(), FlushBytes: 32 << 10, GzipLevel: -1})
	if err != nil {
		t.Fatal(err)
	}
	sink := NewSink(w, SinkOptions{})
	if err := sink.Begin(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	s.Inject(
		esmodeltest.Fault{
			Times: -1,
			Delay: 8 * time.Second,
			Match: func(r *http.Request) bool { return r.ContentLength > 20<<10 },
		},
	)
	for _, q := range esmodeltest.Intervals(run, 20)[:10] {
		if err := sink.Interval(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	stop := errors.New("stop")
	ctx, interrupt := context.WithCancelCause(t.Context())
	interrupt(stop)
	if err := sink.Close(ctx, stop); !errors.Is(err, stop) {
		t.Error(err)
	}
	if got := runStatus(t, s); got != "partial" {
		t.Errorf("status %s", got)
	}
	if n := sink.Report().Total(); n.Spooled == 0 || n.Made != n.Indexed+n.Spooled {
		t.Errorf("%+v", n)
	}
}

// A spool goes when all of it has arrived, and not before.
func TestLoadRemovesWhatArrived(t *testing.T) {
	whole := eventLine + "a\"}}\n{}\n" + eventLine + "b\"}}\n{}\n"
	refuse := esmodeltest.Fault{Item: func(_, id string) (int, string, string) {
		if id == "b" {
			return 400, "x", "y"
		}
		return 0, "", ""
	}}
	tests := []struct {
		name, text string
		fault      esmodeltest.Fault
		locked     bool
		stays      bool
	}{
		{name: "all arrived", text: whole, fault: esmodeltest.Fault{Status: 503}},
		{name: "one refused again", text: whole, fault: refuse, stays: true},
		{name: "server away", text: whole, fault: esmodeltest.Fault{Times: -1, Reset: true}, stays: true},
		{name: "torn", text: whole[:len(whole)-2], stays: true},
		{name: "bad line", text: whole + "x\n", stays: true},
		{name: "its writer lives", text: whole, locked: true, stays: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, c := standIn(t)
			c.MaxWait = 300 * time.Millisecond
			s.Inject(tt.fault)
			dir := t.TempDir()
			spool, other := filepath.Join(dir, "fio-spool.r.ndjson"), filepath.Join(dir, "fio-event-2026.08.r.ndjson")
			if err := errors.Join(
				os.WriteFile(spool, []byte(tt.text), 0o600),
				os.WriteFile(other, []byte(whole), 0o600),
			); err != nil {
				t.Fatal(err)
			}
			if tt.locked {
				f, err := os.Open(spool)
				if err == nil {
					err = tempfile.Lock(f)
				}
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
			}
			r, err := Load(t.Context(), c, []string{dir}, LoadOptions{})
			var busy *busyError
			if tt.stays != (err != nil) || tt.locked != errors.As(err, &busy) {
				t.Errorf("%v", err)
			}
			if _, err := os.Stat(spool); tt.stays != (err == nil) || tt.stays != (len(r.Removed) == 0) {
				t.Errorf("%v, removed %q", err, r.Removed)
			}
			if _, err := os.Stat(other); err != nil {
				t.Error(err)
			}
		})
	}
}

// A run that is complete removes the spools of dead attempts, and leaves that of
// one which is still at work to it.
func TestSpoolOfTheLivingStays(t *testing.T) {
	s, c := standIn(t)
	c.MaxWait = -1
	dir := t.TempDir()
	run := esmodeltest.Run()
	dead := filepath.Join(dir, "fio-spool"+fileSuffix(run)+esmodel.FileExt)
	if err := os.WriteFile(dead, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := NewBulkWriter(c, BulkConfig{SpoolDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Open(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if err := w.Spool("fio-event-2026.08", "a", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, err := ingestRun(t.Context(), c, BulkConfig{SpoolDir: dir}, run, esmodeltest.Intervals(run, 3)); err != nil {
		t.Fatal(err)
	}
	live := w.Report().SpoolFile
	if left, _ := os.ReadDir(dir); len(left) != 1 || filepath.Join(dir, left[0].Name()) != live {
		t.Errorf("left: %v, want %s", left, live)
	}
	if err := w.Close(context.WithoutCancel(t.Context()), false); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(t.Context(), c, []string{live}, LoadOptions{}); err != nil || len(s.Docs("fio-event-*")) != 1 {
		t.Error(err)
	}
}
