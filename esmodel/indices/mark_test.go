package indices

import (
	"errors"
	"testing"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/client/clienttest"
	"fiolat/esmodel/esmodeltest"
)

// A cluster that makes no indices by itself (action.auto_create_index) and lost that of runs has it made; where that
// does not help, the mark gives up with the server's reason.
func TestMarkWithoutIndex(t *testing.T) {
	for name, times := range map[string]int{"made": 1, "never there": -1} {
		t.Run(name, func(t *testing.T) {
			s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
			s.Inject(esmodeltest.Fault{Times: times, Item: func(string, string) (int, string, string) {
				return 404, "index_not_found_exception", "no such index [fio-run] and [action.auto_create_index] is [false]"
			}})
			c := clienttest.New(t, client.Config{Addresses: []string{s.URL}, MaxWait: time.Second})
			if _, err := EnsureTemplates(t.Context(), c, "fio"); err != nil {
				t.Fatal(err)
			}
			k := NewMark(c, "fio", esmodel.RunKey{Run: "a", Kind: "clat"}, func([]byte) []byte {
				return []byte(`{"run":{"id":"a"}}`)
			})
			err := k.Set(t.Context())
			n := len(s.Requests("_bulk"))
			if times == 1 && (err != nil || n != 2 || len(s.Docs("fio-run")) != 1) {
				t.Errorf("%d bulk requests, %v", n, err)
			}
			if away := (*client.UnavailableError)(nil); times < 0 && (!errors.As(err, &away) || n > 20) {
				t.Errorf("%d bulk requests, %v", n, err)
			}
		})
	}
}

// A mark whose reply was lost is the process's own, not a change by another.
func TestMarkReplyLost(t *testing.T) {
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	c := clienttest.New(t, client.Config{Addresses: []string{s.URL}})
	key := esmodel.RunKey{Run: "a", Kind: "clat"}
	k := NewMark(c, "fio", key, func([]byte) []byte { return []byte(`{"run":{"id":"a","status":"running"}}`) })
	k.Refuse = esmodel.State{}.Still(key)
	s.Inject(esmodeltest.Fault{LoseReply: true})
	err := k.Retry(t.Context(), "mark", func() error { return k.Set(t.Context()) })
	if err != nil || !k.Taken() || k.Found != nil {
		t.Errorf("%v, taken %v over %s", err, k.Taken(), k.Found)
	}
}
