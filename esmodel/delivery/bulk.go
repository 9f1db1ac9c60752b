package delivery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/indices"
	"fiolat/fio"
	"fiolat/pipeline"
)

// Writer takes the documents of a run. A Sink calls Open, Make any number of times, Release if all documents
// were made, and Close always.
type Writer interface {
	// Open prepares for the documents of a run: templates, directories.
	Open(ctx context.Context, run *pipeline.Run) error
	// Make adds the document that doc appends to its argument. If doc fails, Make adds none and returns the
	// error. It blocks while the writer holds as much as it may.
	Make(ctx context.Context, index string, id []byte, doc Appender) error
	// Release stores the last document of the run, in place of the marked one, and removes the mark. counted
	// says whether it is in the account.
	Release(ctx context.Context, index, id string, doc []byte, counted bool) error
	// Close ends the writer. Documents without an outcome when ctx ends are spooled. If complete is set, what
	// earlier attempts at the run left behind is removed.
	Close(ctx context.Context, complete bool) error
	Report() Report
}

// remote is what a Writer that sends implements as well: its documents are visible, or may be lost, before the
// run is complete.
type remote interface {
	// Mark marks the run as this process's and stores body of the document found, which it returns, unless refuse, if
	// not nil, refuses that. After a *client.UnavailableError it is tried again before anything is sent.
	Mark(ctx context.Context, run *pipeline.Run, refuse func(found []byte) error, body func(found []byte) []byte) (
		found []byte, err error)
	// Push sends what is held, without waiting for it.
	Push(ctx context.Context) error
	// Flush waits until each document added so far has an outcome. Whether all were stored is in Report, not in
	// the error.
	Flush(ctx context.Context) error
	// Commit makes the run's new generation the only one. If a document of it is missing, it changes nothing
	// and fails with an *IncompleteError or an *indices.MismatchError. It comes after Flush. counted, if not
	// nil, is called when all documents were found, before those of other generations are deleted.
	Commit(ctx context.Context, run *pipeline.Run, counted func(context.Context) error) error
	// Replace stores another document in place of a marked one, and keeps the mark.
	Replace(ctx context.Context, id string, doc []byte) error
	// Withdraw deletes what was sent of a run that another process has begun to write since. It comes after Close.
	Withdraw(ctx context.Context, run *pipeline.Run) error
	// Spool stores a document for "fiolat load", without sending it or adding it to the account; a no-op
	// without a spool.
	Spool(index, id string, doc []byte) error
}

// Appender appends a document directly to the buffer of a writer, which saves a copy.
type Appender func(dst []byte) ([]byte, error)

// prebuilt returns the Appender of a document that already exists.
func prebuilt(doc []byte) Appender {
	return func(dst []byte) ([]byte, error) { return append(dst, doc...), nil }
}

// Defaults of BulkConfig.
const (
	mostInFlight     = 8
	defaultGzipLevel = 1
	overhang         = 64 << 10 // room in a batch for the document that exceeds FlushBytes
)

// BulkConfig says how documents are sent.
type BulkConfig struct {
	// Prefix is the prefix of the indices; "" is DefaultPrefix.
	Prefix string
	// FlushBytes is the size of a request before compression; 0 is the client's. A larger document is sent alone.
	// Where the server or a proxy refuses a request as too large (413), the next ones are half its size.
	FlushBytes int
	// InFlight is the number of concurrent requests; 0 is the number of cores, at least 4 and at most 8. The writer
	// holds at most (InFlight + 1) x FlushBytes of documents, and with GzipLevel InFlight x FlushBytes of compressed
	// requests if they do not compress at all.
	InFlight int
	// GzipLevel is 1 to 9, negative sends requests uncompressed. 0 is 1 over a network, and no compression to
	// this machine, where it only costs the server processor time.
	GzipLevel int
	// MaxWait is how long a document is retried since it, or one sent with it, last made progress; 0 is the
	// client's.
	MaxWait time.Duration
	// SpoolDir is for documents that could not be sent, or were refused. Without it they are only counted.
	SpoolDir string
	// Refresh makes documents visible to searches before they are acknowledged, for runs that are watched live.
	Refresh bool
	// NoTemplates leaves index templates alone: no check, no installation.
	NoTemplates bool
}

