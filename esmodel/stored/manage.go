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
	"fiolat/esmodel/client"
	"fiolat/esmodel/indices"
	"fiolat/fio"
	"fiolat/pipeline"
)

// RunFilter selects runs; the zero value selects all.
type RunFilter struct {
	// Labels and Options (fio's job options) must have these values.
	Labels, Options map[string]string
	// Named are beginnings of a run's id, or of a word of its name or title, one of which it must have, and labels
	// KEY=VALUE, which it must have all.
	Named []string
	// Since and Until bound the run's start, [Since, Until): a time in RFC 3339, or Elasticsearch's date math
	// such as now-7d; "" is no bound.
	Since, Until string
}

// longestWord is how long a text is in bytes that is looked for within names: Elasticsearch limits regular expressions.
const longestWord = 100

// special is what a regular expression may give a meaning.
var special = regexp.MustCompile(`[!-/:-@\[-` + "`" + `{-~ ]`)

// RunSummary describes a run, or a part of one, in a list of runs.
type RunSummary struct {
	Run struct {
		ID        string         `json:"id"`
		Name      string         `json:"name,omitempty"`
		Title     string         `json:"title"`
		Part      string         `json:"part,omitempty"`
		Status    esmodel.Status `json:"status"`
		Start     string         `json:"start"`
		End       *string        `json:"end,omitempty"`
		Intervals *int           `json:"quanta,omitempty"`
		// Format is the format of its documents; 0 where it was not stored yet.
		Format int `json:"format_version"`
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

// OtherFormats returns the runs that another fiolat has stored in a format that this one does not read.
func OtherFormats(ctx context.Context, c *client.Client, prefix string) ([]RunSummary, error) {
	return runs(ctx, c, prefix, map[string]any{"bool": map[string]any{
		"filter": map[string]any{"exists": map[string]any{"field": "run.start"}},
		"must_not": map[string]any{"range": map[string]any{"run.format_version": map[string]any{
			"gte": pipeline.ReadableFormat, "lte": pipeline.FormatVersion}}}}}, "run")
}

// WarnFormats returns a warning that names the runs in another format, "" if there are none.
func WarnFormats(all []RunSummary) string {
	const most = 20
	var other []string
	for _, r := range all {
		if r.OtherFormat() {
			other = append(other, fio.RunName(r.Run.ID, r.Run.Name))
		}
	}
	other = slices.Compact(other)
	n := len(other)
	if n == 0 {
		return ""
	}
	if n > most {
		other = append(other[:most], fmt.Sprintf("%d more", n-most))
	}
	return fmt.Sprintf("%s stored by another version of fiolat: percentiles over them and other runs are wrong, because "+
		"their counts have another unit; ingest again or delete %s", fio.Several(n, "run"), fio.List(other, "and"))
}

// OtherFormat reports whether the run is in a format that this fiolat does not read.
func (r *RunSummary) OtherFormat() bool {
	return r.Run.Start != "" && !esmodel.Readable(r.Run.Format)
}

func readSummary(source []byte) (r RunSummary, err error) {
	err = esmodel.Decode(source, &r)
	if err == nil && r.Run.Title == "" { // of an older fiolat
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
		text = fio.Printable(text)
		begins := []any{
			map[string]any{"prefix": map[string]any{"run.id": text}},
			map[string]any{"prefix": map[string]any{"run.name": text}},
			map[string]any{"prefix": map[string]any{"run.title": text}},
		}
		if len(text) <= longestWord {
			word := "(.*[^a-zA-Z0-9])?" + special.ReplaceAllString(text, `\$0`) + ".*"
			begins = append(begins, map[string]any{"regexp": map[string]any{"run.name": word}},
				map[string]any{"regexp": map[string]any{"run.title": word}})
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
	is, err := indices.CheckMappings(ctx, c, prefix, indices.None, true)
	if errors.As(err, new(*indices.MappingError)) {
		return nil // of another template: who knows what is in it
	}
	if no := (*client.RefusedError)(nil); errors.As(err, &no) && no.Type == "index_not_found_exception" {
		return &fio.ParseError{File: "index " + esmodel.Index(prefix, esmodel.KindRun, 0), Msg: "it does not exist",
			Hint: "run fiolat setup, or fiolat ingest"}
	}
	for i := range all {
		r := &all[i]
		start, bad := time.Parse(time.RFC3339Nano, r.Run.Start)
		if err != nil || bad != nil || r.Run.End == nil || r.Run.Status != esmodel.StatusComplete {
			continue
		}
		end, _ := time.Parse(time.RFC3339Nano, *r.Run.End)
		month := func(at time.Time) string { return esmodel.Index(prefix, esmodel.KindHistogram, at.UnixNano()) }
		there := func(at time.Time) bool { return is.Seen[month(at)] || slices.Contains(is.Unread, month(at)) }
		if !there(start) && !there(end.Add(-1)) {
			var n int64
			n, err = indices.Count(ctx, c, indices.Scope{Prefix: prefix, Without: is.Unread}.Of(esmodel.KindHistogram),
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
	if err := refresh(ctx, c, prefix); err != nil {
		return nil, err
	}
	is := func(field string) map[string]any { // older ones are stored as they were given
		return map[string]any{"terms": map[string]any{field: []string{name, fio.Printable(name)}}}
	}
	rules := []struct {
		are   string
		query map[string]any
	}{
		{"have the id", is("run.id")},
		{"have the name", is("run.name")},
		{"have the title", is("run.title")},
		{"have an id that begins with", map[string]any{"prefix": map[string]any{"run.id": fio.Printable(name)}}},
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
	err = notDeleted(ctx, c, prefix, n.Run)
	if err != nil && created {
		err = cmp.Or(indices.DeleteHits(ctx, c, "withdraw the note", []client.Hit{{Index: index, ID: id}}, true,
			indices.Free, map[string]int64{}), err)
	}
	return created, err
}

// notDeleted returns an error if a run is deleted, or may be about to be. Who deletes it marks it before it
// looks for documents, so it finds what was visible before this call.
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
	if err == nil && m.Owner != nil && m.Run.Status == esmodel.StatusPartial {
		err = esmodel.Fault(run.Run.ID, "", "try again when that has ended", "%v deletes or loads it: not noted",
			m.Owner)
	}
	return err
}

// putEvent stores an event and returns "created" or "updated"; what is there keeps the time at which it was stored.
func putEvent(ctx context.Context, c *client.Client, op, index, id string, doc []byte, refresh string) (
	result string, err error,
) {
	var reply struct {
		ID     string `json:"_id"`
		Result string `json:"result"`
	}
	found, err := c.Source(ctx, index, id)
	if err == nil {
		doc, err = esmodel.Ingested(doc, found, time.Now())
	}
	if err != nil {
		return "", err
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
	in, err := indices.Readable(ctx, c, prefix)
	if err != nil {
		return nil, err
	}
	return countRun(ctx, c, in, runID, nil)
}

func countRun(ctx context.Context, c *client.Client, in indices.Scope, runID string, touched []string) (KindCounts,
	error) {
	if err := indices.Refresh(ctx, c, in, touched); err != nil {
		return nil, err
	}
	out := KindCounts{}
	for _, kind := range esmodel.Kinds {
		n, err := indices.Count(ctx, c, in.Of(kind), client.Term("run.id", runID))
		if err != nil {
			return nil, err
		}
		if n > 0 {
			out[kind] = n
		}
	}
	return out, nil
}

// DeleteRun deletes all documents of a run, including notes, and counts them by kind. The documents of the run itself
// are marked and partial meanwhile, and deleted last, so that a half-deleted run does not look complete; deleting it
// again, by its id, finishes the job. A closed index is an error, because its documents could not be deleted, as is one
// that cannot be read where documents of the run may lie; others that cannot be read are left alone.
func DeleteRun(ctx context.Context, c *client.Client, prefix, runID string) (out KindCounts, err error) {
	d := &deletion{c: c, prefix: prefix, run: runID, marks: map[esmodel.RunKey]*indices.Mark{},
		deleted: map[string]int64{}}
	out = KindCounts{}
	defer func() {
		if err == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), client.DrainTime)
		defer cancel()
		for _, k := range d.marks {
			if !k.Taken() {
				continue
			}
			doc := k.Found
			if d.begun {
				doc = k.Doc
			}
			_ = k.Retry(ctx, "unmark", func() error { // err is the cause
				return k.Remove(ctx, true, func([]byte) []byte { return doc })
			})
		}
	}()
	if err := refresh(ctx, c, prefix); err != nil {
		return out, err
	}
	there, err := headersOf(ctx, c, prefix, runID)
	if err != nil {
		return out, err
	}
	is, err := indices.CheckMappings(ctx, c, prefix, func(index string) bool {
		return len(there) == 0 || slices.ContainsFunc(there, func(m esmodel.DocHeader) bool {
			return indices.MonthsOf(prefix, m)(index)
		})
	}, true)
	in := indices.Scope{Prefix: prefix, Without: is.Unread}
	for i := 0; err == nil && i < len(there); i++ {
		err = d.mark(ctx, there[i].Key(), there[i].State())
	}
	d.begun = err == nil
	if err == nil && d.unmarked {
		err = d.found(ctx, esmodel.Indices(prefix, esmodel.KindRun))
	}
	var left KindCounts
	for tries := 0; err == nil; tries++ { // what was under way when the run was marked arrives later
		if err = d.found(ctx, in.Names()); err != nil {
			break
		}
		left, err = countRun(ctx, c, in, runID, slices.Sorted(maps.Keys(d.deleted)))
		delete(left, esmodel.KindRun)
		if err == nil && len(left) > 0 && tries == 3 {
			err = esmodel.Fault(runID, "", "delete it again",
				"%v remain: another process is writing them, or an index matches other runs under this run.id", left)
		}
		if len(left) == 0 {
			break
		}
	}
	for index, n := range d.deleted {
		kind, _ := esmodel.KindOf(prefix, index)
		out[kind] += n
	}
	for _, k := range d.marks {
		if err != nil || !k.Taken() {
			continue
		}
		err = k.Retry(ctx, "delete the document of", func() error {
			return k.Remove(ctx, true, func([]byte) []byte { return nil })
		})
		if err == nil && k.Found != nil {
			out[esmodel.KindRun]++
		}
	}
	return out, err
}

// deletion is the deletion of a run.
type deletion struct {
	c        *client.Client
	prefix   string
	run      string
	marks    map[esmodel.RunKey]*indices.Mark
	unmarked bool // who deletes may not write
	begun    bool // documents may be deleted
	deleted  map[string]int64
}

// mark marks a document of the run, so that whoever writes the documents that belong to it learns it.
func (d *deletion) mark(ctx context.Context, key esmodel.RunKey, read esmodel.State) error {
	if d.marks[key] != nil || d.unmarked {
		return nil
	}
	k := indices.NewMark(d.c, d.prefix, key, func(found []byte) []byte {
		return esmodel.WithoutGeneration(key.PartialDoc(found))
	})
	k.Refuse = read.Still(key)
	d.marks[key] = k
	err := k.Retry(ctx, "mark", func() error { return k.Set(ctx) })
	var no *client.ForbiddenError
	if errors.As(err, &no) && no.Status == http.StatusForbidden {
		d.unmarked, err = true, nil
	}
	return err
}

// found deletes what is found in indices. Each page is deleted in the versions that were found before the marks were
// looked at: what another process writes when it has taken one over stays.
func (d *deletion) found(ctx context.Context, of string) error {
	meant := func(m esmodel.DocHeader) bool { return m.Run.ID == d.run }
	hold := func(ctx context.Context, page ...esmodel.RunKey) error {
		for _, key := range page {
			if key.Kind == "" || key.Kind == esmodel.ProbeKind { // of no document of a run
				continue
			}
			err := d.mark(ctx, key, esmodel.State{})
			if k := d.marks[key]; err == nil && !d.unmarked {
				err = k.Holds(ctx)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return indices.DeleteFound(ctx, d.c, "delete documents of the run", of, client.Term("run.id", d.run), meant, hold,
		d.deleted)
}

// headersOf reads a run's documents in fio-run.
func headersOf(ctx context.Context, c *client.Client, prefix, runID string) (there []esmodel.DocHeader, err error) {
	_, err = client.Search(ctx, c, client.SearchRequest{
		Index: esmodel.Index(prefix, esmodel.KindRun, 0), Query: client.Term("run.id", runID),
		Source: []string{"run", "fio.kind", "rolling"},
	}, func(h client.Hit) error {
		m, err := esmodel.ReadDocHeader(h.Source)
		if err == nil && m.Run.ID == runID && h.ID == m.Key().ID() {
			there = append(there, m)
		}
		return err
	})
	return there, err
}
