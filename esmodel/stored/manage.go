package stored

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"fiolat/esmodel"
	"fiolat/esmodel/claim"
	"fiolat/esmodel/client"
	"fiolat/esmodel/indices"
	"fiolat/fio"
	"fiolat/pipeline"
)

// RunFilter selects runs; the zero value selects all.
type RunFilter struct {
	// Labels and Options (fio's job options) must have these values.
	Labels, Options map[string]string
	// Named are beginnings of a run's id, name or title, one of which it must have, and labels KEY=VALUE, which it must
	// have all.
	Named []string
	// Since and Until bound the run's start, [Since, Until): a time in RFC 3339, or Elasticsearch's date math
	// such as now-7d; "" is no bound.
	Since, Until string
}

// RunSummary describes a run, or a part of one, in a list of runs.
type RunSummary struct {
	Run struct {
		ID     string         `json:"id"`
		Name   string         `json:"name,omitempty"`
		Title  string         `json:"title"`
		Part   string         `json:"part,omitempty"`
		Status esmodel.Status `json:"status"`
		Start  string         `json:"start"`
		End    *string        `json:"end,omitempty"`
		Quanta *int           `json:"quanta,omitempty"`
	} `json:"run"`
	Labels map[string]string `json:"labels,omitempty"`
	Host   struct {
		Name []string `json:"name,omitempty"`
	} `json:"host"`
	Fio struct {
		Kind    string   `json:"kind"`
		Version []string `json:"version,omitempty"`
		Job     []string `json:"job,omitempty"`
		// Workload describes the load in words.
		Workload []string            `json:"workload,omitempty"`
		Options  map[string][]string `json:"options,omitempty"`
	} `json:"fio"`
	Interval struct {
		MS float64 `json:"ms"`
	} `json:"interval"`
	// RollUp is what the run was rolled up from.
	RollUp struct {
		MS         float64 `json:"from_ms"`
		Coarseness int     `json:"from_coarseness"`
	} `json:"rollup,omitzero"`
	Logs struct {
		Count int `json:"count"`
	} `json:"logs"`
	// Parts are those that were merged.
	Parts []pipeline.Part `json:"parts,omitempty"`
	// FiguresOnly says that the indices with its intervals were deleted.
	FiguresOnly bool `json:"figures_only,omitempty"`
	// Summary holds by direction samples, iops, min, max, mean, p50, p99_9, ..., with latencies in ns; at_least
	// names percentiles.
	Summary map[string]map[string]any `json:"summary,omitempty"`
}

// ListRuns returns the runs that the filter selects, the latest first. Of a run that was ingested in parts and
// merged, the parts are left out.
func ListRuns(ctx context.Context, c *client.Client, prefix string, f RunFilter) ([]RunSummary, error) {
	return runs(ctx, c, prefix, f.query(), listed...)
}

func readSummary(source []byte) (r RunSummary, err error) {
	if err = esmodel.Decode(source, &r); err == nil && r.Run.Title == "" { // of an older fiolat
		r.Run.Title, err = esmodel.Title(source)
	}
	return r, err
}

// listed are the fields that a list of runs reads.
var listed = []string{"run", "labels", "host", "fio", "interval", "rollup", "logs", "parts", "summary"}

func (f RunFilter) query() map[string]any {
	return map[string]any{"bool": map[string]any{"filter": f.filters()}}
}