// BulkWriter sends documents to Elasticsearch. It is safe for concurrent use.
//
// Documents are gathered in batches. A batch is a request of its own until every document in it has an outcome:
// acknowledged, refused or set aside. So memory is bounded however long the server is down, and a slow request
// does not hold up the others. InFlight goroutines deliver batches until Close. They do not use the caller's
// context, because an interrupted caller still wants its documents sent or spooled; Close limits how long that
// may take.
type BulkWriter struct {
	c   *client.Client
	cfg BulkConfig

	adding chan struct{} // lock; waiting for it respects a context
	cur    *batch        // being filled; guarded by adding
	over   []byte        // scratch of Make
	closed bool          // guarded by adding
	free   chan *batch   // of InFlight to be sent and one to be filled
	queue  chan *batch
	ctx    context.Context // of the deliveries
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup
	most   atomic.Int64 // bytes of a request
	pace   pace

	preparing singleflight.Group // by index
	marking   chan struct{}      // lock on the marks while they are set

	mu      sync.Mutex // guards what follows
	report  Report
	counts  []*Counts // by batch item's index
	names   []string
	events  []bool // whether names are of events
	number  map[string]int32
	pending int
	idle    chan struct{} // closed while pending is 0
	fatal   error         // permanent: Add fails
	down    error         // the server is down: documents are spooled
	probe   time.Time     // when to try the server again
	spool   *spoolFile
	refused *spoolFile
	marks   []*indices.Mark // to be set before anything is sent
	wholes  []*indices.Mark // merged runs that must become partial before anything is sent
	merged  bool            // the run is merged from parts
	ready   bool            // both is done
	named   bool            // the name of the run was given and replaces a stored one
	checked map[string]bool // indices with the right mapping
}

// NewBulkWriter starts a writer; it must be closed.
func NewBulkWriter(c *client.Client, cfg BulkConfig) (*BulkWriter, error) {
	cfg.Prefix = cmp.Or(cfg.Prefix, esmodel.DefaultPrefix)
	if err := esmodel.CheckPrefix(cfg.Prefix); err != nil {
		return nil, err
	}
	cfg.FlushBytes = cmp.Or(cfg.FlushBytes, c.FlushBytes)
	cfg.InFlight = cmp.Or(cfg.InFlight, min(max(runtime.GOMAXPROCS(0), 4), mostInFlight))
	if cfg.GzipLevel == 0 && !c.Local {
		cfg.GzipLevel = defaultGzipLevel
	}
	if cfg.FlushBytes < 0 || cfg.FlushBytes > 100<<20 || cfg.InFlight < 0 || cfg.InFlight > 64 || cfg.GzipLevel > 9 {
		return nil, &fio.UsageError{
			Msg: fmt.Sprintf("invalid bulk settings: %d bytes per request, %d concurrent requests, gzip level %d",
				cfg.FlushBytes, cfg.InFlight, cfg.GzipLevel),
			Hint: "at most 100 MiB, 64 and 9",
		}
	}
	cfg.MaxWait = cmp.Or(cfg.MaxWait, c.MaxWait)
	w := &BulkWriter{
		c: c, cfg: cfg,
		adding: make(chan struct{}, 1), marking: make(chan struct{}, 1),
		free:   make(chan *batch, cfg.InFlight+1),
		queue:  make(chan *batch),
		report: Report{Indices: map[string]Counts{}},
		number: map[string]int32{}, checked: map[string]bool{},
		idle: make(chan struct{}),
	}
	w.most.Store(int64(cfg.FlushBytes))
	w.pace = pace{most: cfg.FlushBytes, usual: c.Timeout, longest: max(cfg.MaxWait, c.Timeout)}
	close(w.idle)
	w.ctx, w.cancel = context.WithCancelCause(context.Background())
	w.name(nil)
	w.free <- new(batch)
	for range cfg.InFlight {
		w.free <- new(batch)
		w.wg.Go(func() {
			s := w.newSender()
			for b := range w.queue {
				w.deliver(s, b, b.all(), c.Retrier("send documents", cfg.MaxWait))
				b.reset(cfg.FlushBytes)
				w.free <- b
				w.done()
			}
		})
	}
	return w, nil
}

// name sets the names of the spool file and of the file for refused documents.
func (w *BulkWriter) name(run *pipeline.Run) {
	tail := ".load"
	if run != nil {
		tail = fileSuffix(run)
	}
	w.spool = newSpoolFile(w.cfg.SpoolDir, w.cfg.Prefix+"-spool"+tail)
	w.refused = newSpoolFile(w.cfg.SpoolDir, w.cfg.Prefix+"-refused"+tail)
}

