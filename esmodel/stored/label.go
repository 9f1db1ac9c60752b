package stored

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"fiolat/esmodel"
	"fiolat/esmodel/claim"
	"fiolat/esmodel/client"
	"fiolat/esmodel/indices"
)

// Labels are changes to the labels of a run: those of Set are added or replaced, those of Remove are removed.
type Labels struct {
	Set    map[string]string
	Remove []string
}

// Label changes the labels of a run in its documents in fio-run, of all parts and kinds of latency, and in its
// events. It returns how many documents of each kind it has changed; repeated, it changes nothing. Documents of
// quanta keep the labels of the ingest. The run is claimed meanwhile; if another process has claimed it, the
// error is a *claim.Error.
func Label(ctx context.Context, c *client.Client, prefix, runID string, l Labels, takeOver bool) (KindCounts, error) {
	if err := esmodel.CheckLabels(l.Set); err != nil {
		return nil, err
	}
	if err := indices.Refresh(ctx, c, prefix, nil); err != nil {
		return nil, err
	}
	keys, err := keysOf(ctx, c, prefix, runID)
	if err != nil {
		return nil, err
	}
	out, held := KindCounts{}, claims{}
	defer func() {
		for _, k := range held {
			k.End()
		}
	}()
	err = held.take(ctx, keys, func(key esmodel.RunKey) *claim.Claim {
		k := claim.New(c, prefix, key.Run, key.Part, key.Kind, func(found []byte) []byte {
			if found == nil {
				return key.PartialDoc(nil)
			}
			return found
		})
		k.TakeOver, k.Refresh = takeOver, true
		return k
	})
	gone := len(held) == 0
	for _, k := range held {
		gone = gone || k.Before() == nil
	}
	if err == nil && gone {
		err = esmodel.Fault(runID, "", "see fiolat runs", "it was deleted meanwhile")
	}
	if err == nil {
		out[esmodel.KindEvent], err = labelEvents(ctx, c, prefix, runID, l, held.hold)
	}
	through := err == nil
	if !through {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), client.DrainTime)
		defer cancel()
	}
	for _, k := range held {
		if ours, _ := k.Fresh(); !ours {
			continue
		}
		doc := k.Before()
		if through && doc != nil {
			changed, e := esmodel.Relabel(doc, l.Set, l.Remove)
			if e == nil && !bytes.Equal(changed, doc) {
				doc = changed
				out[esmodel.KindRun]++
			}
			err = errors.Join(err, e)
		}
		err = errors.Join(err, k.ReleaseRetrying(ctx, doc))
	}
	return out, err
}

// labelEvents changes the labels of a run's events, each in the version that was read. Events that were changed
// meanwhile are read again.
func labelEvents(ctx context.Context, c *client.Client, prefix, runID string, l Labels, hold indices.Holder) (
	n int64, err error,
) {
	const op = "label the events of the run"
	p := c.Retrier(op, c.MaxWait)
	for {
		again := false
		err = c.Scan(ctx, client.ScanRequest{
			Op: op, Indices: esmodel.Indices(prefix, esmodel.KindEvent), Query: client.Term("run.id", runID),
			Fields:    map[string]any{"seq_no_primary_term": true},
			MayRepeat: true, // events with the right labels are skipped
		}, func(page []client.Hit) error {
			stored, missed, bad := labelPage(ctx, c, op, page, l, hold)
			n += stored
			again = again || missed
			return bad
		})
		if err == nil && !again {
			return n, nil
		}
		if err == nil {
			err = &client.TemporaryError{Err: errors.New("events were changed meanwhile")}
		}
		if err = p.Wait(ctx, err); err != nil {
			return n, err
		}
	}
}

// labelPage changes the labels of some events. missed says that one of them must be read and tried again.
func labelPage(ctx context.Context, c *client.Client, op string, page []client.Hit, l Labels, hold indices.Holder) (
	stored int64, missed bool, err error,
) {
	var body []byte
	var todo []client.Hit
	for _, h := range page {
		doc, bad := esmodel.Relabel(h.Source, l.Set, l.Remove)
		if bad != nil {
			return 0, false, fmt.Errorf("%s/%s: %w", h.Index, h.ID, bad)
		}
		if bytes.Equal(doc, h.Source) {
			continue
		}
		todo = append(todo, h)
		body = esmodel.AppendString(append(body, `{"index":{"_index":`...), h.Index)
		body = esmodel.AppendString(append(body, `,"_id":`...), h.ID)
		body = strconv.AppendInt(append(body, `,"if_seq_no":`...), h.SeqNo, 10)
		body = strconv.AppendInt(append(body, `,"if_primary_term":`...), h.Term, 10)
		body = append(append(append(body, "}}\n"...), doc...), '\n')
	}
	if len(todo) == 0 {
		return 0, false, nil
	}
	if err = hold(ctx, 0); err != nil { // each is changed in the version that was read
		return 0, false, err
	}
	items, err := c.Bulk(ctx, client.BulkRequest{Op: op, Body: bytes.NewReader(body), Refresh: true}, len(todo),
		func(i int) []byte { return []byte(todo[i].ID) }, nil)
	if err != nil {
		return 0, false, err
	}
	stored = int64(len(todo)) - int64(len(items))
	for i := range items {
		switch e := items[i].Err(op + " in " + todo[i].Index); {
		case e == nil:
			stored++
		case items[i].Status == http.StatusConflict || errors.As(e, new(*client.TemporaryError)):
			missed = true
		default:
			return stored, missed, e
		}
	}
	return stored, missed, nil
}