// filters is empty if the filter selects all runs.
func (f RunFilter) filters() []any {
	filter := []any{}
	for _, by := range []struct {
		field  string
		values map[string]string
	}{{"labels.", f.Labels}, {"fio.options.", f.Options}} {
		for _, k := range slices.Sorted(maps.Keys(by.values)) {
			filter = append(filter, client.Term(by.field+k, by.values[k]))
		}
	}
	var named []any
	for _, text := range f.Named {
		begins := []any{
			map[string]any{"prefix": map[string]any{"run.id": text}},
			map[string]any{"prefix": map[string]any{"run.name": text}},
			map[string]any{"prefix": map[string]any{"run.title": text}},
		}
		if k, v, ok := strings.Cut(text, "="); ok && k != "" {
			filter = append(filter, anyOf(append(begins, client.Term("labels."+k, v))))
		} else {
			named = append(named, begins...)
		}
	}
	if len(named) > 0 {
		filter = append(filter, anyOf(named))
	}
	span := map[string]any{}
	if f.Since != "" {
		span["gte"] = f.Since
	}
	if f.Until != "" {
		span["lt"] = f.Until
	}
	if len(span) > 0 {
		filter = append(filter, map[string]any{"range": map[string]any{"run.start": span}})
	}
	return filter
}

// anyOf is a query for what one of the queries finds.
func anyOf(queries []any) map[string]any {
	return map[string]any{"bool": map[string]any{"should": queries}}
}

// ShortIDs returns, by run.id, the shortest prefix by which FindRun finds each stored run; found are those that
// the filter selects. Only ids that are hashes are shortened.
func ShortIDs(ctx context.Context, c *client.Client, prefix string, f RunFilter, found []RunSummary) (
	out map[string]string, err error,
) {
	if len(f.filters()) > 0 {
		found, err = runs(ctx, c, prefix, nil, "run.id", "run.name", "run.part")
	}
	ids, taken := map[string]bool{}, map[string]bool{}
	for _, r := range found {
		ids[r.Run.ID], taken[r.Run.ID], taken[r.Run.Name] = true, true, true
	}
	return shorten(slices.Sorted(maps.Keys(ids)), taken), err
}

var hashed = regexp.MustCompile("^[0-9a-f]{32}$")

// shorten shortens sorted ids to prefixes that are unique and not in taken.
func shorten(ids []string, taken map[string]bool) map[string]string {
	out := map[string]string{}
	for i, id := range ids {
		out[id] = id
		if !hashed.MatchString(id) {
			continue
		}
		for n := shortID; n < len(id); n++ {
			short := id[:n]
			if !taken[short] && (i == 0 || !strings.HasPrefix(ids[i-1], short)) &&
				(i == len(ids)-1 || !strings.HasPrefix(ids[i+1], short)) {
				out[id] = short
				break
			}
		}
	}
	return out
}

// shortID is the minimum length of a short id, although minIDPrefix would do.
const shortID = 8

func runs(ctx context.Context, c *client.Client, prefix string, query any, source ...string) (
	runs []RunSummary, err error,
) {
	_, err = client.Search(ctx, c, client.SearchRequest{
		Index: esmodel.Indices(prefix, esmodel.KindRun), Query: query,
		Sort:   []any{map[string]any{"@timestamp": "desc"}, map[string]any{"run.id": "asc"}},
		Source: source,
	}, func(h client.Hit) error {
		r, bad := readSummary(h.Source)
		if bad != nil {
			return fmt.Errorf("the document of a run cannot be read: %w", bad)
		}
		runs = append(runs, r)
		return nil
	})
	return withoutParts(runs), err
}

// MarkGone sets FiguresOnly of complete runs of which no histogram is left: there is no index of the months in which
// they began and ended, and nothing elsewhere, as behind an alias.
func MarkGone(ctx context.Context, c *client.Client, prefix string, all []RunSummary) error {
	there, _, err := indices.CheckMappings(ctx, c, prefix, true)
	if errors.As(err, new(*indices.MappingError)) {
		return nil // of another template: who knows what is in it
	}
	for i := range all {
		r := &all[i]
		start, bad := time.Parse(time.RFC3339Nano, r.Run.Start)
		if err != nil || bad != nil || r.Run.End == nil || r.Run.Status != esmodel.StatusComplete {
			continue
		}
		end, _ := time.Parse(time.RFC3339Nano, *r.Run.End)
		month := func(at time.Time) string { return esmodel.Index(prefix, esmodel.KindHistogram, at.UnixNano()) }
		if !there[month(start)] && !there[month(end.Add(-1))] {
			var n int64
			n, err = indices.Count(ctx, c, esmodel.Indices(prefix, esmodel.KindHistogram),
				client.Term("run.id", r.Run.ID))
			r.FiguresOnly = err == nil && n == 0
		}
	}
	return err
}

