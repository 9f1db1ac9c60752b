package stored

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
)

// Figures are the numbers of a whole run, as stored in its document.
type Figures struct {
	RunSummary
	Start    time.Time
	Geometry fiohist.Geometry
	Sameness fiojson.Sameness
	// Histograms is by direction; nil in documents of an older fiolat and of runs that are not complete.
	Histograms map[string]*esmodel.RunHistogram
}

// ListFigures returns the figures of the runs in Elasticsearch that the filter selects, of one kind of latency,
// the earliest first. Of a run that was ingested in parts and merged, the parts are left out.
func ListFigures(ctx context.Context, c *client.Client, prefix string, f RunFilter,
	kind fio.Kind) ([]Figures, error) {
	query := map[string]any{"bool": map[string]any{"filter": []any{f.query(), client.Term("fio.kind", kind.String())}}}
	return listFigures(ctx, c, prefix, query)
}

// RunFigures returns the figures of the run with that id, or of each of its parts if they are not merged.
func RunFigures(ctx context.Context, c *client.Client, prefix, runID string, kind fio.Kind) ([]Figures, error) {
	return listFigures(ctx, c, prefix, map[string]any{"bool": map[string]any{"filter": []any{
		client.Term("run.id", runID), client.Term("fio.kind", kind.String())}}})
}

func listFigures(ctx context.Context, c *client.Client, prefix string, query any) (out []Figures, err error) {
	_, err = client.Search(ctx, c, client.SearchRequest{
		Index: esmodel.Indices(prefix, esmodel.KindRun), Query: query, PageSize: figuresPage,
		Sort: []any{map[string]any{"@timestamp": "asc"}, map[string]any{"run.id": "asc"}},
		Source: []string{"run", "labels", "host", "fio.*", "interval", "rollup", "logs", "parts", "summary", "latency",
			"whole", "jobs.options", "jobs.global", "jobs.sections"},
	}, func(h client.Hit) error {
		f, bad := readFigures(h.Source)
		out = append(out, f)
		return bad
	})
	return withoutParts(out), err
}

// figuresPage limits a page of runs, each of tens of kilobytes, to a few megabytes.
const figuresPage = 200

// DirFigures returns the figures of a run with documents in a directory, or of each of its parts if they are not
// merged, the earliest first; runID "" is any run.
func DirFigures(dir, runID string, kind fio.Kind) (out []Figures, err error) {
	heads, err := dirHeads(dir, runID)
	for _, h := range heads {
		if h.Fio.Kind != kind.String() || !strings.HasSuffix(h.index, "-"+string(esmodel.KindRun)) {
			continue
		}
		f, bad := readFigures(h.doc)
		if bad != nil {
			return nil, fmt.Errorf("%s: %w", fio.Printable(h.path), bad)
		}
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b Figures) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.Run.ID, b.Run.ID))
	})
	return withoutParts(out), err
}

func readFigures(source []byte) (f Figures, err error) {
	if f.RunSummary, err = readSummary(source); err == nil {
		f.Start, err = time.Parse(time.RFC3339Nano, f.Run.Start)
	}
	if wrong := esmodel.CheckFormat(f.Run.ID, f.Run.Part, f.Run.Format); err == nil && wrong != nil {
		return f, wrong
	}
	if err == nil {
		f.Geometry, f.Histograms, err = esmodel.ReadRunHistograms(source)
	}
	if err == nil {
		f.Sameness, err = esmodel.ReadSameness(source)
	}
	if err != nil {
		err = fmt.Errorf("the document of run %q cannot be read: %w", f.Run.ID, err)
	}
	return f, err
}
