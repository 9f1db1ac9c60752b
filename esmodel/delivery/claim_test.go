package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/claim"
	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
	"fiolat/esmodel/indices"
	"fiolat/pipeline"
)

var times = claim.TimesOf(client.DefaultRenew)

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

// finishes has the sink end the run, and compares what is there with an undisturbed ingest's.
func finishes(t *testing.T, s *esmodeltest.Server, sink *Sink) {
	t.Helper()
	run := esmodeltest.Run()
	if err := finish(t.Context(), sink, run, esmodeltest.Quanta(run, 9)); err != nil {
		t.Fatal(err)
	}
	esmodeltest.EqualContents(t, esmodeltest.Contents(s), undisturbed(t, 9))
}

// finish sends quanta and ends the ingest.
func finish(ctx context.Context, s *Sink, run *pipeline.Run, quanta []*pipeline.Quantum) error {
	for _, q := range quanta {
		if err := s.Quantum(ctx, q); err != nil {
			return s.Close(ctx, err)
		}
	}
	return s.Close(ctx, s.End(ctx, esmodeltest.Summary(run, quanta)))
}

// claimIn is the claim in the document of the only run, nil without one.
func claimIn(t *testing.T, s *esmodeltest.Server) *esmodel.ClaimField {
	t.Helper()
	docs := s.Docs("fio-run")
	if len(docs) != 1 {
		t.Fatalf("%d documents of runs", len(docs))
	}
	var doc struct {
		Claim *esmodel.ClaimField `json:"claim"`
	}
	if err := json.Unmarshal(docs[0].Source, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Claim
}

// claimBy stores a document of testRun that somebody has claimed.
func claimBy(t *testing.T, c *client.Client, owner esmodel.Owner, renewed int64) {
	t.Helper()
	run := esmodeltest.Run()
	if _, err := indices.EnsureTemplates(t.Context(), c, esmodel.DefaultPrefix); err != nil {
		t.Fatal(err)
	}
	doc, err := esmodel.NewEncoder(esmodel.DefaultPrefix, run).AppendRun(nil, esmodel.StatusRunning, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	doc = esmodel.WithClaim(doc, &esmodel.ClaimField{Owner: owner, Renewed: renewed})
	err = c.Call(
		t.Context(),
		client.Request{
			Method: http.MethodPut,
			Path:   "/fio-run/_doc" + client.Path(esmodel.RunDocID(run.ID, "", "clat")),
			Body:   doc,
		},
		nil,
	)
	if err != nil {
		t.Fatal(err)
	}
}

// elsewhere is a process of which nothing can be known here.
var elsewhere = esmodel.Owner{ID: "theirs", Host: "far.example", PID: 4711, Boot: "b", Namespace: "n", Started: "1"}

func wantClaimed(t *testing.T, err error, lost bool, words ...string) {
	t.Helper()
	var claimed *claim.Error
	if !errors.As(err, &claimed) || claimed.Lost != lost {
		t.Fatalf("want a claim error, lost %v; got %v", lost, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

// While an ingest lives, however slow its input, nobody else gets its run, and who
// tries learns whose it is as soon as that one shows life.
func TestClaimIsRenewed(t *testing.T) {
	for name, act := range map[string]func(*Sink, []*pipeline.Quantum, *testing.T){
		"renewed": func(*Sink, []*pipeline.Quantum, *testing.T) {},
		"released": func(s *Sink, quanta []*pipeline.Quantum, t *testing.T) {
			time.AfterFunc(3*time.Second, func() {
				if err := finish(t.Context(), s, esmodeltest.Run(), quanta); err != nil {
					t.Error(err)
				}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			timeless(t, func(t *testing.T, s *esmodeltest.Server, c *client.Client) {
				quanta := esmodeltest.Quanta(esmodeltest.Run(), 9)
				first, err := begin(t, c, BulkConfig{})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(35 * time.Second)
				synctest.Wait()
				if k := claimIn(t, s); k == nil || k.Renewed != 3 || k.PID != os.Getpid() {
					t.Fatalf("after 35 s the claim is %+v", k)
				}
				act(first, quanta, t)
				began := time.Now()
				second, err := begin(t, c, BulkConfig{})
				wantClaimed(t, second.Close(t.Context(), err), false, `run "r/1"`, "process", "--take-over")
				if took := time.Since(began); took > times.Renew+2*times.Poll {
					t.Errorf("it was told after %v", took)
				}
				if name == "renewed" {
					if err := finish(t.Context(), first, esmodeltest.Run(), quanta); err != nil {
						t.Fatal(err)
					}
				}
				if got := runStatus(t, s); got != "complete" || claimIn(t, s) != nil {
					t.Errorf("in the end %s, claim %v", got, claimIn(t, s))
				}
				esmodeltest.EqualContents(t, esmodeltest.Contents(s), undisturbed(t, 9))
			})
		})
	}
}

// measured adds up the bytes of requests.
type measured struct {
	http.RoundTripper
	bytes *int64
}

func (m measured) RoundTrip(r *http.Request) (*http.Response, error) {
	*m.bytes += max(r.ContentLength, 0)
	return m.RoundTripper.RoundTrip(r)
}

// However large the document of a run is, little is sent to renew the claim in it, and it stays as it was. Once
// something else may have been stored, all of it is sent, one time.
func TestRenewalsAreSmall(t *testing.T) {
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true, Lifecycle: true})
	synctest.Test(t, func(t *testing.T) {
		var sent int64
		c := testClient(t, client.Config{Addresses: []string{s.URL},
			Transport: measured{inProcess{s.Config.Handler}, &sent}})
		large := fmt.Appendf(nil, `{"files":%q,"run":{"id":"r/1"}}`, strings.Repeat("x", 1<<20))
		k := claim.New(c, "fio", "r/1", "", "clat", func([]byte) []byte { return large })
		if err := k.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		renew := func(n int64) int64 {
			sent = 0
			before := claimIn(t, s).Renewed
			time.Sleep(time.Duration(n) * times.Renew)
			synctest.Wait()
			if got := claimIn(t, s); got.Renewed != before+n || got.PID != os.Getpid() {
				t.Fatalf("renewed %d times, want %d more than %d, by process %d", got.Renewed, n, before, got.PID)
			}
			if got := len(s.Docs("fio-run")[0].Source); got < len(large) {
				t.Fatalf("of %d bytes %d are left", len(large), got)
			}
			return sent / n
		}
		if got := renew(6); got > 500 {
			t.Errorf("a renewal sends %d bytes", got)
		}
		whole := func(r *http.Request) bool { return r.ContentLength > 1<<20 }
		s.Inject(esmodeltest.Fault{LoseReply: true, Match: whole})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		if err := k.Replace(ctx, append([]byte(`{"other":1,`), large[1:]...)); err == nil {
			t.Error("no error")
		}
		time.Sleep(times.Renew) // in which it finds out
		if got := renew(1); got < 1<<20 {
			t.Errorf("%d bytes are sent after something else may have been stored", got)
		}
		if got := renew(6); got > 500 {
			t.Errorf("a renewal sends %d bytes after that", got)
		}
		if !strings.HasPrefix(string(s.Docs("fio-run")[0].Source), `{"claim":{`) { // as the stand-in merges
			t.Error("nothing was merged")
		}
		if err := k.ReleaseRetrying(t.Context(), large); err != nil {
			t.Fatal(err)
		}
		k.End()
		if got := s.Docs("fio-run")[0].Source; string(got) != string(large) {
			t.Errorf("in the end %.100s", got)
		}
	})
}

// Of two that find no document of the run, one has it: the other's claim would be written over it.
func TestClaimTwoAtOnce(t *testing.T) {
	timeless(t, func(t *testing.T, s *esmodeltest.Server, c *client.Client) {
		var first *Sink
		s.Inject(esmodeltest.Fault{Match: func(r *http.Request) bool {
			return r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/fio-run/_doc/")
		}, Reply: func(reply []byte) []byte {
			var err error
			if first, err = begin(t, c, BulkConfig{}); err != nil {
				t.Error(err)
			}
			return reply // that there is none
		}})
		second, err := begin(t, c, BulkConfig{})
		wantClaimed(t, second.Close(t.Context(), err), false, `run "r/1"`)
		finishes(t, s, first)
	})
}

// Whoever comes from elsewhere and does not renew for a minute by our clock is dead; its
// run is taken over then and not before. A server that is away meanwhile shows nothing.
func TestClaimOfTheDead(t *testing.T) {
	tests := []struct {
		name       string
		away       time.Duration // of the server, ten seconds into it
		least, max time.Duration
	}{
		{"watched", 0, times.Expiry, times.Expiry + 2*times.Poll},
		// The pause before the last attempt can be 1.5 times the longest of 15 s.
		{"not seen for a while", 30 * time.Second, times.Expiry + 40*time.Second, times.Expiry + 65*time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			timeless(t, func(t *testing.T, s *esmodeltest.Server, c *client.Client) {
				c.MaxWait = client.DefaultMaxWait
				claimBy(t, c, elsewhere, 3)
				if tt.away > 0 {
					time.AfterFunc(10*time.Second, func() {
						s.Inject(
							esmodeltest.Fault{
								Times:  -1,
								Status: 503,
								Match:  func(*http.Request) bool { return true },
							},
						)
						time.AfterFunc(tt.away, s.Heal)
					})
				}
				began := time.Now()
				sink, err := begin(t, c, BulkConfig{})
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took < tt.least || took > tt.max {
					t.Errorf("taken over after %v, want %v to %v", took, tt.least, tt.max)
				}
				finishes(t, s, sink)
			})
		})
	}
}

// A claim whose process ended on this very system, or that is to be taken over, is not
// waited for.
func TestClaimIsTakenAtOnce(t *testing.T) {
	dead := claim.NewOwner()
	dead.Started = "1" // of another process, that had this one's number before
	if !claim.Exited(&dead) {
		t.Skip("this system does not tell which processes are gone")
	}
	for name, tt := range map[string]struct {
		owner    esmodel.Owner
		takeOver bool
	}{"its process is gone": {dead, false}, "--take-over": {elsewhere, true}} {
		t.Run(name, func(t *testing.T) {
			timeless(t, func(t *testing.T, s *esmodeltest.Server, c *client.Client) {
				claimBy(t, c, tt.owner, 3)
				began := time.Now()
				sink, err := begin(t, c, BulkConfig{TakeOver: tt.takeOver})
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > 0 {
					t.Errorf("taken over after %v", took)
				}
				finishes(t, s, sink)
			})
		})
	}
}

// Whoever has lost its run sends nothing more, spools nothing, and fails; the run is the
// other one's.
func TestClaimIsLost(t *testing.T) {
	run := esmodeltest.Run()
	at := "/fio-run/_doc" + client.Path(esmodel.RunDocID(run.ID, "", "clat"))
	tests := []struct {
		name string
		lose func(*testing.T, *client.Client)
		want []string
	}{
		{
			"taken over",
			func(t *testing.T, c *client.Client) { claimBy(t, c, elsewhere, 0) },
			[]string{"far.example, process 4711", "has taken it over"},
		},
		{"replaced", func(t *testing.T, c *client.Client) {
			if err := c.Call(
				t.Context(),
				client.Request{Method: http.MethodPut, Path: at, Body: []byte(`{"run":{"id":"r/1"}}`)},
				nil,
			); err != nil {
				t.Fatal(err)
			}
		}, []string{"changed or deleted by something else"}},
	}
	for _, tt := range tests {
		for _, late := range []bool{false, true} {
			name := tt.name + ", found by a renewal"
			if late {
				name = tt.name + ", found at the end"
			}
			t.Run(name, func(t *testing.T) {
				timeless(t, func(t *testing.T, s *esmodeltest.Server, c *client.Client) {
					quanta := esmodeltest.Quanta(run, 9)
					dir := t.TempDir()
					sink, err := begin(t, c, BulkConfig{SpoolDir: dir})
					if err != nil {
						t.Fatal(err)
					}
					tt.lose(t, c)
					theirs := string(s.Docs("fio-run")[0].Source)
					if !late {
						time.Sleep(times.Renew + time.Second)
						synctest.Wait()
					}
					wantClaimed(t, finish(t.Context(), sink, run, quanta), true, tt.want...)
					if got := string(s.Docs("fio-run")[0].Source); got != theirs {
						t.Errorf("the other's document became %s", got)
					}
					if n := len(s.Docs("*")); !late && n != 1 {
						t.Errorf("%d documents were sent all the same", n-1)
					}
					if left, _ := os.ReadDir(dir); len(left) > 0 {
						t.Errorf("spooled: %v", left)
					}
					if n := sink.Report().Total(); n.Spooled > 0 || n.Made != n.Indexed+n.Lost {
						t.Errorf("%+v", n)
					}
				})
			})
		}
	}
}

// An owner that could not renew for half a minute sends nothing until it has.
func TestStaleClaimSendsNothing(t *testing.T) {
	timeless(t, func(t *testing.T, s *esmodeltest.Server, c *client.Client) {
		c.MaxWait = client.DefaultMaxWait
		quanta := esmodeltest.Quanta(esmodeltest.Run(), 9)
		sink, err := begin(t, c, BulkConfig{})
		if err != nil {
			t.Fatal(err)
		}
		s.Inject(esmodeltest.Fault{Times: -1, Item: func(index, _ string) (int, string, string) {
			if index == "fio-run" {
				return 503, "unavailable_shards_exception", "primary shard is not active"
			}
			return 0, "", ""
		}})
		send := func(q *pipeline.Quantum) {
			t.Helper()
			if err := errors.Join(sink.Quantum(t.Context(), q), sink.Push(t.Context())); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		time.Sleep(times.Stale - time.Second)
		send(quanta[0])
		before := len(s.Docs("*"))
		if before != 1+4+5 {
			t.Fatalf("%d documents while the claim was fresh", before)
		}
		time.Sleep(2 * time.Second)
		send(quanta[1])
		time.Sleep(20 * time.Second)
		if n := len(s.Docs("*")); n != before {
			t.Errorf("%d documents were sent under a stale claim", n-before)
		}
		s.Heal()
		if err := finish(t.Context(), sink, esmodeltest.Run(), quanta[2:]); err != nil {
			t.Fatal(err)
		}
		got, want := s.Docs("*"), undisturbed(t, 9)
		if len(got) != len(want) || runStatus(t, s) != "complete" {
			t.Errorf("%d documents, want %d; %s", len(got), len(want), runStatus(t, s))
		}
	})
}

// A reply that is lost, to the claim, a renewal or the end, changes nothing.
func TestClaimLosesReplies(t *testing.T) {
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
		time.Sleep(45 * time.Second)
		if err := finish(t.Context(), sink, esmodeltest.Run(), esmodeltest.Quanta(esmodeltest.Run(), 9)); err != nil {
			t.Fatal(err)
		}
		if lost < 8 {
			t.Errorf("%d bulk requests", lost)
		}
		esmodeltest.EqualContents(t, esmodeltest.Contents(s), undisturbed(t, 9))
	})
}

// Interrupted while its claim is stored and not yet answered: the claim is released.
func TestClaimIsInterrupted(t *testing.T) {
	s, c := standIn(t)
	run := esmodeltest.Run()
	ctx, cancel := context.WithCancel(t.Context())
	s.Inject(esmodeltest.Fault{Times: -1, Reply: func(reply []byte) []byte {
		if ctx.Err() == nil && claimIn(t, s) != nil {
			cancel()
			time.Sleep(100 * time.Millisecond)
		}
		return reply
	}})
	if _, err := ingestRun(ctx, c, BulkConfig{SpoolDir: t.TempDir()}, run, esmodeltest.Quanta(run, 9)); err == nil {
		t.Fatal("not interrupted")
	}
	if runStatus(t, s) != "partial" || claimIn(t, s) != nil {
		t.Errorf("the run is %s, claimed by %v", runStatus(t, s), claimIn(t, s))
	}
}

// What the server refuses, or a signal ends, leaves no claim behind.
func TestClaimIsReleased(t *testing.T) {
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
				run, quanta := esmodeltest.Run(), esmodeltest.Quanta(esmodeltest.Run(), 9)
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
					err = finish(t.Context(), sink, run, quanta)
				}
				if err == nil || runStatus(t, s) != "partial" || claimIn(t, s) != nil {
					t.Fatalf("%v: %s, claim %v", err, runStatus(t, s), claimIn(t, s))
				}
				s.Heal()
				began := time.Now()
				if sink, err = begin(t, c, BulkConfig{}); err == nil {
					err = finish(t.Context(), sink, run, quanta)
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
	if _, err := ingestRun(t.Context(), c, BulkConfig{}, run, esmodeltest.Quanta(run, 9)); err != nil {
		t.Fatal(err)
	}
	before := esmodeltest.Contents(s)
	w, err := NewBulkWriter(c, BulkConfig{})
	if err != nil {
		t.Fatal(err)
	}
	coarser := esmodeltest.Run()
	coarser.Generation = "coarser"
	sink := NewSink(w, SinkOptions{RollUp: "read before"})
	if err = sink.Close(t.Context(), sink.Begin(t.Context(), coarser)); err == nil {
		t.Error("no error")
	}
	esmodeltest.EqualContents(t, esmodeltest.Contents(s), before)
}
