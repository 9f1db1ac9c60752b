//go:build integration

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// stands is a point that a load curve must show.
type stands struct{ x, v float64 }

// sameStands finds each percentile of each name where it is, and no other mark.
func (p *page) sameStands(t *testing.T, layer, word string, want map[[2]string]stands) {
	t.Helper()
	var xs, vs []float64
	for w := range maps.Values(want) {
		xs, vs = append(xs, w.x), append(vs, w.v)
	}
	x, y := p.places(t, "x", xs), p.places(t, "y", vs)
	marks := p.marks(t, layer)
	if len(marks) != len(want) || len(want) == 0 {
		t.Errorf("%d marks, want %d: %v", len(marks), len(want), marks)
	}
	for name, w := range want {
		if !slices.ContainsFunc(marks, func(k mark) bool {
			return math.Abs(k.X-x[w.x]) < pixel && math.Abs(k.Y-y[w.v]) < pixel && k.Tooltip["percentile"] == name[1] &&
				strings.Contains(fmt.Sprint(k.Tooltip[word]), name[0]) && math.Abs(k.number("ns")-w.v) <= 1e-4*w.v &&
				near(k.number("x"), w.x)
		}) {
			t.Errorf("no mark of %v at %+v: %v", name, w, marks)
		}
	}
}

// sameDots chooses a direction and finds the runs, by the figures of `fiolat summary`.
func (p *page) sameDots(t *testing.T, direction string, runs ...string) {
	t.Helper()
	evaluate[bool](t, p, fmt.Sprintf("view.signal('direction', '%s').runAsync().then(() => true)", direction))
	args := []string{"summary", "--index-prefix", p.s.prefix, "--es", p.s.es, "--percentiles", "50,99,99.9", "--format",
		"ndjson"}
	out, _ := p.s.command(t, append(args, runs...)...)
	type row struct {
		Name, Direction string
		IOPS            *float64
		Percentiles     map[string]float64
	}
	var rows []row
	of := map[string]int{} // rows of a run; one of a single direction has none of all
	for line := range strings.Lines(string(out)) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
		of[r.Name]++
	}
	want := map[[2]string]stands{}
	for _, r := range rows {
		for _, name := range historyPercentiles {
			if (r.Direction == direction || direction == "all" && of[r.Name] == 1) && r.IOPS != nil {
				want[[2]string{r.Name, name}] = stands{*r.IOPS, r.Percentiles[name[1:]]}
			}
		}
	}
	p.sameStands(t, "layer_2_marks", "run", want)
}

// The load curve of a stored sweep has the points of `fiolat curve`, over either axis, and none of another direction;
// that of runs that read and write has its points of each direction and of all.
func testCurve(t *testing.T, s *stored) {
	var stored []string
	store := func(id, name, sweep, folder string) {
		s.command(t, "ingest", "--index-prefix", s.prefix, "--run-id", id, "--run-name", name, "--label",
			"sweep="+sweep, "--interval", "1m", folder)
		stored = append(stored, id)
	}
	defer func() {
		for _, run := range stored {
			s.command(t, "delete", "--index-prefix", s.prefix, "--yes", run)
		}
	}()
	type point struct {
		Options        map[string]string
		IOPS           float64
		BytesPerSecond float64 `json:"bytes_per_second"`
		Percentiles    map[string]float64
	}
	curve := func(direction string, settings int, runs []string) []point {
		args := []string{"curve", "--index-prefix", s.prefix, "--es", s.es, "--percentiles", "50,99,99.9", "--format",
			"json"}
		if direction != "all" {
			args = append(args, "--only", "direction="+direction)
		}
		out, _ := s.command(t, append(args, runs...)...)
		var c struct{ Points []point }
		if err := json.Unmarshal(out, &c); err != nil || len(c.Points) != settings {
			t.Fatalf("%v: %s", err, out)
		}
		return c.Points
	}
	for _, name := range []string{"qd1/run1", "qd1/run2", "qd16/run1", "qd16/run2"} {
		store("sweep-"+strings.ReplaceAll(name, "/", "-"), name, "depth", filepath.Join("../sweep", name))
	}
	runs := stored
	p, versions := browse(t, s), vegaVersions
	from, to := s.from, s.to
	defer func() { s.from, s.to = from, to }()
	s.from, s.to = time.Unix(0, 0), time.Now().AddDate(1, 0, 0) // the sweep is not of the time of the other runs
	st, o := s.open(t, "curve-points")
	st = st.Choose("run.labels", "sweep=depth")
	for _, version := range versions {
		p.draw(t, version, st, o)
		for _, direction := range []string{"all", "read"} {
			p.sameDots(t, direction, runs...)
			for _, axis := range []string{"MiB/s", "IOPS"} {
				evaluate[bool](t, p, fmt.Sprintf("view.signal('load', '%s').runAsync().then(() => true)", axis))
				want := map[[2]string]stands{}
				for _, point := range curve(direction, 2, runs) {
					x := map[string]float64{"IOPS": point.IOPS, "MiB/s": point.BytesPerSecond / (1 << 20)}[axis]
					for _, name := range historyPercentiles {
						want[[2]string{"iodepth=" + point.Options["iodepth"] + " ", name}] = stands{x,
							point.Percentiles[name[1:]]}
					}
				}
				p.sameStands(t, "layer_1_marks", "setting", want)
			}
		}
		if lines := p.marks(t, "layer_0_marks"); len(lines) != 2*len(historyPercentiles) {
			t.Errorf("lines through %d points", len(lines))
		}
		evaluate[bool](t, p, "view.signal('direction', 'write').runAsync().then(() => true)")
		if marks := p.marks(t, "layer_2_marks"); len(marks) != 0 {
			t.Errorf("writes of a run without: %v", marks)
		}
	}

	for _, name := range []string{"exact", "randrw", "trim"} { // each at a rate of its own
		store("mixed-"+name, name, "mixed", name)
	}
	runs = stored[len(runs):]
	st, o = s.open(t, "curve-points")
	p.draw(t, versions[len(versions)-1], st.Choose("run.labels", "sweep=mixed"), o)
	for direction, settings := range map[string]int{"all": 3, "read": 2, "write": 3} {
		p.sameDots(t, direction, runs...)
		want := map[[2]string]stands{}
		for _, point := range curve(direction, settings, runs) {
			for _, name := range historyPercentiles {
				want[[2]string{"rate_iops=" + point.Options["rate_iops"], name}] = stands{point.IOPS,
					point.Percentiles[name[1:]]}
			}
		}
		p.sameStands(t, "layer_1_marks", "setting", want)
	}
}
