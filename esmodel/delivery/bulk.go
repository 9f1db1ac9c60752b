package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/claim"
	"fiolat/esmodel/client"
	"fiolat/esmodel/indices"
	"fiolat/internal/errs"
	"fiolat/pipeline"
)

// Writer takes the documents of a run. A Sink drives it: Open, Make any number of times, Release if all documents were
// made, and Close always.
type Writer interface {
	// Open makes ready for the documents of a run: templates, directories.
	Open(ctx context.Context, run *pipeline.Run) error
	// Make takes over the document that doc appends to what it is given; if that is an
	// error there is none, and Make returns it. It blocks while the writer holds as much
	// as it may.
	Make(ctx context.Context, index string, id []byte, doc Appender) error
	// Release stores the last document of the run, in place of the claimed one, and ends
	// the claim. In the account or not: counted.
	Release(ctx context.Context, index, id string, doc []byte, counted bool) error
	// Close ends the writer. What has no outcome when ctx ends is spooled. With
	// complete, what was left behind by earlier attempts at the run goes.
	Close(ctx context.Context, complete bool) error
	Report() Report
}

// remote is what a Writer that sends has as well: its documents are seen, or may be lost, before the run is complete.
type remote interface {
	// Claim makes the run this process's own and stores body of the document found,
	// which it returns: nothing is sent or deleted before that, nor when the claim is lost. It fails with a *ClaimError
	// if the run is another's, and with an *UnavailableError if that cannot be found out; then it
	// is tried again before anything is sent.
	Claim(ctx context.Context, run *pipeline.Run, body func(found []byte) []byte) (found []byte, err error)
	// count takes documents that others have sent into the account.
	count(made map[string]int64) error
	// Push sets off what is held, without waiting for it.
	Push(ctx context.Context) error
	// Flush waits until each document added so far has an outcome. A nil error does
	// not say that all is well; Report does.
	Flush(ctx context.Context) error
	// Commit makes the run's new generation the only one. It fails with an
	// *IncompleteError or a *MismatchError, and then changes nothing, if a document
	// of it is missing. It comes after Flush. counted, if not nil, is called when all documents were found to be
	// there, before those of other generations are deleted.
	Commit(ctx context.Context, run *pipeline.Run, counted func(context.Context) error) error
	// Replace stores another document in place of a claimed one, which stays claimed.
	Replace(ctx context.Context, id string, doc []byte) error
	// Spool keeps a document for "fiolat load" without trying to send it, outside of
	// the account; no-op where there is no spool.
	Spool(index, id string, doc []byte) error
}

// Appender appends a document where it is to lie, so that nobody has to copy it there.
type Appender func(dst []byte) ([]byte, error)

// made is the Appender of a document that is there.
func made(doc []byte) Appender {
	return func(dst []byte) ([]byte, error) { return append(dst, doc...), nil }
}

// Defaults of BulkConfig.
const (
	defaultInFlight  = 8
	defaultGzipLevel = 1
	overhang         = 64 << 10 // room in a batch for the document that turns out to be too much
)

// BulkConfig says how documents are sent.
type BulkConfig struct {
	// Prefix is that of the indices; "" is DefaultPrefix.
	Prefix string
	// FlushBytes is the size of a request before compression; 0 is 4 MiB. One
	// document may be larger and then goes alone.
	FlushBytes int
	// InFlight is the most requests under way at once; 0 is 8. How many there are is
	// found out from what the server takes. The writer holds at most
	// (InFlight + 1) x FlushBytes of documents, and with GzipLevel InFlight x FlushBytes
	// of compressed requests if they do not compress at all; real ones take a quarter.
	InFlight int
	// GzipLevel is 1 to 9, negative sends requests uncompressed. 0 is 1 over a network
	// and none to this very machine, where compression only takes the server's
	// processor time: on two cores 16,000 histograms a second became 25,000.
	GzipLevel int
	// MaxWait is for how long a document is tried again since it, or one sent with
	// it, last got on; 0 is the client's.
	MaxWait time.Duration
	// SpoolDir is where documents go that could not be sent, or were refused. Without it they are only counted.
	SpoolDir string
	// Refresh makes documents visible to searches before they are acknowledged, for
	// runs that are watched while they go on.
	Refresh bool
	// TakeOver takes the claim on a run from whoever has it, without waiting.
	TakeOver bool
	// NoTemplates leaves index templates alone: no check, no installation.
	NoTemplates bool
}

