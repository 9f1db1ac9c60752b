package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/internal/page"
	"fiolat/internal/picture"
	"fiolat/pipeline"
)

// Picture is a chart that is drawn instead of the page, from the data that the page has.
type Picture struct {
	Chart string // one of Charts
	PNG   bool   // else it is an SVG
	// Clock is the zone of the times; nil counts them from the run's start, but with --grid epoch.
	Clock *time.Location
}

// Charts are the names of the charts of runs, the default first.
func Charts() []string { return []string{"percentiles", "heatmap", "hosts", "spectrum"} }

// possible reports why a chart cannot be drawn, before anything is read.
func (s *Sink) possible() error {
	p := s.o.Picture
	if p == nil {
		return nil
	}
	if s.run.Timeless() && p.Chart != "spectrum" {
		return pipeline.NoTimes("--chart "+p.Chart+": "+s.title(), "draw --chart spectrum instead")
	}
	if p.Clock != nil && !s.run.StartKnown {
		return fio.Usagef("--clock: when the run started is not known; say it with --start")
	}
	if p.Clock != nil && s.runs != nil {
		return fio.Usagef("--clock: the runs began at different times, and the chart counts from their starts")
	}
	if p.Chart == "hosts" && !s.by[fio.ByHost] && !s.by[fio.ByJob] {
		return fio.Usagef("--chart hosts: there is only one host and one job, or --by does not split by them; draw " +
			"percentiles or heatmap instead")
	}
	return nil
}

// shown is what one panel of a picture is about: a direction of a kind or run.
type shown struct {
	*Sink
	head
	direction string
	name      string // "" if there is only one
}

// draw writes the picture.
func (p *shared) draw() error {
	main := p.main()
	var parts []shown
	directions := []string{fio.All}
	split := func(sc *scope) bool { return sc.dims.Direction != fio.All }
	if picked := main.run.Pick.Directions; len(picked) > 0 && slices.ContainsFunc(main.scopes, split) {
		directions = picked
	}
	for _, s := range p.kinds {
		for _, d := range directions {
			part := shown{Sink: s, head: s.head(), direction: d}
			var words []string
			if part.head.Name != "" {
				words = append(words, s.part()+" · "+part.head.Name)
			} else if len(p.kinds) > 1 {
				words = append(words, s.part())
			}
			if len(directions) > 1 {
				words = append(words, d)
			}
			part.name = strings.Join(words, " · ")
			parts = append(parts, part)
		}
	}
	out := picture.Picture{Title: main.title() + main.picked()}
	switch p.o.Picture.Chart {
	case "heatmap":
		drawHeat(&out, parts)
	case "hosts":
		if err := p.drawHosts(&out, parts); err != nil {
			return err
		}
	case "spectrum":
		drawSpectrum(&out, parts)
	default:
		p.drawPercentiles(&out, parts)
	}
	for _, s := range p.kinds {
		if s.columns.err != nil {
			return s.columns.err
		}
		s.columns.close()
	}
	return out.Write(p.w, p.o.Picture.PNG)
}

