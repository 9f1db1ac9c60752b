package delivery

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
)

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

// A request of a process whose run was taken over meanwhile, and finished with other settings, changes nothing,
// wherever it was held up; and that process says so.
func TestLateRequests(t *testing.T) {
	for name, match := range map[string]func(*http.Request) bool{
		"prepares an index": func(r *http.Request) bool {
			return strings.Contains(r.URL.Path, "/fio-percentiles-2") && strings.HasSuffix(r.URL.Path, "/_field_caps")
		},
		"sends documents": func(r *http.Request) bool { return bulkOf(r, "percentiles") },
		"refreshes":       func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/_refresh") },
		"counts":          func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/_count") },
		"ends the run":    func(r *http.Request) bool { return r.ContentLength > 3000 && bulkOf(r, "run") },
	} {
		for way, takeOver := range map[string]bool{"": false, ", --take-over": true, ", fewer quanta": true} {
			t.Run(name+way, func(t *testing.T) {
				quanta := 9
				if way == ", fewer quanta" {
					quanta = 5
				}
				s := esmodeltest.New(t, esmodeltest.Options{Histogram: true, Lifecycle: true})
				synctest.Test(t, func(t *testing.T) {
					plain := inProcess{s.Config.Handler}
					var theirs map[string]string
					late := &delayed{RoundTripper: plain, match: match, act: func() {
						other := esmodeltest.Run()
						other.Generation = "theirs"
						c := testClient(t, client.Config{Addresses: []string{s.URL}, Transport: plain})
						if !takeOver {
							// As if the process had been stopped: its claim is not renewed any more.
							s.Inject(esmodeltest.Fault{Times: -1, Match: func(r *http.Request) bool {
								return r.Header.Get("X-Late") != ""
							}, Status: 503})
						}
						if _, err := ingestRun(t.Context(), c, BulkConfig{TakeOver: takeOver}, other,
							esmodeltest.Quanta(other, quanta)); err != nil {
							t.Error(err)
						}
						theirs = esmodeltest.Contents(s)
						s.Heal()
					}}
					c := testClient(t, client.Config{Addresses: []string{s.URL}, Transport: marked{late}})
					c.MaxWait = client.DefaultMaxWait
					run := esmodeltest.Run()
					_, err := ingestRun(t.Context(), c, BulkConfig{}, run, esmodeltest.Quanta(run, 9))
					wantClaimed(t, err, true)
					if theirs == nil {
						t.Fatal("nothing was held up")
					}
					esmodeltest.EqualContents(t, esmodeltest.Contents(s), theirs)
				})
			})
		}
	}
}

// A process that learns that it lost its run while a request is held up waits for that request.
func TestLateRequestsAreWaitedFor(t *testing.T) {
	dir := t.TempDir()
	run := esmodeltest.Run()
	out, err := NewDirWriter(dir, "fio")
	if err != nil {
		t.Fatal(err)
	}
	sink := NewSink(out, SinkOptions{})
	if err = sink.Close(t.Context(), drive(t.Context(), sink, run, esmodeltest.Quanta(run, 9))); err != nil {
		t.Fatal(err)
	}
	other := esmodeltest.Run()
	other.Generation = "theirs"
	quanta := esmodeltest.Quanta(other, 1)
	alone, c := standIn(t)
	if _, err = ingestRun(t.Context(), c, BulkConfig{}, other, quanta); err != nil {
		t.Fatal(err)
	}
	theirs := esmodeltest.Contents(alone)
	cfg := BulkConfig{FlushBytes: 2000, InFlight: 2} // while one is held up, others are sent
	for name, late := range map[string]func(t *testing.T, c *client.Client) error{
		"ingest": func(t *testing.T, c *client.Client) error {
			_, err := ingestRun(t.Context(), c, cfg, run, esmodeltest.Quanta(run, 9))
			return err
		},
		"load": func(t *testing.T, c *client.Client) error {
			_, err := Load(t.Context(), c, []string{dir}, LoadOptions{Bulk: cfg})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := esmodeltest.New(t, esmodeltest.Options{Histogram: true, Lifecycle: true})
			synctest.Test(t, func(t *testing.T) {
				plain := inProcess{s.Config.Handler}
				s.Inject(esmodeltest.Fault{Times: -1, Delay: time.Second})
				var sent atomic.Int64
				held := &delayed{RoundTripper: plain,
					match: func(r *http.Request) bool { return bulkOf(r, "percentiles") && sent.Add(1) > 8 },
					act: func() {
						c := testClient(t, client.Config{Addresses: []string{s.URL}, Transport: plain})
						_, err := ingestRun(t.Context(), c, BulkConfig{TakeOver: true}, other, quanta)
						for range 3 { // it may see what the other sends until that knows that it lost, and then says so
							if err == nil {
								break
							}
							time.Sleep(times.Renew)
							_, err = ingestRun(t.Context(), c, BulkConfig{TakeOver: true}, other, quanta)
						}
						if err != nil {
							t.Error(err)
						}
						time.Sleep(times.Renew + 2*client.DrainTime)
					}}
				err := late(t, testClient(t, client.Config{Addresses: []string{s.URL}, Transport: held}))
				wantClaimed(t, err, true)
				esmodeltest.EqualContents(t, esmodeltest.Contents(s), theirs)
			})
		})
	}
}

// marked marks the requests of a client.
type marked struct{ http.RoundTripper }

func (m marked) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("X-Late", "1")
	return m.RoundTripper.RoundTrip(r)
}

// A request that is being sent when its claim has not been renewed for too long does not end.
func TestBodyUnderAStaleClaim(t *testing.T) {
	timeless(t, func(t *testing.T, _ *esmodeltest.Server, c *client.Client) {
		sink, err := begin(t, c, BulkConfig{})
		if err != nil {
			t.Fatal(err)
		}
		w := sink.w.(*BulkWriter)
		for _, k := range w.claimed() {
			k.End()
		}
		body := &detachable{check: w.fresh, parts: [][]byte{[]byte("abc"), []byte("de")}, size: 5, left: 5}
		p := make([]byte, 10)
		if n, err := body.Read(p); string(p[:n]) != "abcd" || err != nil {
			t.Fatalf("%q, %v", p[:n], err)
		}
		time.Sleep(times.Stale + time.Second)
		if n, err := body.Read(p); n > 0 || err == nil {
			t.Errorf("its last byte was read: %q, %v", p[:n], err)
		}
		if err := sink.Close(t.Context(), io.ErrUnexpectedEOF); err == nil {
			t.Error("no error")
		}
	})
}

// An index of runs that was created again numbers its writes anew; a run can be ingested all the same, and its
// documents still have the version of their claim.
func TestIndexOfRunsCreatedAgain(t *testing.T) {
	timeless(t, func(t *testing.T, s *esmodeltest.Server, c *client.Client) {
		run := esmodeltest.Run()
		for range 3 {
			if _, err := ingestRun(t.Context(), c, BulkConfig{}, run, esmodeltest.Quanta(run, 9)); err != nil {
				t.Fatal(err)
			}
		}
		s.DropIndex("fio-run")
		run.Generation = "next"
		for range 2 {
			if _, err := ingestRun(t.Context(), c, BulkConfig{}, run, esmodeltest.Quanta(run, 9)); err != nil {
				t.Fatal(err)
			}
		}
		if got := runStatus(t, s); got != "complete" {
			t.Error(got)
		}
		for _, d := range s.Docs("fio-percentiles-*") {
			if !strings.Contains(string(d.Source), `"generation":"next"`) {
				t.Errorf("%s", d.Source)
			}
		}
	})
}