// BulkWriter sends documents to Elasticsearch. It is safe for use by many
// goroutines.
//
// Documents are gathered in batches. A batch is a request of its own until every
// document in it has an outcome: acknowledged, refused, or set aside. So memory is
// bounded however long the server is away, and one slow request never holds up the
// others. Batches are delivered by InFlight goroutines that end with Close. They
// do not share the caller's context: a caller that is interrupted still wants what
// it passed on to be sent or spooled, and Close says how long that may take.
type BulkWriter struct {
	c   *client.Client
	cfg BulkConfig

	adding chan struct{} // a lock that can be waited for with a context
	cur    *batch        // being filled; owned by who holds adding
	over   []byte        // scratch of Make
	closed bool          // owned by who holds adding
	free   chan *batch   // flow.limit + 1 of them in all, but for those under way when it fell
	queue  chan *batch
	ctx    context.Context // of the deliveries
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	mu      sync.Mutex // guards what follows
	report  Report
	counts  []*Counts // by batch item's index
	names   []string
	number  map[string]int32
	flow    flow
	batches int // how many there are
	pending int
	idle    chan struct{} // closed while pending is 0
	fatal   error         // nothing more can be done: Add fails
	down    error         // the server is away: what comes is spooled
	probe   time.Time     // when to try it again
	spool   *spoolFile
	refused *spoolFile
	claims  []*claim.Claim  // without all of them nothing is sent
	named   bool            // the name of the run was given, and is not kept from before
	checked map[string]bool // indices whose mapping is as it must be
}

// NewBulkWriter starts a writer; it must be closed.
func NewBulkWriter(c *client.Client, cfg BulkConfig) (*BulkWriter, error) {
	cfg.Prefix = cmp.Or(cfg.Prefix, esmodel.DefaultPrefix)
	if err := esmodel.CheckPrefix(cfg.Prefix); err != nil {
		return nil, err
	}
	cfg.FlushBytes = cmp.Or(cfg.FlushBytes, defaultFlushBytes)
	cfg.InFlight = cmp.Or(cfg.InFlight, defaultInFlight)
	if cfg.GzipLevel == 0 && !c.Local {
		cfg.GzipLevel = defaultGzipLevel
	}
	if cfg.FlushBytes < 0 || cfg.FlushBytes > 100<<20 || cfg.InFlight < 0 || cfg.InFlight > 64 || cfg.GzipLevel > 9 {
		return nil, &errs.UsageError{
			Msg: fmt.Sprintf("bulk requests of %d bytes, %d at once, gzip level %d cannot be",
				cfg.FlushBytes, cfg.InFlight, cfg.GzipLevel),
			Hint: "at most 100 MiB, 64 and 9",
		}
	}
	cfg.MaxWait = cmp.Or(cfg.MaxWait, c.MaxWait)
	w := &BulkWriter{
		c: c, cfg: cfg,
		adding: make(chan struct{}, 1),
		free:   make(chan *batch, cfg.InFlight+1),
		queue:  make(chan *batch),
		report: Report{Indices: map[string]Counts{}},
		number: map[string]int32{}, checked: map[string]bool{},
		idle: make(chan struct{}),
	}
	close(w.idle)
	w.ctx, w.cancel = context.WithCancelCause(context.Background())
	w.flow = newFlow(cfg.InFlight)
	w.supply()
	w.name(nil)
	for range cfg.InFlight {
		w.wg.Go(func() {
			s := w.newSender()
			for b := range w.queue {
				b.again = false
				w.deliver(s, b, b.all())
				w.recycle(b)
				w.done()
			}
		})
	}
	return w, nil
}