func (r RunSummary) idAndPart() (id, part string) { return r.Run.ID, r.Run.Part }

// withoutParts leaves out the parts of runs that are also there as a whole.
func withoutParts[T interface{ idAndPart() (id, part string) }](all []T) []T {
	whole := map[string]bool{}
	for _, r := range all {
		if id, part := r.idAndPart(); part == "" {
			whole[id] = true
		}
	}
	return slices.DeleteFunc(all, func(r T) bool {
		id, part := r.idAndPart()
		return part != "" && whole[id]
	})
}

// minIDPrefix is the length from which on a prefix of a run.id identifies a run.
const minIDPrefix = 6

// FindRun returns the run with that id or, if there is none, the only one with that name, or else the only one
// whose id begins with it, in minIDPrefix characters or more. Several, or none, are an error.
func FindRun(ctx context.Context, c *client.Client, prefix, name string) (*RunSummary, error) {
	if err := indices.Refresh(ctx, c, prefix, nil); err != nil {
		return nil, err
	}
	rules := []struct {
		are   string
		query map[string]any
	}{
		{"have the id", client.Term("run.id", name)},
		{"have the name", client.Term("run.name", name)},
		{"have the title", client.Term("run.title", name)},
		{"have an id that begins with", map[string]any{"prefix": map[string]any{"run.id": name}}},
	}
	if len(name) < minIDPrefix {
		rules = rules[:3]
	}
	for _, rule := range rules {
		runs, err := runs(ctx, c, prefix, rule.query, listed...)
		if err != nil {
			return nil, err
		}
		var ids []string
		for _, r := range runs {
			if !slices.Contains(ids, r.Run.ID) {
				ids = append(ids, r.Run.ID)
			}
		}
		switch len(ids) {
		case 0:
			continue
		case 1:
			return &runs[0], nil
		}
		return nil, &fio.UsageError{Msg: fmt.Sprintf("%d runs %s %q", len(ids), rule.are, name),
			Hint: "name one by its run.id: " + strings.Join(ids, ", ")}
	}
	return nil, esmodel.Fault(name, "", "see fiolat runs", "there is no such run")
}

// Note is a remark to be shown beside a run's latency.
type Note struct {
	Run *RunSummary
	// At is the time in ns since 1970, Offset the same time in ns from the run's start.
	At, Offset int64
	Text       string
}

// Annotate stores a note and reports whether it is new: the same note at the same time is the same document.
// Searches find it when Annotate returns. If the run is deleted meanwhile, a new note is withdrawn and the error says
// so.
func Annotate(ctx context.Context, c *client.Client, prefix string, n Note) (created bool, err error) {
	if _, err = indices.EnsureTemplates(ctx, c, prefix); err != nil {
		return false, err
	}
	id, doc := esmodel.NoteEvent(n.Run.Run.ID, n.Run.Run.Name, n.Run.Run.Title, n.Run.Labels, n.At, n.Offset, n.Text)
	index := esmodel.Index(prefix, esmodel.KindEvent, n.At)
	result, err := putEvent(ctx, c, "store the note", index, id, doc, "wait_for")
	if err != nil {
		return false, err
	}
	created = result == "created"
	if err = notDeleted(ctx, c, prefix, n.Run); err != nil && created {
		err = cmp.Or(indices.DeleteHits(ctx, c, "withdraw the note", []client.Hit{{Index: index, ID: id}}, true,
			indices.Free, map[string]int64{}), err)
	}
	return created, err
}

