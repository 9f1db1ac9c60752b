package indices

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/fio"
)

// Mark is the document of a run while a process works on the run: it names the process, and the last one to begin
// has the run. Nobody waits for anybody, and nothing is renewed: the ids of documents contain the generation, so two
// processes either send the same documents or different ones. Each write of the document is of the version that was
// read. A process that finds the mark of another at its end has lost, and withdraws what it sent.
type Mark struct {
	c         *client.Client
	prefix    string
	index, ID string
	key       esmodel.RunKey
	what      MarkError // names the run
	body      func(found []byte) []byte
	own       esmodel.Owner
	taken     bool
	removed   bool
	Found     []byte // the document before the mark, without any; nil if there was none
	Doc       []byte // what body made of it
	// Refuse, if set, returns why the mark must not be set over the document found, nil if there is none: see
	// esmodel.State.Still.
	Refuse func(found []byte) error
}

// MarkError says that another process has begun to write or to delete the run since.
type MarkError struct {
	Run, Part, Kind string
	Owner           *esmodel.Owner // that process; nil if it has ended
}

func (e *MarkError) Error() string {
	what := fmt.Sprintf("run %q", fio.Printable(e.Run))
	if e.Part != "" {
		what += fmt.Sprintf(", part %q", fio.Printable(e.Part))
	}
	if e.Kind != "" {
		what += ", " + fio.Printable(e.Kind)
	}
	if e.Owner == nil {
		return what + ": it was written or deleted by something else meanwhile, such as an ingest of a part; run again"
	}
	return fmt.Sprintf("%s: %s has begun to write or delete it since, and has it now", what, e.Owner)
}

// NewMark returns a mark on the document of a run; body returns the document that is to bear it, given the one found.
func NewMark(c *client.Client, prefix string, key esmodel.RunKey, body func(found []byte) []byte) *Mark {
	var id [12]byte
	rand.Read(id[:])
	k := &Mark{
		c: c, prefix: prefix, index: esmodel.Index(prefix, esmodel.KindRun, 0), ID: key.ID(), key: key, body: body,
		what: MarkError{Run: key.Run, Part: key.Part, Kind: key.Kind},
		own:  esmodel.Owner{ID: hex.EncodeToString(id[:]), PID: os.Getpid()},
	}
	k.own.Host, _ = os.Hostname() // best effort
	return k
}

// Taken reports whether the mark was set.
func (k *Mark) Taken() bool { return k.taken }

// Removed reports whether it was removed again.
func (k *Mark) Removed() bool { return k.removed }

// Set sets the mark, over any other that Refuse does not refuse; once it is set, it does nothing. The error may be
// temporary.
func (k *Mark) Set(ctx context.Context) error {
	if k.taken {
		return nil
	}
	return k.change(ctx, true, func(v runVersion) ([]byte, error) { // visible to WholeOrParts
		if k.mine(v) == nil { // the reply to the same request was lost
			k.taken = true
			return nil, errNothing
		}
		if k.Refuse != nil {
			if err := k.Refuse(v.source); err != nil {
				return nil, err
			}
		}
		k.Found = v.source
		k.Doc = k.body(v.source)
		return esmodel.WithOwner(k.Doc, &k.own), nil
	})
}