// name sets the names of the spool and of the file for refused documents.
func (w *BulkWriter) name(run *pipeline.Run) {
	tail := ".load"
	if run != nil {
		tail = fileTail(run)
	}
	w.spool = newSpoolFile(w.cfg.SpoolDir, w.cfg.Prefix+"-spool"+tail)
	w.refused = newSpoolFile(w.cfg.SpoolDir, w.cfg.Prefix+"-refused"+tail)
}

// Open makes sure of the index templates. Where the server is away for MaxWait and
// there is a spool, the run goes on into it.
func (w *BulkWriter) Open(ctx context.Context, run *pipeline.Run) error {
	w.mu.Lock()
	w.name(run)
	w.mu.Unlock()
	if w.cfg.NoTemplates {
		return nil
	}
	warnings, err := indices.EnsureTemplates(ctx, w.c, w.cfg.Prefix)
	w.mu.Lock()
	w.report.Warnings = append(w.report.Warnings, warnings...)
	w.mu.Unlock()
	if err == nil {
		var checked map[string]bool
		checked, err = indices.CheckMappings(ctx, w.c, w.cfg.Prefix, false)
		w.mu.Lock()
		maps.Copy(w.checked, checked)
		w.mu.Unlock()
	}
	var away *client.UnavailableError
	if errors.As(err, &away) && w.cfg.SpoolDir != "" {
		w.setDown(err)
		return nil
	}
	return err
}

// prepare sees to it that the indices of documents to be sent are mapped as they must be.
func (w *BulkWriter) prepare(ctx context.Context, b *batch, todo []int32) error {
	if w.cfg.NoTemplates {
		return nil
	}
	last := int32(-1)
	for _, i := range todo {
		n := b.items[i].index
		if n == last {
			continue
		}
		last = n
		w.mu.Lock()
		index := w.names[n]
		checked := w.checked[index]
		w.mu.Unlock()
		if checked {
			continue
		}
		if err := indices.Prepare(ctx, w.c, w.cfg.Prefix, index); err != nil {
			return err
		}
		w.mu.Lock()
		w.checked[index] = true
		w.mu.Unlock()
	}
	return nil
}

// Add takes over one document, which it copies; see Make.
func (w *BulkWriter) Add(ctx context.Context, index string, id, doc []byte) error {
	return w.Make(ctx, index, id, made(doc))
}

