// Package claim gives one process at a time the right to write and delete the documents of a run.
package claim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/fio"
)

// Error says that a run, or a part of it, belongs to another process, so nothing more is sent or deleted.
type Error struct {
	Run, Part, Kind string
	// Owner is that process; nil if the document of the run was deleted or was replaced by a program other than
	// fiolat.
	Owner *esmodel.Owner
	// Lost says that this process had the claim before.
	Lost bool
}

func (e *Error) Error() string {
	what := fmt.Sprintf("run %q", fio.Printable(e.Run))
	if e.Part != "" {
		what += fmt.Sprintf(", part %q", fio.Printable(e.Part))
	}
	if e.Kind != "" {
		what += ", " + fio.Printable(e.Kind)
	}
	switch {
	case e.Lost && e.Owner != nil:
		return fmt.Sprintf(
			"%s: %s has taken it over and will replace or delete what was sent so far",
			what,
			e.Owner,
		)
	case e.Lost:
		return what + ": its document was changed or deleted by something else, such as an ingest of a part; run again"
	}
	return fmt.Sprintf(
		"%s is claimed by %s; run again when that has ended, or take it over with --take-over",
		what,
		e.Owner,
	)
}

// Claim is a lease: the right to send and delete the documents of a run, of one part and kind. It is stored in
// the document of the run, written only if that is still the version seen last, and renewed by a goroutine of
// its own. Clocks of different hosts are never compared: a process that finds a claim measures by its own clock
// whether it is renewed.
//
// The claim numbers its documents: each is sent with Fence as its version, and Elasticsearch refuses it where
// one of a later claim is stored. So what a process sent before it lost its claim does no harm afterwards.
type Claim struct {
	c         *client.Client
	times     Times
	index, ID string
	what      Error // names the run
	TakeOver  bool
	Refresh   bool
	Deletes   bool // delete the document in the end, or at once if it cannot be written
	// body returns the document that is to hold the claim, given the one found, nil if there is none.
	body func(found []byte) []byte
	// OnLost is called once, from any goroutine, when another process has taken the claim.
	OnLost func(error)

	turn  chan struct{} // lock on what follows; waiting for it respects a context
	own   esmodel.ClaimField
	Doc   []byte // stored with the claim added
	whole bool   // Doc may not be what is stored: the next write must be of all of it
	seq   int64
	term  int64
	tried time.Time          // begin of the first renewal after the last one known to be stored
	stop  context.CancelFunc // ends the renewals; nil before they begin
	done  chan struct{}

	mu      sync.Mutex // guards what follows
	Found   []byte     // the document before the claim, without any claim
	held    bool
	Deleted bool      // the document was deleted instead of claimed
	renewed time.Time // begin of the last write that succeeded
	fence   int64
	lost    error
}

// fenceBase exceeds the versions of documents that were written without a fence, which count their writes.
const fenceBase = 1 << 32

// New returns a claim on the document of a run, of one part and kind. Take or Hold acquires it.
func New(c *client.Client, prefix, run, part, kind string, body func(found []byte) []byte) *Claim {
	return &Claim{
		c:      c,
		times:  TimesOf(c.Renew),
		index:  esmodel.Index(prefix, esmodel.KindRun, 0),
		ID:     esmodel.RunDocID(run, part, kind),
		what:   Error{Run: run, Part: part, Kind: kind},
		body:   body,
		turn:   make(chan struct{}, 1),
		own:    esmodel.ClaimField{Owner: NewOwner()},
		OnLost: func(error) {},
	}
}

// Fence returns the version of documents that are sent under the claim.
func (k *Claim) Fence() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.fence
}

// Lost returns the loss of the claim; nil if it is not lost.
func (k *Claim) Lost() (e *Error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	errors.As(k.lost, &e)
	return e
}

// errConflict says that the document is not the version seen last.
var errConflict = errors.New("the document of the run was changed meanwhile")