// subtitle says what is drawn of which I/Os.
func (p *shown) subtitle(what string) string {
	of := "all I/Os"
	if picked := p.run.Pick.Directions; len(picked) > 0 {
		of = strings.Join(picked, ", ")
	}
	var kinds []string
	for _, s := range p.kinds {
		if kind := s.run.Kind.String(); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return fio.List(kinds, "and") + " latency: " + what + ", " + of
}

// covers says what a point of each part covers.
func covers(parts []shown) string {
	var said []string
	for i := range parts {
		p := &parts[i]
		text := fio.Duration(p.head.Column * 1e6)
		if p.head.Quanta > 1 {
			text += fmt.Sprintf(" (%d quanta)", p.head.Quanta)
		}
		if !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	return ". Each point covers " + strings.Join(said, ", below ")
}

// ---- times

func (p *shown) from(k int) float64 { return p.head.First + float64(k)*p.head.Column }

func (p *shown) to(k int) float64 {
	return min(p.from(k+1), max(p.head.End, p.from(k)+p.head.Interval))
}

// times is the axis of all parts.
func times(parts []shown) picture.Axis {
	p := &parts[0]
	from, to := math.Inf(1), math.Inf(-1)
	for i := range parts {
		from, to = min(from, parts[i].head.First), max(to, parts[i].to(parts[i].head.Columns-1))
	}
	zone := p.o.Picture.Clock
	if zone == nil && p.run.Settings.Grid == "epoch" && p.run.StartKnown && p.runs == nil {
		zone = time.UTC
	}
	if zone == nil {
		a := picture.Times(from, to, 0, func(ms float64) string {
			return fio.Clock(int64(math.Round(max(ms, 0))))
		})
		a.Title = "time since the start"
		return a
	}
	start := *p.head.Start
	moment := func(ms float64) time.Time { return time.UnixMicro(int64(math.Round((start + ms) * 1e3))).In(zone) }
	_, offset := moment(0).Zone()
	a := picture.Times(from, to, start+1e3*float64(offset), func(ms float64) string {
		t := moment(ms)
		if t.Hour()+t.Minute()+t.Second()+t.Nanosecond() == 0 {
			return t.Format(time.DateOnly)
		}
		return strings.TrimSuffix(t.Format("15:04:05.000"), ".000")
	})
	a.Title = moment(from).Format("2006-01-02 MST")
	return a
}

// gaps are the stretches of time in which nothing completed.
func (p *shown) gaps(n []float64) (out []picture.Mark) {
	for k := 0; k < len(n); k++ {
		if n[k] > 0 {
			continue
		}
		from := p.from(k)
		for k+1 < len(n) && n[k+1] == 0 {
			k++
		}
		out = append(out, picture.Gap{From: from, To: p.to(k)})
	}
	return out
}

// stats are those of a scope value, nil if it has none.
func (p *shown) stats(d dims) *statistics {
	sc := p.scopeAt[d]
	if sc == nil {
		return nil
	}
	return p.statistics(sc, p.members(sc), p.group)
}

// all is the scope value that a panel is about, without any I/O if it has none.
func (p *shown) all() *statistics {
	if s := p.stats(dims{Direction: p.direction}); s != nil {
		return s
	}
	none := newStatistics(len(p.head.Percentiles))
	none.N = make([]float64, p.head.Columns)
	return none
}

// steps are values as a line: each holds for its column. Where nothing completed it ends, and beside a column of which
// the logs cover a part only.
func (p *shown) steps(values []float64, s *statistics) (out []picture.Point) {
	for k, n := range s.N {
		if n == 0 {
			continue
		}
		v := max(1, math.Abs(values[k]))
		out = append(out, picture.Point{X: p.from(k), Y: v}, picture.Point{X: p.to(k), Y: v})
		_, part := s.Partial[k]
		_, next := s.Partial[k+1]
		if k+1 == len(s.N) || s.N[k+1] == 0 || part || next {
			out = append(out, picture.Point{X: p.to(k), Y: math.NaN()})
		}
	}
	return out
}

func heights(line []picture.Point) (out []float64) {
	for _, p := range line {
		if !math.IsNaN(p.Y) {
			out = append(out, p.Y)
		}
	}
	return out
}

// ---- charts

// look is that of a line over time: dashes only if there are few points.
func (p *shown) look(n int) (string, []float64) {
	color, dash := picture.Look(n)
	if p.head.Columns > 150 {
		dash = nil
	}
	return color, dash
}

func (p *shared) drawPercentiles(out *picture.Picture, parts []shown) {
	var seen []float64
	atLeast, gap, fades := false, false, false
	var marks pageData
	if p.runs == nil && p.o.Marks != nil {
		p.main().marks(&marks)
	}
	for i := range parts {
		part := &parts[i]
		s := part.all()
		panel := picture.Panel{Title: part.name, Height: max(360/float64(len(parts)), 170)}
		add := func(m ...picture.Mark) { panel.Marks = append(panel.Marks, m...) }
		holes := part.gaps(s.N)
		gap = gap || len(holes) > 0
		add(holes...)
		var lines []picture.Mark
		for n := range part.head.Percentiles {
			color, dash := part.look(n)
			var band []picture.Box
			for k, count := range s.N {
				lower, upper := 0.0, 0.0
				if count > 0 {
					lower, upper = s.CI[n].Lower[k], s.CI[n].Upper[k]
					atLeast = atLeast || s.P[n][k] < 0
				}
				if _, partial := s.Partial[k]; count > 0 && lower >= 0 && upper >= 0 && !partial {
					band = append(band, picture.Box{X: part.from(k), X2: part.to(k), Y: max(1, lower),
						Y2: max(1, upper)})
					seen = append(seen, max(1, lower), max(1, upper))
				}
			}
			line := part.steps(s.P[n], s)
			seen = append(seen, heights(line)...)
			add(picture.Area{Boxes: band, Color: color, Opacity: 0.2})
			lines = append(lines, picture.Line{Points: line, Color: color, Dash: dash, Width: 1.7})
		}
		add(lines...)
		var faded []picture.Box
		for k := range s.N {
			if _, partial := s.Partial[k]; partial {
				faded = append(faded, picture.Across(part.from(k), part.to(k)))
			}
		}
		fades = fades || len(faded) > 0
		add(picture.Area{Boxes: faded, Opacity: 0.6})
		for _, r := range part.head.SLA {
			n := slices.Index(part.head.Percentiles, strings.TrimPrefix(r.Measure, "p"))
			if part.direction == fio.All || r.Direction == part.direction || r.Direction == fio.All {
				color := "" // of a measure that is not drawn
				if n >= 0 {
					color, _ = picture.Look(n)
				}
				add(picture.Rule{At: r.Limit, Text: r.Text, Color: color})
				seen = append(seen, r.Limit)
			}
		}
		var pins picture.Pins
		for _, m := range marks.Head.Marks {
			if end := part.to(part.head.Columns - 1); float64(m.To) >= part.head.First && float64(m.From) <= end {
				pins = append(pins, picture.Pin{From: max(float64(m.From), part.head.First),
					To: min(float64(m.To), end), Name: m.Name, Note: m.Note})
				if i == 0 {
					out.Notes = append(out.Notes, picture.Note{Name: m.Name, Text: m.Text})
				}
			}
		}
		slices.SortStableFunc(pins, func(a, b picture.Pin) int { return cmp.Compare(a.From, b.From) })
		add(pins)
		out.Panels = append(out.Panels, panel)
	}
	x, y := times(parts), picture.Around(seen, page.Latency)
	for i := range out.Panels {
		out.Panels[i].X, out.Panels[i].Y = x, y
	}
	first := &parts[0]
	out.Subtitle = first.subtitle("percentiles over time") + covers(parts) + "; bands are 95 % sampling limits."
	if fades {
		out.Subtitle += " Faded: the logs cover a part of it only."
	}
	if atLeast {
		out.Subtitle += " Values in fio's last bucket, which has no upper edge, are drawn at its lower edge."
	}
	for n, name := range first.head.Percentiles {
		color, dash := first.look(n)
		out.Legend = append(out.Legend, picture.Key{Text: "p" + name, Color: color, Dash: dash})
	}
	if gap {
		out.Legend = append(out.Legend, picture.Key{Text: "no I/O completed", Kind: picture.Hatched})
	}
	if p.compared != nil {
		for _, text := range p.compared.Sentences {
			out.Notes = append(out.Notes, picture.Note{Text: text})
		}
	}
}

func drawHeat(out *picture.Picture, parts []shown) {
	most, lo, hi, gap := 1.0, math.Inf(1), 0.0, false
	type cell struct {
		box picture.Box
		n   float64
	}
	found := make([][]cell, len(parts))
	for i := range parts {
		p := &parts[i]
		g := p.heatGrid()
		rows := map[int][]float64{}
		for _, l := range p.leaves {
			if p.direction != fio.All && l.dims.Direction != p.direction {
				continue
			}
			d := p.leafData(l, g)
			for r, of := range d.rows {
				if sum := rows[r+d.From]; sum == nil {
					rows[r+d.From] = slices.Clone(of)
				} else {
					for k, n := range of {
						sum[k] += n
					}
				}
			}
		}
		for r := range g.Columns() {
			bottom, top := float64(g.Lower(r)), float64(g.Lower(r+1))
			bottom = max(bottom, top/2)
			for k, n := range rows[r] {
				if n == 0 {
					continue
				}
				most, lo, hi = max(most, n), min(lo, bottom), max(hi, top)
				found[i] = append(found[i], cell{picture.Box{X: p.from(k), X2: p.to(k), Y: bottom, Y2: top}, n})
			}
		}
	}
	y := picture.Axis{Min: 1e3, Max: 1e6, Log: true}
	if lo < hi {
		y.Min, y.Max = lo, hi
	}
	y.Label(page.Latency)
	x := times(parts)
	for i := range parts {
		p := &parts[i]
		s := p.all()
		panel := picture.Panel{Title: p.name, Height: max(360/float64(len(parts)), 200), X: x, Y: y}
		holes := p.gaps(s.N)
		gap = gap || len(holes) > 0
		panel.Marks = append(panel.Marks, holes...)
		var drawn picture.Cells
		for _, c := range found[i] {
			drawn = append(drawn, picture.Cell{Box: c.box, Share: math.Log(max(1, c.n)) / math.Log(max(2, most))})
		}
		panel.Marks = append(panel.Marks, drawn)
		for n, name := range overHeat {
			if at := slices.Index(p.head.Percentiles, name); at >= 0 {
				panel.Marks = append(panel.Marks, picture.Line{Points: p.steps(s.P[at], s), Dash: heatDashes[n],
					Width: 1.8, Halo: true})
			}
		}
		out.Panels = append(out.Panels, panel)
	}
	first := &parts[0]
	out.Subtitle = first.subtitle("I/Os by time and latency") + covers(parts) + "."
	out.Legend = []picture.Key{{Text: "1\t" + page.Number(math.Round(most)) + " I/Os", Kind: picture.Scale}}
	for n, name := range overHeat {
		if slices.Contains(first.head.Percentiles, name) {
			out.Legend = append(out.Legend, picture.Key{Text: "p" + name, Dash: heatDashes[n]})
		}
	}
	if gap {
		out.Legend = append(out.Legend, picture.Key{Text: "no I/O completed", Kind: picture.Hatched})
	}
}

// overHeat are the percentiles over a heat map.
var (
	overHeat   = []string{"50", "99"}
	heatDashes = [][]float64{nil, {5, 3}}
)

// drawHosts draws a row for each host, or job, as the page's map does.
func (p *shared) drawHosts(out *picture.Picture, parts []shown) error {
	first := &parts[0]
	at := slices.Index(first.head.Percentiles, "99")
	if at < 0 {
		at = len(first.head.Percentiles) - 1
	}
	dim, names := fio.ByHost, namesOf(parts, fio.ByHost)
	if len(names) < 2 {
		dim, names = fio.ByJob, namesOf(parts, fio.ByJob)
	}
	if len(names) < 2 {
		return fio.Usagef("--chart hosts: there is only one host and one job")
	}
	var marks pageData
	if dim == fio.ByHost && p.runs == nil && p.o.Marks != nil {
		p.main().marks(&marks)
	}
	stats := make([][]*statistics, len(parts))
	lo, hi := math.Inf(1), 0.0
	for i := range parts {
		for _, name := range names {
			d := dims{Host: name, Direction: parts[i].direction}
			if dim == fio.ByJob {
				d = dims{Job: name, Direction: parts[i].direction}
			}
			s := parts[i].stats(d)
			if stats[i] = append(stats[i], s); s == nil {
				continue
			}
			for k, n := range s.N {
				if v := max(1, math.Abs(s.P[at][k])); n > 0 {
					lo, hi = min(lo, v), max(hi, v)
				}
			}
		}
	}
	share := func(v float64) float64 {
		if hi <= lo {
			return 0
		}
		return math.Log(max(1, v)/lo) / math.Log(hi/lo)
	}
	x := times(parts)
	x.NoGrid = true
	y := picture.Axis{Min: float64(len(names)), NoGrid: true}
	for i, name := range names {
		y.Ticks = append(y.Ticks, picture.Tick{At: float64(i) + 0.5, Text: name})
	}
	for i := range parts {
		part := &parts[i]
		panel := picture.Panel{Title: part.name, X: x, Y: y,
			Height: min(max(22*float64(len(names)), 80), max(360, 2*float64(len(names))), 1600)}
		var cells picture.Cells
		for row, s := range stats[i] {
			if s == nil {
				continue
			}
			top := float64(row)
			var idle picture.Cells
			for k, n := range s.N {
				box := picture.Box{X: part.from(k), X2: part.to(k), Y: top, Y2: top + 1}
				if n > 0 {
					cells = append(cells, picture.Cell{Box: box, Share: share(math.Abs(s.P[at][k]))})
				}
				if s.Idle[k] > 0 {
					if n > 0 {
						box.Y += 0.5
					}
					idle = append(idle, picture.Cell{Box: box, Share: -1})
				}
			}
			cells = append(cells, idle...)
		}
		for _, m := range marks.Head.Marks {
			for _, name := range m.Stalled {
				if row := slices.Index(names, name); row >= 0 {
					cells = append(cells, picture.Cell{Box: picture.Box{X: float64(m.From), X2: float64(m.To),
						Y: float64(row), Y2: float64(row) + 1}, Share: -1})
				}
			}
		}
		panel.Marks = append(panel.Marks, cells)
		out.Panels = append(out.Panels, panel)
	}
	out.Subtitle = first.subtitle(fmt.Sprintf("p%s of each %s over time", first.head.Percentiles[at], dim)) +
		covers(parts) + "."
	out.Legend = []picture.Key{{Text: "nothing completed", Color: picture.Stalled, Kind: picture.Filled}}
	if hi > 0 {
		out.Legend = append([]picture.Key{{Text: page.Latency(lo) + "\t" + page.Latency(hi), Kind: picture.Scale}},
			out.Legend...)
	}
	return nil
}

// namesOf are the values of a dimension in all parts, in natural order.
func namesOf(parts []shown, dim string) (names []string) {
	for i := range parts {
		for _, sc := range parts[i].scopes {
			if name := (*fio.Dims)(&sc.dims).Of(dim); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.SortFunc(names, fio.Natural)
	return names
}

// drawSpectrum draws the percentiles of the whole run, up to the slowest I/O.
func drawSpectrum(out *picture.Picture, parts []shown) {
	type line struct {
		of   shown
		name string
	}
	var lines []line
	for _, p := range parts {
		name := p.name
		if name == "" {
			name = "all I/Os"
			if p.direction != fio.All {
				name = p.direction
			}
		}
		lines = append(lines, line{p, name})
	}
	if p := parts[0]; len(parts) == 1 && p.direction == fio.All { // its directions, too, as on the page
		var own []line
		for _, name := range fio.DirectionNames() {
			if p.scopeAt[dims{Direction: name}] != nil {
				p.direction = name
				own = append(own, line{p, name})
			}
		}
		if len(own) > 1 {
			lines = append(lines, own...)
		}
	}
	var seen []float64
	panel := picture.Panel{Height: 380}
	x := picture.Axis{Min: 1, Max: 10, Log: true, Title: "share of the I/Os that took no longer"}
	for n, l := range lines {
		sc := l.of.scopeAt[dims{Direction: l.of.direction}]
		if sc == nil {
			continue
		}
		s, percentiles := l.of.scopeData(sc), ladder(l.of.head.IOs)
		var curve []picture.Point
		for i, v := range s.curve {
			at := max(1, s.TotalN[0])
			if i+1 < len(s.curve) {
				at = 100 / (100 - percentiles[i])
			}
			curve = append(curve, picture.Point{X: at, Y: max(1, math.Abs(v))})
			x.Max = max(x.Max, at)
		}
		seen = append(seen, heights(curve)...)
		color, dash := picture.Look(n)
		panel.Marks = append(panel.Marks, picture.Line{Points: curve, Color: color, Dash: dash, Width: 1.7})
		out.Legend = append(out.Legend, picture.Key{Text: l.name, Color: color, Dash: dash})
	}
	x.Ticks = []picture.Tick{{At: 1, Text: "0 %"}, {At: 2, Text: "50 %"}}
	for nines := 1; math.Pow10(nines) <= x.Max; nines++ {
		text := strconv.FormatFloat(100-math.Pow10(2-nines), 'f', max(0, nines-2), 64)
		x.Ticks = append(x.Ticks, picture.Tick{At: math.Pow10(nines), Text: text + " %"})
	}
	panel.X, panel.Y = x, picture.Around(seen, page.Latency)
	out.Panels = []picture.Panel{panel}
	out.Subtitle = parts[0].subtitle("percentiles of the whole run, up to the slowest I/O")
}