// Make takes over one document. The error says that it was not taken: the context
// ended, it could not be made, or nothing more can be done with any document.
func (w *BulkWriter) Make(ctx context.Context, index string, id []byte, doc Appender) error {
	if err := w.lock(ctx); err != nil {
		return err
	}
	defer w.unlock()
	if w.closed {
		return errClosed
	}
	if err := w.open(ctx); err != nil {
		return err
	}
	n, err := w.numberOf(index)
	if err != nil {
		return err
	}
	size, err := w.cur.add(n, index, id, doc)
	if err != nil {
		return err
	}
	if len(w.cur.raw) > w.cfg.FlushBytes && len(w.cur.items) > 1 {
		// It opens the next request; this one goes without it.
		w.over = append(w.over[:0], w.cur.drop()...)
		if err = w.dispatch(ctx); err == nil {
			err = w.open(ctx)
		}
		if err != nil {
			return err
		}
		w.cur.raw = slices.Grow(w.cur.raw, w.cfg.FlushBytes+overhang) // it will be as full
		if _, err = w.cur.add(n, index, id, made(w.over)); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[n].Made++
	w.counts[n].Bytes += int64(size)
	return nil
}

// open waits for a batch to fill, if there is none; the caller holds adding.
func (w *BulkWriter) open(ctx context.Context) error {
	if w.cur != nil {
		return nil
	}
	select {
	case w.cur = <-w.free:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// numberOf is the number of an index in counts.
func (w *BulkWriter) numberOf(index string) (int32, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, ok := w.number[index]
	if !ok {
		n = int32(len(w.counts))
		w.number[index] = n
		w.counts = append(w.counts, new(Counts))
		w.names = append(w.names, index)
	}
	return n, w.fatal
}

// Push sends what is held on its way, unless as many requests as may be are under way
// already: then it goes with what comes next.
func (w *BulkWriter) Push(ctx context.Context) error {
	if err := w.lock(ctx); err != nil || len(w.free) == 0 {
		if err == nil {
			w.unlock()
		}
		return err
	}
	defer w.unlock()
	return w.dispatch(ctx)
}

// dispatch passes the batch being filled to a sender; the caller holds adding.
func (w *BulkWriter) dispatch(ctx context.Context) error {
	if w.cur == nil || len(w.cur.items) == 0 {
		return nil
	}
	w.mu.Lock()
	if w.pending == 0 {
		w.idle = make(chan struct{})
	}
	w.pending++
	w.mu.Unlock()
	select {
	case w.queue <- w.cur:
		w.cur = nil
		return nil
	case <-ctx.Done():
		w.done()
		return context.Cause(ctx)
	}
}

// recycle makes a batch whose documents have their outcomes ready for others, or
// lets it go where fewer requests at once are better.
func (w *BulkWriter) recycle(b *batch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flow.done(time.Now(), len(b.raw), len(w.free) == 0, b.again)
	if w.batches > w.flow.limit+1 {
		w.batches--
		return
	}
	b.reset(w.cfg.FlushBytes)
	w.free <- b
	w.supply()
}

// supply makes as many batches as requests may be under way, and one to be filled.
func (w *BulkWriter) supply() {
	for ; w.batches < w.flow.limit+1; w.batches++ {
		w.free <- new(batch)
	}
}

// done says that a batch has its outcome.
func (w *BulkWriter) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending--; w.pending == 0 {
		close(w.idle)
	}
}

// Flush waits for all outcomes. It fails with the context, or if nothing more can
// be done with any document.
func (w *BulkWriter) Flush(ctx context.Context) error {
	if err := w.lock(ctx); err != nil {
		return err
	}
	err := w.dispatch(ctx)
	w.unlock()
	if err != nil {
		return err
	}
	w.mu.Lock()
	idle := w.idle
	w.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fatal
}

// Close waits for all outcomes until ctx ends, spools what has none, and ends the
// writer's goroutines. It fails if a document is nowhere. A second Close is no-op.
func (w *BulkWriter) Close(ctx context.Context, complete bool) error {
	// When ctx ends the senders give up, and so whoever waits for one goes on.
	stop := context.AfterFunc(ctx, func() { w.cancel(errInterrupted) })
	defer stop()
	w.adding <- struct{}{}
	defer w.unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	_ = w.dispatch(context.Background())
	close(w.queue)
	w.wg.Wait()
	w.cancel(errClosed)
	for _, k := range w.claimed() {
		k.End()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	err := errors.Join(w.spool.close(), w.refused.close())
	if complete && err == nil {
		err = errors.Join(w.spool.removeOld(), w.refused.removeOld())
	}
	return err
}

// Report is the account so far.
func (w *BulkWriter) Report() Report {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.report.clone()
	for i, c := range w.counts {
		sum := r.Indices[w.names[i]]
		sum.add(*c)
		r.Indices[w.names[i]] = sum
	}
	r.SpoolFile, r.RefusedFile = w.spool.path(), w.refused.path()
	return r
}

func (w *BulkWriter) lock(ctx context.Context) error {
	select {
	case w.adding <- struct{}{}:
		return nil
	default:
	}
	select {
	case w.adding <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *BulkWriter) unlock() { <-w.adding }