// notDeleted returns an error if a run is deleted, or may be about to be. Who deletes it claims its documents before it
// looks for others, so it finds what was visible before this call.
func notDeleted(ctx context.Context, c *client.Client, prefix string, run *RunSummary) error {
	id := esmodel.RunDocID(run.Run.ID, run.Run.Part, run.Fio.Kind)
	source, err := c.Source(ctx, esmodel.Index(prefix, esmodel.KindRun, 0), id)
	if err != nil {
		return err
	}
	if source == nil {
		return esmodel.Fault(run.Run.ID, "", "see fiolat runs", "it was deleted meanwhile, and the note with it")
	}
	m, err := esmodel.ReadDocHeader(source)
	if err == nil && m.Claim != nil && m.Run.Status == esmodel.StatusPartial && !claim.Exited(&m.Claim.Owner) {
		err = esmodel.Fault(run.Run.ID, "", "try again when that has ended", "%v deletes or loads it: not noted",
			&m.Claim.Owner)
	}
	return err
}

// putEvent stores an event and returns "created" or "updated".
func putEvent(ctx context.Context, c *client.Client, op, index, id string, doc []byte, refresh string) (
	result string, err error,
) {
	var reply struct {
		ID     string `json:"_id"`
		Result string `json:"result"`
	}
	err = c.Call(ctx, client.Request{
		Op:   op,
		API:  esapi.IndexRequest{Index: index, DocumentID: id, Refresh: refresh},
		Body: doc,
	}, &reply)
	if err == nil && (reply.ID != id || reply.Result != "created" && reply.Result != "updated") {
		err = fmt.Errorf("%s: the reply says %q of document %q", op, reply.Result, reply.ID)
	}
	return reply.Result, err
}

// KindCounts holds numbers of documents by kind.
type KindCounts map[esmodel.Kind]int64

func (k KindCounts) String() string {
	var words []string
	for _, kind := range esmodel.Kinds {
		if n := k[kind]; n > 0 {
			words = append(words, fmt.Sprintf("%d of %s", n, kind))
		}
	}
	if n := k[""]; n > 0 { // of an index whose name does not tell
		words = append(words, fmt.Sprintf("%d behind aliases", n))
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ", ")
}

// CountRun counts the documents of a run by kind, including those of its parts and of all generations.
func CountRun(ctx context.Context, c *client.Client, prefix, runID string) (KindCounts, error) {
	return countRun(ctx, c, prefix, runID, nil)
}

func countRun(ctx context.Context, c *client.Client, prefix, runID string, touched []string) (KindCounts, error) {
	if err := indices.Refresh(ctx, c, prefix, touched); err != nil {
		return nil, err
	}
	out := KindCounts{}
	for _, kind := range esmodel.Kinds {
		n, err := indices.Count(ctx, c, esmodel.Indices(prefix, kind), client.Term("run.id", runID))
		if err != nil {
			return nil, err
		}
		if n > 0 {
			out[kind] = n
		}
	}
	return out, nil
}

// DeleteRun deletes all documents of a run, including notes, and counts them by kind. It claims all parts and
// kinds of the run and sets their documents to partial, and deletes these last, so that a half-deleted run does
// not look complete; deleting it again, by its id, finishes the job. Without the privilege to write, it deletes
// the documents of the run first instead of claiming them. If another process has claimed the run, the error is
// a *claim.Error. A closed index is an error, because its documents could not be deleted.
func DeleteRun(ctx context.Context, c *client.Client, prefix, runID string, takeOver bool) (KindCounts, error) {
	out, deleted := KindCounts{}, map[string]int64{}
	if _, _, err := indices.CheckMappings(ctx, c, prefix, true); err != nil {
		return out, err
	}
	if err := indices.Refresh(ctx, c, prefix, nil); err != nil {
		return out, err
	}
	d := &deletion{c: c, prefix: prefix, run: runID, takeOver: takeOver, claims: claims{}, byQuery: out}
	err := d.documents(ctx, deleted)
	if err == nil {
		err = d.nothingLeft(ctx, deleted)
	}
	runs, e := d.end(ctx, err == nil)
	for index, n := range deleted {
		kind, _ := esmodel.KindOf(prefix, index)
		out[kind] += n
	}
	if runs > 0 {
		out[esmodel.KindRun] = runs
	}
	return out, cmp.Or(err, e)
}

