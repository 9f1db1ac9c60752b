package stored

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/delivery"
	"fiolat/esmodel/delivery/deliverytest"
	"fiolat/esmodel/esmodeltest"
	"fiolat/internal/testkit"
	"fiolat/pipeline"
	"fiolat/pipeline/replay"
)

// between passes requests to a stand-in without a network, and numbers them from 1.
type between struct {
	s       *esmodeltest.Server
	before  func(n int, r *http.Request)
	faultAt int    // request with the fault; 0 is none
	fault   string // "busy" is a 503, "cut" a connection that breaks before the request is handled, "lost" after that

	mu sync.Mutex
	n  int
}

func (b *between) RoundTrip(r *http.Request) (res *http.Response, err error) {
	b.mu.Lock()
	b.n++
	n := b.n
	b.mu.Unlock()
	if b.before != nil {
		b.before(n, r)
	}
	fault := b.fault
	if n != b.faultAt {
		fault = ""
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	defer r.Body.Close()
	w := httptest.NewRecorder()
	switch fault {
	case "busy":
		w.WriteHeader(http.StatusServiceUnavailable)
		return w.Result(), nil
	case "cut":
		return nil, io.ErrUnexpectedEOF
	}
	b.s.Config.Handler.ServeHTTP(w, r)
	if fault == "lost" {
		return nil, io.ErrUnexpectedEOF
	}
	return w.Result(), nil
}

// runOf is a run, or a part of one, in a generation.
func runOf(part, generation string) (*pipeline.Run, []*pipeline.Interval) {
	run := esmodeltest.Run()
	run.ID, run.Part, run.Generation, run.Settings.Grid = "a", part, generation, "epoch"
	intervals := esmodeltest.Intervals(run, map[string]int{"g1": 5, "g2": 4}[generation])
	if part != "" { // a host of its own
		run.Logs = run.Logs[len(part)-1:][:1]
	}
	for _, q := range intervals {
		q.Leaves = slices.DeleteFunc(q.Leaves, func(l pipeline.Leaf) bool {
			return part != "" && l.Dims.Host != run.Logs[0].Host
		})
		q.Rows = slices.DeleteFunc(q.Rows, func(r pipeline.Row) bool {
			return part != "" && r.Dims.Host != run.Logs[0].Host
		})
		for i := range q.Leaves {
			q.Leaves[i].Members = []int{0}
		}
	}
	return run, intervals
}

// oneAtATime sends small requests, one after the other, so that their numbers mean the same in each trial.
var oneAtATime = delivery.BulkConfig{InFlight: 1, FlushBytes: 16 << 10}

func ingestOf(ctx context.Context, c *client.Client, part, generation string) error {
	run, intervals := runOf(part, generation)
	_, err := ingestRun(ctx, c, oneAtATime, run, intervals)
	return err
}

// into runs a replay into a server.
func into(ctx context.Context, c *client.Client, run *replay.Replay, r replay.Options, o delivery.SinkOptions) error {
	w, err := delivery.NewBulkWriter(c, oneAtATime)
	if err != nil {
		return err
	}
	sink := delivery.NewSink(w, o)
	_, err = run.Process(ctx, r, sink)
	return sink.Close(ctx, err)
}

// rollUp does what the command does with a run that is not merged.
func rollUp(ctx context.Context, c *client.Client) error {
	runs, err := Runs(ctx, c, "fio", "a")
	if err != nil || len(runs) != 1 {
		return errors.Join(err, errors.New("there is no run"))
	}
	read := runs[0].State()
	if read.Rolling == esmodel.RollUpCounted {
		return FinishRollUp(ctx, c, "fio", runs[0])
	}
	if runs[0].Status != esmodel.StatusComplete && read.Rolling == "" {
		return runs[0].Incomplete()
	}
	run := Part(c, "fio", runs[0])
	if err = run.RollUp(pipeline.Grain{Interval: 2e9}); err != nil {
		return err
	}
	return into(ctx, c, run, replay.Options{Workers: 1}, delivery.SinkOptions{Read: &read, RollUp: true})
}

// merge does what the command does.
func merge(ctx context.Context, c *client.Client) error {
	runs, err := Runs(ctx, c, "fio", "a")
	var parts []*esmodel.StoredRun
	var read esmodel.State
	for _, r := range runs {
		if r.Run.Part == "" {
			read = r.State()
		} else if parts = append(parts, r); r.Status != esmodel.StatusComplete || r.Owner != nil {
			return r.Incomplete()
		}
	}
	if err != nil {
		return err
	}
	run, err := Replay(c, "fio", parts)
	if err != nil {
		return err
	}
	return into(ctx, c, run, replay.Options{AcrossHosts: true, Workers: 1},
		delivery.SinkOptions{Read: &read, RowsOnly: true})
}

// did is a command beside which another process ingests the same run, or a part of it.
type did struct {
	name, part string
	prepare    func(t *testing.T, s *esmodeltest.Server) error
	do         func(ctx context.Context, c *client.Client) error
}

func connect(t *testing.T, b *between) *client.Client {
	return testClient(t, client.Config{Addresses: []string{b.s.URL}, Transport: b})
}

// prepared ingests parts in generations: "PART GENERATION".
func prepared(all ...string) func(*testing.T, *esmodeltest.Server) error {
	return func(t *testing.T, s *esmodeltest.Server) (err error) {
		c := connect(t, &between{s: s})
		for _, one := range all {
			part, generation, _ := strings.Cut(one, " ")
			err = errors.Join(err, ingestOf(t.Context(), c, part, generation))
		}
		return err
	}
}

// counted leaves a rollup that was interrupted when all was counted, and the finer documents were about to be deleted.
func counted(t *testing.T, s *esmodeltest.Server) error {
	if err := prepared(" g1")(t, s); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_ = rollUp(ctx, connect(t, &between{s: s, before: func(_ int, r *http.Request) {
		if body := bodyOf(r); bytes.Contains(body, []byte(`{"delete":`)) {
			cancel()
		}
	}}))
	runs, err := Runs(t.Context(), connect(t, &between{s: s}), "fio", "a")
	if err == nil && (len(runs) != 1 || runs[0].Rolling != esmodel.RollUpCounted) {
		err = errors.New("no rollup to be finished")
	}
	return err
}

// bodyOf reads the body of a request, and leaves it as it was.
func bodyOf(r *http.Request) []byte {
	if r.Body == nil {
		return nil
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

// commands are those that write or delete documents of a run that they have read, or of which others may be there.
func commands(t *testing.T) []did {
	dir := t.TempDir()
	w, err := delivery.NewDirWriter(dir, "fio")
	if err != nil {
		t.Fatal(err)
	}
	run, intervals := runOf("", "g1")
	if _, err = deliverytest.Into(t.Context(), w, delivery.SinkOptions{}, run, intervals); err != nil {
		t.Fatal(err)
	}
	load := func(ctx context.Context, c *client.Client) error {
		_, err := delivery.Load(ctx, c, []string{dir}, delivery.LoadOptions{Bulk: oneAtATime})
		return err
	}
	deleteIt := func(ctx context.Context, c *client.Client) error {
		_, err := DeleteRun(ctx, c, "fio", "a")
		return err
	}
	label := func(ctx context.Context, c *client.Client) error {
		_, err := Label(ctx, c, "fio", "a", Labels{Set: map[string]string{"x": "y"}})
		return err
	}
	ingest := func(ctx context.Context, c *client.Client) error { return ingestOf(ctx, c, "", "g1") }
	return []did{
		{"delete", "", prepared(" g1"), deleteIt},
		{"delete parts", "p", prepared("p g1", "pp g1"), deleteIt},
		{"rollup", "", prepared(" g1"), rollUp},
		{"finish a rollup", "", counted, rollUp},
		{"merge", "p", prepared("p g1", "pp g1"), merge},
		{"load", "", prepared(), load},
		{"load again", "", prepared(" g1"), load},
		{"commit", "", prepared(" g2"), ingest},
		{"label", "", prepared(" g1"), label},
	}
}

// contents are documents by id, and expected those that undisturbed commands leave of a run or part in a generation.
type (
	contents map[string]string
	expected map[string][]contents
)

// look returns the generations of complete runs and parts. bad says which of them have other documents than undisturbed
// ones; without want, they are noted in it.
func (want expected) look(t *testing.T, s *esmodeltest.Server, note bool) (complete map[esmodel.RunKey]string,
	bad []string,
) {
	t.Helper()
	complete = map[esmodel.RunKey]string{}
	docs := map[esmodel.RunKey]contents{}
	merged := map[esmodel.RunKey][]pipeline.Part{}
	for _, d := range s.Docs("*") {
		m, err := esmodel.ReadDocHeader(d.Source)
		if err != nil {
			t.Fatal(err)
		}
		switch key := m.Key(); {
		case d.Index != "fio-run":
			if docs[key] == nil {
				docs[key] = contents{}
			}
			docs[key][d.ID] = string(d.Source)
		case m.Run.Status == esmodel.StatusComplete:
			complete[key], merged[key] = m.Run.Generation, m.Parts
			if m.Owner != nil {
				bad = append(bad, fmt.Sprintf("%v is complete and marked", key))
			}
		}
	}
	for key, generation := range complete {
		name := fmt.Sprint(key, generation)
		if note {
			want[name] = append(want[name], docs[key])
		}
		if !slices.ContainsFunc(want[name], func(c contents) bool { return maps.Equal(c, docs[key]) }) {
			bad = append(bad, fmt.Sprintf("%v is complete in %s, and its %d documents are of no undisturbed command", key,
				generation, len(docs[key])))
		}
		for _, p := range merged[key] {
			if complete[esmodel.RunKey{Run: key.Run, Part: p.Name, Kind: key.Kind}] != p.Generation {
				bad = append(bad, fmt.Sprintf("%v is complete, and part %s is not that which was merged", key, p.Name))
			}
		}
	}
	return complete, bad
}

// marked reports whether a process has entered itself in the document of a run or part.
func marked(t *testing.T, s *esmodeltest.Server, part string) bool {
	for _, d := range s.Docs("fio-run") {
		m, err := esmodel.ReadDocHeader(d.Source)
		if err != nil {
			t.Error(err)
		} else if m.Run.Part == part && m.Owner != nil {
			return true
		}
	}
	return false
}

// trial is a command and a rival that begins before one of its requests.
type trial struct {
	did
	generation string // of the rival
	at         int    // the request
	whole      bool   // the rival ends before that request, too; else after the command
	faultAt    int
	fault      string
}

func (k *trial) run(t *testing.T, want expected) (bad []string) {
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	defer s.Close()
	if err := k.prepare(t, s); err != nil {
		t.Fatal(err)
	}
	late := false // the rival begins when the command has marked what it ingests
	var rival func() error
	b := &between{s: s, faultAt: k.faultAt, fault: k.fault, before: func(n int, _ *http.Request) {
		if n != k.at {
			return
		}
		late = marked(t, s, k.part)
		run, intervals := runOf(k.part, k.generation)
		w, err := delivery.NewBulkWriter(connect(t, &between{s: s}), oneAtATime)
		if err != nil {
			t.Error(err)
			return
		}
		sink := delivery.NewSink(w, delivery.SinkOptions{})
		err = sink.Begin(t.Context(), run)
		rival = sync.OnceValue(func() error {
			for _, q := range intervals {
				if err == nil {
					err = sink.Interval(t.Context(), q)
				}
			}
			if err == nil {
				err = sink.End(t.Context(), esmodeltest.Summary(run, intervals))
			}
			return sink.Close(t.Context(), err)
		})
		if k.whole {
			_ = rival()
		}
	}}
	mine := k.do(t.Context(), connect(t, b))
	if rival == nil { // the command made fewer requests than undisturbed
		return nil
	}
	others := rival()
	complete, bad := want.look(t, s, false)
	key := esmodel.RunKey{Run: "a", Part: k.part, Kind: "clat"}
	deleted := mine == nil && strings.HasPrefix(k.name, "delete") && len(s.Docs("*")) == 0
	switch is := complete[key]; {
	case others == nil && (mine != nil || late) && is != k.generation:
		bad = append(bad, fmt.Sprintf("the other one had it and ended well, and the run is complete in %q", is))
	case is == "" && !deleted && (mine == nil || others == nil || !late):
		bad = append(bad, "it is not complete")
	}
	if len(bad) > 0 {
		bad = append(bad, fmt.Sprintf("%+v: the command: %v; the other one: %v", *k, mine, others))
	}
	return bad
}

// Beside each command another process ingests the run, with the same or other settings: it begins before one request
// of the command, and ends at once or after it, and that request or one after it meets a temporary fault. A run that
// says complete has all of its documents and no others, and what one of them has completed is not undone by the other,
// unless that one has begun later.
func TestBetweenReadingAndDeleting(t *testing.T) {
	testkit.NotRaced(t)
	for i, k := range commands(t) {
		for _, generation := range []string{"g1", "g2"} {
			t.Run(k.name+" beside "+generation, func(t *testing.T) {
				t.Parallel()
				k := commands(t)[i] // with files of its own
				want, requests := expected{}, 0
				rival := func(ctx context.Context, c *client.Client) error {
					return ingestOf(ctx, c, k.part, generation)
				}
				for _, order := range [][]func(context.Context, *client.Client) error{
					{}, {k.do}, {rival}, {k.do, rival}, {rival, k.do}} {
					s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
					err := k.prepare(t, s)
					for _, f := range order {
						b := &between{s: s}
						err = errors.Join(err, f(t.Context(), connect(t, b)))
						if len(order) == 1 && requests == 0 {
							requests = b.n
						}
						want.look(t, s, true)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				rounds, step, n := 1, 1, 0
				if testkit.All() {
					rounds = 6
				} else if testing.Short() {
					step = 4
				}
				random := rand.New(rand.NewPCG(1, uint64(requests)))
				for round := range rounds {
					for faultAt := 1; faultAt <= requests; faultAt += step {
						one := trial{did: k, generation: generation, at: max(faultAt-random.IntN(5), 1),
							faultAt: faultAt, fault: []string{"busy", "cut", "lost"}[(faultAt+round)%3],
							whole: (faultAt+round/3)%2 == 0}
						if bad := one.run(t, want); bad != nil {
							t.Errorf("%s", strings.Join(bad, "\n"))
						}
						n++
					}
				}
				t.Logf("%d requests, %d trials", requests, n)
			})
		}
	}
}
