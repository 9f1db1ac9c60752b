package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/delivery"
	"fiolat/fio"
	"fiolat/internal/alert"
	"fiolat/internal/metrics"
	"fiolat/internal/probe"
	"fiolat/internal/ui"
)

const (
	// probeQueue is how many samples and reports may wait to become documents.
	probeQueue = 8192
	// A document that has waited patience for the writer is spooled, and so are all
	// others for the time of spooling.
	patience = 50 * time.Millisecond
	spooling = 5 * time.Second
	// probeDrain is how long the end waits for acknowledgements. With probe.Grace it
	// must be less than graceful in cmd/fiolat.
	probeDrain = 3 * time.Second
)

// probeDocs writes the documents of a probe. Probing never waits for it: documents
// that Elasticsearch does not take in time are spooled, and what cannot be written
// anywhere is counted as lost.
type probeDocs struct {
	u       *ui.UI
	prefix  string
	queue   chan probeItem
	dropped atomic.Int64
	done    chan struct{}
	enc     *esmodel.ProbeEncoder
	run     string
	alerts  *alert.Dispatcher // nil without alerts
	metrics *metrics.Exporter // nil: none

	// one of the two is nil
	bulk  *delivery.BulkWriter
	files *delivery.ProbeFiles

	client  *client.Client
	stalled time.Time // until then all documents are spooled
	spooled int64
	made    int64
	err     error // the first error
	failed  int64 // documents lost by errors
}

var errTooFast = errors.New("they cannot be written as fast as they are made")

type probeItem struct {
	target *probe.Target
	sample probe.Sample
	report *probe.Report
}

func openProbeDocs(ctx context.Context, u *ui.UI, o *probeOptions, shown *metrics.Exporter) (d *probeDocs, err error) {
	prefix, output := o.es.Prefix, o.es.Spool
	d = &probeDocs{u: u, prefix: prefix, queue: make(chan probeItem, probeQueue), done: make(chan struct{}),
		run: o.of.ID, metrics: shown,
		enc: esmodel.NewProbeEncoder(prefix, o.of, o.dir.Name)}
	if d.alerts, err = startAlerts(o.alerts.Config, u); err != nil {
		return nil, err
	}
	if len(o.es.Addresses) > 0 {
		if d.client, err = o.es.Connect(u); err != nil {
			return nil, err
		}
		// Small requests, and few of them: a probe must not need much memory.
		d.bulk, err = delivery.NewBulkWriter(d.client, delivery.BulkConfig{Prefix: prefix, SpoolDir: output,
			FlushBytes: 512 << 10, InFlight: 2})
		if err == nil {
			err = d.bulk.Open(ctx, o.of)
		}
		if err != nil {
			return nil, err
		}
		for _, w := range d.bulk.Report().Warnings {
			u.Warn(w)
		}
	} else {
		d.files = delivery.NewProbeFiles(output, o.of.ID)
		u.Say("info", "no Elasticsearch given: documents go into %s", output)
	}
	go d.write()
	return d, nil
}

func (d *probeDocs) sample(t *probe.Target, s *probe.Sample) { d.put(probeItem{target: t, sample: *s}) }

// report queues a report, and raises an alert for a change at once, as it shows the metrics: documents and files may be
// written to what hangs.
func (d *probeDocs) report(r *probe.Report) {
	if d.metrics != nil {
		d.metrics.Report(r)
	}
	d.put(probeItem{report: r})
	if _, id, doc, ok := d.enc.Event(r); ok && d.alerts != nil {
		d.alerts.Raise(alertOf(finding{id, fio.Printable(r.Target.Path) + ": " + r.Change.Text, doc}))
	}
}

func (d *probeDocs) put(i probeItem) {
	select {
	case d.queue <- i:
	default:
		if d.dropped.Add(1) == 1 {
			d.u.Warn("documents cannot be written as fast as they are made: some are lost; their number follows at " +
				"the end")
		}
	}
}

func (d *probeDocs) write() {
	defer close(d.done)
	for i := range d.queue {
		if i.report == nil {
			if index, id, doc, ok := d.enc.Sample(i.target, &i.sample); ok {
				d.add(index, id, doc)
			}
			continue
		}
		if d.metrics != nil {
			d.metrics.Write()
		}
		if err := d.enc.Report(i.report, d.add); err != nil {
			d.fail(err)
		}
		if index, id, doc, ok := d.enc.Event(i.report); ok {
			d.add(index, id, doc)
		}
		if d.bulk != nil {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			_ = d.bulk.Push(ctx) // what it does not send goes with the next push
			cancel()
		}
	}
}

func (d *probeDocs) add(index, id string, doc []byte) {
	d.made++
	var err error
	switch {
	case d.files != nil:
		err = d.files.Add(index, id, doc)
	case time.Now().Before(d.stalled):
		err = d.spool(index, id, doc)
	default:
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		err = d.bulk.Add(ctx, index, []byte(id), doc)
		cancel()
		if err != nil {
			d.stalled = time.Now().Add(spooling)
			err = d.spool(index, id, doc)
		}
	}
	if err != nil {
		d.fail(err)
	}
}

func (d *probeDocs) spool(index, id string, doc []byte) error {
	err := d.bulk.Spool(index, id, doc)
	if err == nil {
		d.spooled++
	}
	return err
}

// fail counts a lost document, and warns of the first.
func (d *probeDocs) fail(err error) {
	d.failed++
	if d.err == nil {
		d.err = err
		d.u.Warn(fmt.Sprintf("documents are lost: %v", err))
	}
}

// close waits for documents in flight, prints the counts, and returns an error if not
// all arrived.
func (d *probeDocs) close() error {
	close(d.queue)
	<-d.done
	lost := d.failed + d.dropped.Load()
	if d.err == nil && lost > 0 {
		d.err = errTooFast
	}
	if d.files != nil {
		err := d.files.Close()
		d.u.Say("info", "documents  %d made, %d written, %d lost (run %s)", d.made+d.dropped.Load(), d.made-d.failed,
			lost, d.run)
		if lost > 0 {
			err = errors.Join(err, fmt.Errorf("%s lost: %w", fio.Several(int(lost), "document"), d.err))
		}
		return err
	}
	defer d.client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), probeDrain)
	defer cancel()
	err := d.bulk.Close(ctx, false)
	r := d.bulk.Report()
	// The report of the writer lacks what was not passed to it.
	r.Indices[""] = delivery.Counts{Made: d.made + d.dropped.Load() - r.Total().Made, Spooled: d.spooled, Lost: lost}
	t := r.Total()
	d.u.Say("info", "documents  %d made, %d indexed, %d refused, %d spooled, %d lost (run %s)", t.Made, t.Indexed,
		t.Refused, t.Spooled, t.Lost, d.run)
	for _, refusal := range r.Refusals {
		d.u.Say("error", "refused    %d: %s", refusal.Count, refusal)
	}
	if r.SpoolFile != "" {
		d.u.Say("error", "what could not be sent is in a file; to finish: fiolat load %s", r.SpoolFile)
	}
	if err == nil && t.Incomplete() {
		err = &delivery.IncompleteError{Report: r, Err: d.err}
	}
	return err
}