// runVersion is a version of the document of a run.
type runVersion struct {
	there     bool
	seq, term int64
	source    []byte
	claim     *esmodel.ClaimField
}

// read reads the document of the run, without retries.
func (k *Claim) read(ctx context.Context) (v runVersion, err error) {
	data, err := k.c.Once(
		ctx,
		client.Request{
			Op:  "read the claim on run " + k.what.Run,
			API: esapi.GetRequest{Index: k.index, DocumentID: k.ID},
		},
	)
	var refused *client.RefusedError
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		// A 404 without Absent may come from a proxy.
		if !refused.Absent {
			return v, err
		}
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
	var doc struct {
		Claim *esmodel.ClaimField `json:"claim"`
	}
	if err = json.Unmarshal(data, &reply); err == nil &&
		(reply.ID != k.ID || !reply.Found || reply.Seq == nil || reply.Term == nil) {
		err = fmt.Errorf("the reply is not about document %q: %.200s", k.ID, data)
	}
	if err == nil {
		err = json.Unmarshal(reply.Source, &doc)
	}
	if err != nil {
		return v, &client.TemporaryError{Err: k.c.Hide(err)}
	}
	return runVersion{true, *reply.Seq, *reply.Term, bytes.TrimSpace(reply.Source), doc.Claim}, nil
}

// write stores the document of the run if it is still version v, without retries.
func (k *Claim) write(ctx context.Context, v runVersion, doc []byte, refresh bool) (seq, term int64, err error) {
	head := []byte(`{"create":{"_index":`)
	if v.there {
		head = []byte(`{"index":{"_index":`)
	}
	return k.act(ctx, head, v, doc, refresh)
}

func (k *Claim) act(
	ctx context.Context,
	head []byte,
	v runVersion,
	doc []byte,
	refresh bool,
) (seq, term int64, err error) {
	body := esmodel.AppendString(append(esmodel.AppendString(head, k.index), `,"_id":`...), k.ID)
	if v.there {
		body = strconv.AppendInt(append(body, `,"if_seq_no":`...), v.seq, 10)
		body = strconv.AppendInt(append(body, `,"if_primary_term":`...), v.term, 10)
	}
	body = append(body, "}}\n"...)
	if doc != nil {
		body = append(append(body, doc...), '\n')
	}
	op := "claim run " + k.what.Run
	r := client.BulkRequest{Op: op, Body: bytes.NewReader(body), Refresh: refresh, Versions: true}
	items, err := k.c.Bulk(ctx, r, 1, func(int) []byte { return []byte(k.ID) }, nil)
	switch {
	case err != nil:
		return 0, 0, err
	case items == nil:
		return 0, 0, &client.TemporaryError{Err: errors.New("the reply does not say which version was stored")}
	case items[0].Status == http.StatusConflict, items[0].Status == http.StatusNotFound: // or deleted
		return 0, 0, errConflict
	}
	if err = items[0].Err(op); err == nil && (items[0].Seq < 0 || items[0].Term < 1) {
		err = &client.TemporaryError{Err: errors.New("the reply does not say which version was stored")}
	}
	return items[0].Seq, items[0].Term, err
}

// Take claims the run, retrying temporary errors for MaxWait, and starts to renew the claim. After a temporary
// error Hold tries again. The caller must call Release or ReleaseRetrying, and then End.
func (k *Claim) Take(ctx context.Context) error {
	p := k.c.Retrier("claim run "+k.what.Run, k.c.MaxWait)
	for {
		err := k.Hold(ctx)
		if err == nil {
			return nil
		}
		if err = p.Wait(ctx, err); err != nil {
			return err
		}
	}
}

// Hold returns nil if the claim is held and was renewed recently. It must be called before anything is sent or
// deleted. If necessary it takes or renews the claim; the error may be temporary.
func (k *Claim) Hold(ctx context.Context) error {
	if fresh, err := k.Fresh(); fresh || err != nil {
		return err
	}
	if err := k.lock(ctx); err != nil {
		return err
	}
	defer k.unlock()
	if fresh, err := k.Fresh(); fresh || err != nil {
		return err
	}
	return k.renew(ctx)
}

