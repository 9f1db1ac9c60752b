package runs

import (
	"strconv"

	"fiolat/esmodel"
	"fiolat/esmodel/stored"
	"fiolat/internal/render"
)

// sizeOf is the size of a run in Elasticsearch.
type sizeOf struct {
	ID     string         `json:"id"`
	Name   string         `json:"name,omitempty"`
	Status esmodel.Status `json:"status"`
	Start  string         `json:"start"`
	stored.Size
}

type allSizes struct {
	Runs  []sizeOf    `json:"runs"`
	Total stored.Size `json:"total"`
}

// sizesOf returns the size of each run once, and their total.
func sizesOf(rows []run, sizes map[string]stored.Size) allSizes {
	out := allSizes{Runs: []sizeOf{}}
	seen := map[string]bool{}
	for _, r := range rows {
		of, size := r[0].Run, sizes[r[0].Run.ID]
		if seen[of.ID] {
			continue // another part
		}
		seen[of.ID] = true
		out.Runs = append(out.Runs, sizeOf{of.ID, of.Name, of.Status, of.Start, size})
		out.Total.Documents += size.Documents
		out.Total.Bytes += size.Bytes
	}
	return out
}

func sizeCells(s stored.Size, known bool) []string {
	if !known {
		return []string{"-", "-"}
	}
	mb := float64(s.Bytes) / 1e6
	return []string{strconv.FormatInt(s.Documents, 10), strconv.FormatFloat(mb, 'f', render.Decimals(mb), 64)}
}