// WholeOrParts returns an error if the mark is on a part of a run that is stored as a whole, or on a whole of which
// parts are stored: each I/O would be stored twice. A merged run stands beside its parts. It comes after Set: of two
// processes that begin at once, at least one sees the other's mark.
func (k *Mark) WholeOrParts(ctx context.Context, merged bool) error {
	remedy := "another --run-id, or first run: fiolat delete " + fio.Printable(k.key.Run)
	if k.key.Part != "" {
		whole, err := k.c.Source(ctx, k.index, esmodel.RunDocID(k.key.Run, "", k.key.Kind))
		if err == nil && whole != nil && len(esmodel.PartsOf(whole)) == 0 {
			err = esmodel.Fault(k.key.Run, k.key.Part, "pass "+remedy,
				"the run is stored as a whole, and a part beside it would count each I/O twice: nothing was sent")
		}
		return err
	}
	if merged {
		return nil
	}
	var parts []string
	_, err := client.Search(ctx, k.c, client.SearchRequest{Index: k.index, Source: []string{"run", "fio.kind"},
		Query: map[string]any{"bool": map[string]any{"filter": []any{client.Term("run.id", k.key.Run),
			client.Term("fio.kind", k.key.Kind), map[string]any{"exists": map[string]any{"field": "run.part"}}}}},
		Sort: []any{map[string]any{"run.part": "asc"}},
	}, func(h client.Hit) error {
		m, err := esmodel.ReadDocHeader(h.Source)
		parts = append(parts, m.Run.Part)
		return err
	})
	if err == nil && len(parts) > 0 {
		err = esmodel.Fault(k.key.Run, "", "pass --part NAME or "+remedy,
			"the run is stored in %s (%s), and a whole beside them would count each I/O twice: nothing was sent",
			fio.Several(len(parts), "part"), fio.Printable(strings.Join(parts, ", ")))
	}
	return err
}

// Restore takes the mark away, and leaves the document as it was found.
func (k *Mark) Restore(ctx context.Context) error {
	return k.Retry(ctx, "unmark", func() error {
		return k.Remove(ctx, true, func([]byte) []byte { return k.Found })
	})
}

// Holds returns a *MarkError if the mark is another's by now. It is a Holder.
func (k *Mark) Holds(ctx context.Context, _ ...esmodel.RunKey) error {
	v, err := k.read(ctx)
	if err == nil {
		err = k.mine(v)
	}
	return err
}

// Replace stores what doc returns, given what is stored, with the mark.
func (k *Mark) Replace(ctx context.Context, doc func(found []byte) []byte) error {
	return k.change(ctx, false, func(v runVersion) ([]byte, error) {
		return esmodel.WithOwner(doc(v.source), &k.own), k.mine(v)
	})
}

// Remove stores what doc returns, given what is stored, without the mark; if that is nil, it deletes the document.
func (k *Mark) Remove(ctx context.Context, refresh bool, doc func(found []byte) []byte) error {
	err := k.change(ctx, refresh, func(v runVersion) ([]byte, error) {
		want := doc(v.source)
		if v.owner == nil && sameState(v.source, want) { // the reply to the same request was lost
			return nil, errNothing
		}
		return want, k.mine(v)
	})
	k.removed = err == nil
	return err
}

// sameState reports whether two documents of a run say the same of the same generation, or none is there.
func sameState(a, b []byte) bool {
	x, errX := esmodel.ReadDocHeader(a)
	y, errY := esmodel.ReadDocHeader(b)
	return a == nil && b == nil || errX == nil && errY == nil && x.Key() == y.Key() && x.State() == y.State()
}

// Unmark changes a document without setting a mark: what bears one loses it. If body returns nil, or what is stored
// and bears none, it stays.
func (k *Mark) Unmark(ctx context.Context) error {
	return k.change(ctx, true, func(v runVersion) ([]byte, error) {
		doc := k.body(v.source)
		if !v.there || doc == nil || v.owner == nil && bytes.Equal(doc, v.source) {
			return nil, errNothing
		}
		return doc, nil
	})
}

// Retry calls do until its error is nil or not temporary, for MaxWait.
func (k *Mark) Retry(ctx context.Context, op string, do func() error) error {
	p := k.c.Retrier(op+" run "+k.what.Run, k.c.MaxWait)
	for {
		err := do()
		if err == nil {
			return nil
		}
		if err = p.Wait(ctx, err); err != nil {
			return err
		}
	}
}

var errNothing = errors.New("nothing to do")

func (k *Mark) mine(v runVersion) error {
	if v.owner != nil && v.owner.ID == k.own.ID {
		return nil
	}
	e := k.what
	e.Owner = v.owner
	return &e
}