// keysOf returns the keys of a run's documents in fio-run, and whether another process had claimed each.
func keysOf(ctx context.Context, c *client.Client, prefix, runID string) (map[esmodel.RunKey]bool, error) {
	keys := map[esmodel.RunKey]bool{}
	_, err := client.Search(ctx, c, client.SearchRequest{
		Index: esmodel.Index(prefix, esmodel.KindRun, 0), Query: client.Term("run.id", runID),
		Source: []string{"run", "fio.kind", "claim"},
	}, func(h client.Hit) error {
		m, err := esmodel.ReadDocHeader(h.Source)
		if err == nil && m.Run.ID == runID && h.ID == m.Key().ID() {
			keys[m.Key()] = m.Claim != nil
		}
		return err
	})
	return keys, err
}

// claims are claims on documents of a run in fio-run.
type claims map[esmodel.RunKey]*claim.Claim

// take makes and takes claims for documents, in order of their ids. Those that others had claimed come first: if a
// claim is refused, it is before the other documents are touched.
func (all claims) take(ctx context.Context, keys map[esmodel.RunKey]bool,
	claimOf func(esmodel.RunKey) *claim.Claim) error {
	for _, key := range slices.SortedFunc(maps.Keys(keys), func(a, b esmodel.RunKey) int {
		if keys[a] != keys[b] {
			return map[bool]int{true: -1, false: 1}[keys[a]]
		}
		return cmp.Compare(a.ID(), b.ID())
	}) {
		all[key] = claimOf(key)
		if err := all[key].Take(ctx); err != nil {
			return err
		}
	}
	return nil
}

// hold is an indices.Holder. The document of that version may be of any of the claims.
func (all claims) hold(ctx context.Context, version int64) error {
	var highest int64
	for _, k := range all {
		if err := k.Hold(ctx); err != nil {
			return err
		}
		highest = max(highest, k.Fence())
	}
	if version <= highest {
		return nil
	}
	for _, k := range all {
		if err := k.Outrank(ctx, version); err != nil {
			return err
		}
	}
	return nil
}

// deletion is a DeleteRun in progress.
type deletion struct {
	c           *client.Client
	prefix, run string
	takeOver    bool
	claims      claims
	begun       bool // something may be deleted
	byQuery     KindCounts
}

// intervals deletes the documents of intervals of what is claimed where the server has _delete_by_query, which it
// does not where its module for that is missing. A document that was changed meanwhile ends it: those that are left are
// deleted one by one.
func (d *deletion) intervals(ctx context.Context) error {
	const most = 100_000 // in a request, which has to end in time
	for key := range d.claims {
		filter := []any{client.Term("run.id", key.Run), client.Term("fio.kind", key.Kind)}
		query := map[string]any{"filter": filter}
		if key.Part == "" {
			query["must_not"] = map[string]any{"exists": map[string]any{"field": "run.part"}}
		} else {
			query["filter"] = append(filter, client.Term("run.part", key.Part))
		}
		for _, kind := range []esmodel.Kind{esmodel.KindHistogram, esmodel.KindPercentiles} {
			for more := true; more; {
				if err := d.claims.hold(ctx, 0); err != nil {
					return err
				}
				begun := d.begun
				d.begun = true
				var reply struct{ Deleted int64 }
				err := d.c.Call(ctx, client.Request{
					Op: "delete documents of the run",
					API: esapi.DeleteByQueryRequest{Index: []string{esmodel.Indices(d.prefix, kind)}, Refresh: new(true),
						MaxDocs: new(most), IgnoreUnavailable: new(true), AllowNoIndices: new(true)},
					Body: esmodel.MustJSON(map[string]any{"query": map[string]any{"bool": query}}),
				}, &reply)
				var refused *client.RefusedError
				if errors.As(err, &refused) || errors.As(err, new(*client.ForbiddenError)) {
					d.begun = begun || refused != nil && refused.Status == http.StatusConflict
					return nil
				}
				if err != nil {
					return err
				}
				d.byQuery[kind] += reply.Deleted
				more = reply.Deleted == most
			}
		}
	}
	return nil
}

