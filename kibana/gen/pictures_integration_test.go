//go:build integration

package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fiolat/kibana/kibanatest"
)

// lensPictures draws the answers of Lens charts of a run into files that begin with a path. Lens itself is not at
// hand: tables are drawn as plain ones, and lines and bars by Vega-Lite.
func (p *page) lensPictures(t *testing.T, run, path string, panels ...string) {
	for _, o := range p.s.bundle.space.Charts(typeLens) {
		id := o.ID
		if panels != nil && !slices.Contains(panels, id) {
			continue
		}
		t.Run("lens "+id, func(t *testing.T) {
			st, _ := p.s.open(t, id)
			switch of, _, _ := strings.Cut(id, "-"); {
			case of == "kinds" && run == "cluster":
				st = st.Choose("run.id", "run-kinds")
			case of == "kinds" || of == "live" || of == "run" || of == "host":
				st = st.Choose("run.id", "run-"+run)
			}
			p.panel = p.lensPicture(t, st, o)
			evaluate[bool](t, p, "fetch('/panel').then(r => r.json()).then(draw)")
			p.screenshots(t, strings.ReplaceAll(path, "ID", id))
		})
	}
}

func (p *page) lensPicture(t *testing.T, st kibanatest.State, o *kibanatest.Object) m {
	t.Helper()
	lens, err := p.s.bundle.space.Lens(o, st, p.s.fields(t), bucketOf)
	if err != nil {
		t.Fatal(err)
	}
	columns := obj(o.Attributes, "state", "datasourceStates", "formBased", "layers", "main", "columns")
	vis := obj(o.Attributes, "state", "visualization")
	found := lens.Rows(p.s.search(t, lens.Request))
	var rows []m
	for _, key := range slices.Sorted(maps.Keys(found)) {
		row := maps.Clone(found[key])
		for i, v := range strings.SplitN(key, "|", len(lens.Buckets)) {
			row[lens.Buckets[i]] = v
		}
		rows = append(rows, row)
	}
	picture := m{"title": o.Title()}
	if layers := list(vis, "layers"); layers != nil {
		picture["spec"] = lines(columns, layers[0], rows)
		return picture
	}
	by := str(vis, "sorting", "columnId")
	slices.SortStableFunc(rows, func(a, b m) int {
		x, _ := a[by].(float64)
		y, _ := b[by].(float64)
		return cmp.Compare(y, x)
	})
	var head []string
	cells := [][]string{}
	for _, c := range list(vis, "columns") {
		if at(c, "hidden") != true {
			head = append(head, str(columns, str(c, "columnId"), "label"))
		}
	}
	for _, row := range rows[:min(20, len(rows))] { // a page
		var line []string
		for _, c := range list(vis, "columns") {
			if id := str(c, "columnId"); at(c, "hidden") != true {
				line = append(line, shown(obj(columns, id), row[id]))
			}
		}
		cells = append(cells, line)
	}
	picture["head"], picture["rows"] = head, cells
	return picture
}

// lines is a chart over time of rows of Lens's columns.
func lines(columns m, layer any, rows []m) m {
	x, split := str(layer, "xAccessor"), str(layer, "splitAccessor")
	var values []m
	title := ""
	for _, y := range list(layer, "accessors") {
		column := obj(columns, y.(string))
		if title = str(column, "label"); str(column, "params", "format", "id") == "duration" {
			title += " (ms)"
		}
		for _, row := range rows {
			value := m{"x": row[x], "y": row[y.(string)], "c": title}
			if v, ok := value["y"].(float64); ok && str(column, "timeScale") == "s" {
				value["y"] = v / bucketOf.Seconds()
			} else if ok && str(column, "params", "format", "id") == "duration" {
				value["y"] = v / 1e6
			}
			if split != "" {
				value["c"] = row[split]
			}
			values = append(values, value)
		}
		if split == "" {
			title = ""
		}
	}
	mark := m{"type": "line", "point": true}
	if strings.HasPrefix(str(layer, "seriesType"), "bar") {
		mark = m{"type": "bar"}
	}
	return m{"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "data": m{"values": values}, "mark": mark,
		"transform": []m{{"calculate": "toNumber(datum.x)", "as": "x"}},
		"encoding": m{"x": m{"field": "x", "type": "temporal", "axis": m{"title": nil,
			"labelOverlap": true, "labelSeparation": 6}},
			"y":     m{"field": "y", "type": "quantitative", "axis": m{"title": title}},
			"color": m{"field": "c", "type": "nominal", "legend": m{"title": nil}}}}
}

// shown is a value as a column prints it.
func shown(column m, v any) string {
	f, number := v.(float64)
	if ms, err := strconv.ParseFloat(fmt.Sprint(v), 64); str(column, "dataType") == "date" && err == nil {
		f, number = ms, true // of a time bucket it is a key
	}
	format := obj(column, "params", "format")
	switch {
	case v == nil:
		return "-"
	case number && str(column, "dataType") == "date":
		return time.UnixMilli(int64(f)).UTC().Format("2006-01-02 15:04:05.000")
	case number && str(format, "id") == "duration":
		return fmt.Sprintf("%.3f ms", f/1e6)
	case number:
		decimals, _ := at(format, "params", "decimals").(float64)
		return fmt.Sprintf("%.*f%s", int(decimals), f, str(format, "params", "suffix"))
	}
	return strings.Trim(fmt.Sprint(v), "[]")
}