// Fresh reports whether the claim is held and was renewed recently; the error says that it is lost.
func (k *Claim) Fresh() (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	// While the system sleeps, only the wall clock advances, so both clocks are checked.
	now := time.Now()
	return k.Deleted || k.held && now.Sub(k.renewed) < k.times.Stale &&
		now.Round(0).Sub(k.renewed.Round(0)) < k.times.Stale, k.lost
}

func (k *Claim) lock(ctx context.Context) error {
	select {
	case k.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (k *Claim) unlock() { <-k.turn }

// renew renews the claim, or acquires it if it is not held. The caller holds the lock.
func (k *Claim) renew(ctx context.Context) error {
	if !k.held {
		return k.acquire(ctx)
	}
	return k.store(ctx, k.Doc, false)
}

// store stores a document with the claim renewed in it. If an earlier write whose reply was lost causes a
// conflict, that write has renewed the claim, which is enough unless must is set. The caller holds the lock and
// the claim.
func (k *Claim) store(ctx context.Context, doc []byte, must bool) error {
	if must || !bytes.Equal(doc, k.Doc) { // a renewal leaves Doc alone, which others may read beside it
		k.whole = true
		k.Doc = doc
	}
	for {
		now, next := time.Now(), k.own
		next.Renewed++
		if k.tried.IsZero() {
			k.tried = now
		}
		at := runVersion{there: true, seq: k.seq, term: k.term}
		seq, term, err := k.increase(ctx, at, doc, &next, must)
		if err == nil {
			k.whole = false
			k.recordWrite(now, next, seq, term)
			return nil
		}
		if !errors.Is(err, errConflict) {
			return err
		}
		v, err := k.read(ctx)
		if err != nil {
			return err
		}
		if v.claim == nil || v.claim.ID != k.own.ID {
			return k.lose(v)
		}
		k.recordWrite(k.tried, *v.claim, v.seq, v.term) // not stored before the first attempt
		if fresh, _ := k.Fresh(); fresh && !must {
			return nil
		}
	}
}

// increase writes a claim that is renewed. The document may be large: if it is the one that is stored, only the change
// is sent.
func (k *Claim) increase(ctx context.Context, at runVersion, doc []byte, next *esmodel.ClaimField, must bool) (
	seq, term int64, err error,
) {
	if k.whole {
		return k.write(ctx, at, esmodel.WithClaim(doc, next), must && k.Refresh)
	}
	change := fmt.Appendf(nil, `{"doc":{"claim":{"renewed":%d}}}`, next.Renewed)
	return k.act(ctx, []byte(`{"update":{"_index":`), at, change, false)
}

// Replace stores another document to hold the claim, retrying temporary errors for MaxWait. After an error
// either document may be stored.
func (k *Claim) Replace(ctx context.Context, doc []byte) error {
	p := k.c.Retrier("change the document of run "+k.what.Run, k.c.MaxWait)
	for {
		err := k.Hold(ctx)
		if err == nil {
			err = k.replace(ctx, doc)
		}
		if err == nil {
			return nil
		}
		if err = p.Wait(ctx, err); err != nil {
			return err
		}
	}
}

func (k *Claim) replace(ctx context.Context, doc []byte) error {
	if err := k.lock(ctx); err != nil {
		return err
	}
	defer k.unlock()
	if k.lost != nil {
		return k.lost
	}
	return k.store(ctx, doc, true)
}

// Outrank returns nil if documents of a version do not belong to a later claim: if the fence is that high, or if
// the claim is still held, for which it is renewed. Then the fence is raised above them. It is too low only if
// the index of runs was created again, or restored, and its writes are numbered anew.
func (k *Claim) Outrank(ctx context.Context, version int64) error {
	if k.Fence() >= version {
		return nil
	}
	if err := k.Hold(ctx); err != nil {
		return err
	}
	if err := k.lock(ctx); err != nil {
		return err
	}
	defer k.unlock()
	fence := k.Fence()
	if fence >= version {
		return nil
	}
	if _, err := k.Fresh(); err != nil {
		return err
	}
	for fence < version {
		if fence > math.MaxInt64/2 {
			return fmt.Errorf("run %q: its documents have versions that fiolat does not give them; delete the run",
				k.what.Run)
		}
		fence *= 2
	}
	k.own.Fence = fence
	if err := k.store(ctx, k.Doc, true); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fence = fence
	return nil
}

// HoldAbove is Hold, and then Outrank.
func (k *Claim) HoldAbove(ctx context.Context, version int64) error {
	if err := k.Hold(ctx); err != nil {
		return err
	}
	return k.Outrank(ctx, version)
}

// recordWrite records that a write of the claim, begun at a time, was stored, and starts the renewals.
func (k *Claim) recordWrite(at time.Time, own esmodel.ClaimField, seq, term int64) {
	k.own, k.seq, k.term, k.tried = own, seq, term, time.Time{}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.held {
		// Elasticsearch numbers all writes to the index of runs, and each claim is later than the one before.
		k.fence = max(fenceBase+seq, own.Fence)
	}
	k.held, k.renewed = true, at
	if k.stop == nil {
		var ctx context.Context
		ctx, k.stop = context.WithCancel(context.Background())
		k.done = make(chan struct{})
		go k.keep(ctx)
	}
}

func (k *Claim) lose(v runVersion) error {
	e := k.what
	e.Lost = true
	if v.claim != nil {
		e.Owner = &v.claim.Owner
	}
	k.mu.Lock()
	k.held, k.lost = false, &e
	k.mu.Unlock()
	k.OnLost(&e)
	return &e
}

// keep renews the claim until it is stopped, released or lost.
func (k *Claim) keep(ctx context.Context) {
	defer close(k.done)
	for next := k.times.Renew; ; {
		select {
		case <-time.After(next):
		case <-ctx.Done():
			return
		}
		one, cancel := context.WithTimeout(ctx, k.times.Renew)
		err := k.lock(one)
		held := true
		if err == nil {
			if held = k.held; held {
				err = k.renew(one)
			}
			k.unlock()
		}
		cancel()
		var lost *Error
		switch {
		case !held, errors.As(err, &lost):
			return
		case err != nil:
			next = k.times.Retry
		default:
			next = k.times.Renew
		}
	}
}

// acquire takes the claim if nobody has it or its owner is dead. The caller holds the lock.
func (k *Claim) acquire(ctx context.Context) error {
	v, err := k.read(ctx)
	if err != nil {
		return err
	}
	var watched *esmodel.ClaimField // another's claim, as first seen
	var since time.Time             // when watched began to be unchanged without a gap
	p := k.c.Retrier("watch the claim on run "+k.what.Run, k.c.MaxWait)
	for {
		if v.claim != nil && v.claim.ID == k.own.ID { // stored by a write whose reply was lost
			k.recordWrite(time.Now(), *v.claim, v.seq, v.term)
			return k.renew(ctx)
		}
		switch {
		case watched != nil && (v.claim == nil || *v.claim != *watched): // released, renewed or taken over
			e := k.what
			if e.Owner = &watched.Owner; v.claim != nil {
				e.Owner = &v.claim.Owner
			}
			return &e
		case v.claim == nil || k.TakeOver || Exited(&v.claim.Owner) ||
			watched != nil && time.Since(since) >= k.times.Expiry:
			err = k.seize(ctx, v)
			if !errors.Is(err, errConflict) {
				return err
			}
			if v, err = k.read(ctx); err != nil {
				return err
			}
			continue
		case watched == nil:
			watched, since = v.claim, time.Now()
		}
		select {
		case <-time.After(k.times.Poll):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		for {
			if v, err = k.read(ctx); err == nil {
				p.Progress()
				break
			}
			// A gap in the observation starts the wait anew: the owner may have been unable to reach the
			// server, too.
			if err = p.Wait(ctx, err); err != nil {
				return err
			}
			since = time.Now()
		}
	}
}

// seize writes the claim over version v of the document.
func (k *Claim) seize(ctx context.Context, v runVersion) error {
	k.mu.Lock()
	k.Found = withoutClaim(v)
	k.mu.Unlock()
	k.Doc = k.body(k.Found)
	if v.claim != nil && v.claim.Fence > 0 {
		k.own.Fence = max(k.own.Fence, v.claim.Fence+1)
	}
	// An interrupted write may be stored, and then the claim must be released: wait for the reply.
	ctx, cancel := client.WithGracePeriod(ctx, claimLinger)
	defer cancel()
	now := time.Now()
	seq, term, err := k.write(ctx, v, esmodel.WithClaim(k.Doc, &k.own), k.Refresh)
	var no *client.ForbiddenError
	if k.Deletes && errors.As(err, &no) && no.Status == http.StatusForbidden {
		// A user who may delete but not write deletes the document instead, which ends any other claim on it.
		if err = nil; v.there {
			_, _, err = k.act(ctx, []byte(`{"delete":{"_index":`), v, nil, false)
		}
		if err == nil {
			k.mu.Lock()
			k.Deleted, k.fence = true, math.MaxInt64 // nothing is sent, and what is deleted is deleted in its version
			k.mu.Unlock()
		}
		return err
	}
	if err == nil {
		k.recordWrite(now, k.own, seq, term)
	}
	return err
}

// Release gives up the claim, without retries: it stores doc without a claim, or deletes the document if doc is
// nil. The error may be temporary. If the claim is not held, Release first takes it.
func (k *Claim) Release(ctx context.Context, doc []byte, refresh bool) error {
	if err := k.Hold(ctx); err != nil {
		return err
	}
	if err := k.lock(ctx); err != nil {
		return err
	}
	defer k.unlock()
	if err := k.lost; err != nil {
		return err
	}
	for {
		at := runVersion{there: true, seq: k.seq, term: k.term}
		var err error
		if doc == nil {
			_, _, err = k.act(ctx, []byte(`{"delete":{"_index":`), at, nil, refresh)
		} else {
			_, _, err = k.write(ctx, at, doc, refresh)
		}
		if errors.Is(err, errConflict) {
			var v runVersion
			if v, err = k.read(ctx); err != nil {
				return err
			}
			switch {
			case v.claim != nil && v.claim.ID == k.own.ID:
				k.seq, k.term = v.seq, v.term
				continue
			case v.there == (doc != nil) && bytes.Equal(v.source, bytes.TrimSpace(doc)): // the reply was lost
			default:
				return k.lose(v)
			}
		}
		if err == nil {
			k.mu.Lock()
			k.held = false
			k.mu.Unlock()
		}
		return err
	}
}

// Before returns the document before the claim, without any claim; nil if there was none.
func (k *Claim) Before() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.Found
}

// ReleaseRetrying is Release, but retries temporary errors for MaxWait.
func (k *Claim) ReleaseRetrying(ctx context.Context, doc []byte) error {
	p := k.c.Retrier("release the claim on run "+k.what.Run, k.c.MaxWait)
	for {
		err := k.Release(ctx, doc, k.Refresh)
		if err == nil {
			return nil
		}
		if err = p.Wait(ctx, err); err != nil {
			return err
		}
	}
}

// End stops the renewals. A claim that was not released remains, for others to take over.
func (k *Claim) End() {
	k.mu.Lock()
	stop, done := k.stop, k.done
	k.mu.Unlock()
	if stop != nil {
		stop()
		<-done
	}
}

func withoutClaim(v runVersion) []byte {
	if v.claim == nil {
		return v.source
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(v.source, &m) != nil {
		return v.source // cannot happen: read has decoded it
	}
	delete(m, "claim")
	return esmodel.MustJSON(m)
}