// documents deletes all documents but those of the run itself. Each belongs to a document of the run, which is
// claimed first, even if an interrupted attempt has deleted that one.
func (d *deletion) documents(ctx context.Context, deleted map[string]int64) error {
	query := client.Term("run.id", d.run)
	more, err := keysOf(ctx, d.c, d.prefix, d.run)
	if err == nil {
		err = d.claim(ctx, more)
	}
	if err == nil {
		err = d.intervals(ctx)
	}
	for err == nil {
		clear(more)
		err = indices.DeleteFound(
			ctx,
			d.c,
			"delete documents of the run",
			esmodel.AllIndices(d.prefix),
			query,
			func(m esmodel.DocHeader) bool {
				if m.Run.ID != d.run {
					return false
				}
				// Notes and the documents of probes belong to no document of a run.
				if m.Fio.Kind != "" && m.Fio.Kind != esmodel.ProbeKind && d.claims[m.Key()] == nil {
					more[m.Key()] = false
					return false
				}
				return true
			},
			func(ctx context.Context, version int64) error {
				bad := d.claims.hold(ctx, version)
				d.begun = d.begun || bad == nil
				return bad
			},
			deleted,
		)
		if len(more) == 0 {
			break
		}
		if err == nil {
			err = d.claim(ctx, more)
		}
	}
	return err
}

func (d *deletion) claim(ctx context.Context, keys map[esmodel.RunKey]bool) error {
	return d.claims.take(ctx, keys, func(key esmodel.RunKey) *claim.Claim {
		k := claim.New(d.c, d.prefix, key.Run, key.Part, key.Kind, key.PartialDoc)
		k.TakeOver, k.Deletes = d.takeOver, true
		return k
	})
}

// nothingLeft fails if documents of the run remain, other than those claimed.
func (d *deletion) nothingLeft(ctx context.Context, deleted map[string]int64) error {
	left, err := countRun(ctx, d.c, d.prefix, d.run, slices.Sorted(maps.Keys(deleted)))
	delete(left, esmodel.KindRun)
	if err == nil && len(left) > 0 {
		err = esmodel.Fault(
			d.run,
			"",
			"delete it again",
			"%v remain: another process is writing them, or an index matches other runs under this run.id",
			left,
		)
	}
	return err
}

// end deletes the claimed documents and returns their number or, unless through is set, releases the claims.
func (d *deletion) end(ctx context.Context, through bool) (n int64, err error) {
	if !through {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), client.DrainTime)
		defer cancel()
	}
	for _, k := range d.claims {
		if k.Deleted {
			if k.Found != nil {
				n++
			}
		} else if held, _ := k.Fresh(); held {
			doc := k.Doc
			if !d.begun {
				doc = k.Found // as it was
			}
			if through || k.Found == nil {
				doc = nil
			}
			if e := k.ReleaseRetrying(ctx, doc); e != nil {
				err = cmp.Or(err, e)
			} else if through && k.Found != nil {
				n++
			}
		}
		k.End()
	}
	if through && err == nil {
		err = indices.Refresh(ctx, d.c, d.prefix, []string{esmodel.Index(d.prefix, esmodel.KindRun, 0)})
	}
	return n, err
}