// conflictWait is how long the document may be changed by others between reading and writing it, again and again, if
// MaxWait is shorter.
const conflictWait = 2 * time.Second

// change writes what to returns in place of what it is given; with nil it deletes the document.
func (k *Mark) change(ctx context.Context, refresh bool, to func(runVersion) ([]byte, error)) error {
	p := k.c.Retrier("write the document of run "+k.what.Run, max(k.c.MaxWait, conflictWait))
	for {
		v, err := k.read(ctx)
		if err != nil {
			return err
		}
		doc, err := to(v)
		if errors.Is(err, errNothing) || err == nil && doc == nil && !v.there {
			return nil
		}
		again := error(nil)
		if err == nil {
			// An interrupted write may be stored: wait for the reply.
			late, cancel := client.WithGracePeriod(ctx, 2*time.Second)
			again, err = k.write(late, v, doc, refresh)
			cancel()
		}
		if again == nil {
			k.taken = k.taken || err == nil
			return err
		}
		if err = p.Wait(ctx, &client.TemporaryError{Err: again}); err != nil {
			return err
		}
	}
}

// runVersion is a version of the document of a run.
type runVersion struct {
	there     bool
	seq, term int64
	source    []byte // without the mark
	owner     *esmodel.Owner
}

func (k *Mark) read(ctx context.Context) (v runVersion, err error) {
	data, err := k.c.Once(ctx, client.Request{Op: "read run " + k.what.Run,
		API: esapi.GetRequest{Index: k.index, DocumentID: k.ID}})
	var refused *client.RefusedError
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound && refused.Absent { // else it may be a proxy's
		return v, nil
	}
	if err != nil {
		return v, err
	}
	var reply struct {
		ID     string          `json:"_id"`
		Found  bool            `json:"found"`
		Seq    *int64          `json:"_seq_no"`
		Term   *int64          `json:"_primary_term"`
		Source json.RawMessage `json:"_source"`
	}
	err = json.Unmarshal(data, &reply)
	if err == nil &&
		(reply.ID != k.ID || !reply.Found || reply.Seq == nil || reply.Term == nil) {
		err = fmt.Errorf("the reply is not about document %q: %.200s", k.ID, data)
	}
	if err == nil {
		v = runVersion{there: true, seq: *reply.Seq, term: *reply.Term}
		v.source, v.owner, err = esmodel.WithoutOwner(bytes.TrimSpace(reply.Source))
	}
	if err != nil {
		return v, &client.TemporaryError{Err: k.c.Hide(err)}
	}
	return v, nil
}

// errConflict says that the document is not the version that was read.
var errConflict = errors.New("the document of the run was changed meanwhile")

// write stores the document of the run, or deletes it, if it is still version v. again is why it is to be read again.
func (k *Mark) write(ctx context.Context, v runVersion, doc []byte, refresh bool) (again, err error) {
	action, needs := "index", ""
	switch {
	case !v.there:
		action = "create"
	case doc == nil:
		action, needs = "delete", "delete"
	}
	body := esmodel.AppendAction(nil, action, k.index, k.ID, v.seq, v.term)
	if doc != nil {
		body = append(append(body, doc...), '\n')
	}
	op := "write the document of run " + k.what.Run
	r := client.BulkRequest{Op: op, Body: bytes.NewReader(body), Refresh: refresh, Needs: needs}
	items, err := k.c.Bulk(ctx, r, 1, func(int) []byte { return []byte(k.ID) }, nil)
	if err != nil || items == nil { // stored
		return nil, err
	}
	if s := items[0].Status; s == http.StatusConflict || doc == nil && s == http.StatusNotFound { // or deleted
		return errConflict, nil
	}
	err = items[0].Err(op)
	if no := (*client.RefusedError)(nil); errors.As(err, &no) && no.Type == "index_not_found_exception" {
		return err, Prepare(ctx, k.c, k.prefix, k.index) // where Elasticsearch makes none by itself
	}
	return nil, err
}