// Open makes sure of the spool and of the index templates. If the server is down for MaxWait and there is a spool, the
// run goes into it.
func (w *BulkWriter) Open(ctx context.Context, run *pipeline.Run) error {
	w.mu.Lock()
	w.name(run)
	err := cmp.Or(w.spool.check(), w.refused.check())
	w.mu.Unlock()
	if err != nil {
		return unspooled(err)
	}
	if w.cfg.NoTemplates {
		return nil
	}
	warnings, err := indices.EnsureTemplates(ctx, w.c, w.cfg.Prefix)
	w.mu.Lock()
	w.report.Warnings = append(w.report.Warnings, warnings...)
	w.mu.Unlock()
	if err == nil {
		var is indices.Checked // an index that cannot be read matters once a document of its own is sent
		is, err = indices.CheckMappings(ctx, w.c, w.cfg.Prefix, indices.None, false)
		w.mu.Lock()
		maps.Copy(w.checked, is.Seen)
		w.report.Warnings = append(w.report.Warnings, is.Warnings()...)
		w.mu.Unlock()
	}
	var away *client.UnavailableError
	if errors.As(err, &away) && w.cfg.SpoolDir != "" {
		w.setDown(err)
		return nil
	}
	return err
}

// prepare makes sure that the indices of documents to be sent have the right mappings.
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
		// One for all senders: while the shard starts, the others would only be told that the index is there already.
		_, err, _ := w.preparing.Do(index, func() (any, error) {
			err := indices.Prepare(ctx, w.c, w.cfg.Prefix, index)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.checked[index] = err == nil
			return nil, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Add adds one document, which it copies; see Make.
func (w *BulkWriter) Add(ctx context.Context, index string, id, doc []byte) error {
	return w.Make(ctx, index, id, prebuilt(doc))
}

// Make adds one document. An error means that it was not added: the context ended, the document could not be
// made, or the writer has failed permanently.
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
	if len(w.cur.raw) > int(w.most.Load()) && len(w.cur.items) > 1 {
		// The document starts the next request.
		w.over = append(w.over[:0], w.cur.drop()...)
		if err = w.dispatch(ctx); err == nil {
			err = w.open(ctx)
		}
		if err != nil {
			return err
		}
		w.cur.raw = slices.Grow(w.cur.raw, w.cfg.FlushBytes+overhang) // the next batch will be as full
		if _, err = w.cur.add(n, index, id, prebuilt(w.over)); err != nil {
			return err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[n].Made++
	w.counts[n].Bytes += int64(size)
	return nil
}

// open waits for a batch to fill, if there is none. The caller holds adding.
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

// numberOf returns the number of an index in counts.
func (w *BulkWriter) numberOf(index string) (int32, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, ok := w.number[index]
	if !ok {
		n = int32(len(w.counts))
		w.number[index] = n
		w.counts = append(w.counts, new(Counts))
		w.names = append(w.names, index)
		kind, _ := esmodel.KindOf(w.cfg.Prefix, index)
		w.events = append(w.events, kind == esmodel.KindEvent)
	}
	return n, w.fatal
}

// Push sends what is held. If the maximum number of requests is under way, it goes with the next documents.
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

// dispatch passes the batch being filled to a sender. The caller holds adding.
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

func (w *BulkWriter) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending--
	if w.pending == 0 {
		close(w.idle)
	}
}

// Flush waits for all outcomes. It fails if ctx ends or the writer has failed permanently.
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

// Close waits for all outcomes until ctx ends, spools documents without one, and ends the writer's goroutines.
// Its error is about the files of the spool. A second Close is a no-op.
func (w *BulkWriter) Close(ctx context.Context, complete bool) error {
	// When ctx ends, the senders give up, which unblocks all that wait for one.
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
	w.mu.Lock()
	defer w.mu.Unlock()
	err := errors.Join(w.spool.close(), w.refused.close())
	if failed := cmp.Or(w.spool.failed, w.refused.failed); failed != nil { // an interrupted command has another error
		w.report.Warnings = append(w.report.Warnings, "not all of what Elasticsearch did not take is kept: "+
			failed.Error())
	}
	if complete && err == nil {
		err = errors.Join(w.spool.removeOld(), w.refused.removeOld())
	}
	return err
}

// Report returns the account so far.
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
