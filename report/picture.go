package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/pipeline"
	"fiolat/report/page"
	"fiolat/report/picture"
)

// Picture is the chart of percentiles over time, drawn instead of the page from the data that the page has.
type Picture struct {
	PNG bool // else it is an SVG
	// Clock is the zone of the times; nil counts them from the run's start, but with --grid epoch.
	Clock *time.Location
}

// possible reports why the picture cannot be drawn, before anything is read.
func (s *Sink) possible() error {
	p := s.o.Picture
	if p == nil {
		return nil
	}
	if s.run.Timeless() {
		return pipeline.NoTimes("a picture: "+s.title(), "write a page, which shows the whole run")
	}
	if p.Clock != nil && !s.run.StartKnown {
		return fio.Usagef("--clock: when the run started is not known; say it with --start")
	}
	if p.Clock != nil && s.runs != nil {
		return fio.Usagef("--clock: the runs began at different times, and the chart counts from their starts")
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
	directions := slices.DeleteFunc(slices.Clone(fio.DirectionNames()), func(d string) bool {
		return main.scopeAt[dims{Direction: d}] == nil
	})
	if len(directions) == 0 { // no I/O completed, or --by has no directions
		directions = []string{fio.All}
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
	p.drawPercentiles(&out, parts)
	for _, s := range p.kinds {
		if s.columns.err != nil {
			return s.columns.err
		}
		s.columns.close()
	}
	return out.Write(p.w, p.o.Picture.PNG)
}

// subtitle says what is drawn of which I/Os.
func subtitle(parts []shown) string {
	p := &parts[0]
	var directions, kinds []string
	for i := range parts {
		if d := parts[i].direction + "s"; !slices.Contains(directions, d) {
			directions = append(directions, d)
		}
	}
	of := fio.List(directions, "and")
	if p.direction == fio.All {
		of = "all I/Os"
	}
	for _, s := range p.kinds {
		if kind := s.run.Kind.String(); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	return fio.List(kinds, "and") + " latency: percentiles over time, " + of
}

// covers says what a point of each part covers.
func covers(parts []shown) string {
	var said []string
	for i := range parts {
		p := &parts[i]
		text := fio.Duration(p.head.Column * 1e6)
		if p.head.Intervals > 1 {
			text += fmt.Sprintf(" (%d intervals)", p.head.Intervals)
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
	if p.head.End > p.from(k) {
		return min(p.from(k+1), p.head.End) // the last may be shorter
	}
	return min(p.from(k+1), p.from(k)+p.head.Interval)
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

// all is the scope value that a panel is about, without any I/O if it has none.
func (p *shown) all() *statistics {
	if sc := p.scopeAt[dims{Direction: p.direction}]; sc != nil {
		return new(p.statistics(sc, p.group))
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

// look is how a line over time is drawn: dashes only if there are few points.
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
		marks.Head.Marks = slices.DeleteFunc(marks.Head.Marks, func(m Mark) bool {
			folded := func(o Mark) bool { return o.Name == m.Name }
			return !m.timed() || !m.Note && slices.ContainsFunc(marks.Folded, folded)
		})
	}
	note := func(m *Mark) { out.Notes = append(out.Notes, picture.Note{Name: m.Name, Text: m.Text}) }
	caption := ""
	if len(marks.Findings) > 0 {
		first := marks.Findings[0]                                            // also if it has no time, and so no pin
		first.Text = strings.Replace(first.Text, "; see --interval.", ".", 1) // whoever sees a picture has no flags
		caption = first.Name
		if first.From == first.To {
			first.Name = ""
		}
		note(&first)
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
				atLeast = atLeast || count > 0 && s.P[n][k] < 0
				lower, upper, ok := s.band(n, k)
				if _, partial := s.Partial[k]; ok && !partial {
					band = append(band, picture.Box{X: part.from(k), X2: part.to(k), Y: lower, Y2: upper})
					seen = append(seen, lower, upper)
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
		pinned := slices.Clone(marks.Head.Marks) // as on the page: three, notes first
		slices.SortStableFunc(pinned, func(a, b Mark) int {
			return map[bool]int{true: 1}[b.Note] - map[bool]int{true: 1}[a.Note]
		})
		pinned = pinned[:min(3, len(pinned))]
		for _, m := range marks.Head.Marks {
			if end := part.to(part.head.Columns - 1); float64(m.To) >= part.head.First && float64(m.From) <= end {
				if slices.ContainsFunc(pinned, func(o Mark) bool { return o.Name == m.Name }) {
					pins = append(pins, picture.Pin{From: max(float64(m.From), part.head.First),
						To: min(float64(m.To), end), Name: m.Name, Note: m.Note})
				}
				if i == 0 && (m.Note || m.Name != caption) {
					note(&m)
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
	if p.runs == nil {
		if m := first.memberMap(marks.Head.Measure, marks.Head.Direction); m != nil {
			m.X = x
			out.Panels = append(out.Panels, *m)
		}
	}
	out.Subtitle = subtitle(parts) + covers(parts) + "; bands are 95 % sampling limits."
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
		out.Legend = append(out.Legend, picture.Key{Text: "no I/O completed", Hatched: true})
	}
	if p.compared != nil {
		for _, text := range p.compared.Sentences {
			out.Notes = append(out.Notes, picture.Note{Text: text})
		}
	}
	for _, s := range p.kinds {
		for _, n := range s.notes(s.sum) {
			if text := (picture.Note{Text: "Warning: " + n.Text}); n.Warning && !slices.Contains(out.Notes, text) {
				out.Notes = append(out.Notes, text)
			}
		}
	}
}

// memberMap is the map of hosts, or else of jobs, over time: of the percentile of a finding, or the one nearest to p99,
// in its direction, or the picture's first; nil if there are no two of them.
func (p *shown) memberMap(measure, direction string) *picture.Panel {
	dimension := fio.ByHost
	if !p.by[dimension] {
		dimension = fio.ByJob
	}
	if p.scopeAt[dims{Direction: direction}] == nil {
		direction = p.direction
	}
	var rows []*scope
	name := func(sc *scope) string { return cmp.Or(sc.dims.Host, sc.dims.Job) }
	for _, sc := range p.scopes {
		want := dims{Host: sc.dims.Host, Direction: direction}
		if dimension == fio.ByJob {
			want = dims{Job: sc.dims.Job, Direction: direction}
		}
		if name(sc) != "" && sc.dims == want {
			rows = append(rows, sc)
		}
	}
	if len(rows) < 2 {
		return nil
	}
	slices.SortFunc(rows, func(a, b *scope) int { return fio.Natural(name(a), name(b)) })
	nth := slices.Index(p.head.Percentiles, strings.TrimPrefix(measure, "p"))
	if nth < 0 {
		nth = max(slices.Index(p.head.Percentiles, "99"), 0)
	}
	var of []statistics
	low, high := math.Inf(1), 0.0
	for _, sc := range rows {
		s := p.statistics(sc, p.group)
		for k, v := range s.P[nth] {
			if s.N[k] > 0 {
				low, high = min(low, math.Abs(v)), max(high, math.Abs(v))
			}
		}
		of = append(of, s)
	}
	cells := make([]picture.Area, picture.Shades)
	for i := range cells {
		cells[i] = picture.Area{Color: picture.Shade(i), Opacity: 1}
	}
	stopped := picture.Area{Color: picture.Stalled, Opacity: 1}
	panel := &picture.Panel{Height: min(max(16*float64(len(rows)), 48), 640), Y: picture.Axis{Max: float64(len(rows))}}
	for i, s := range of {
		bottom := float64(len(rows) - i - 1)
		panel.Y.Ticks = append(panel.Y.Ticks, picture.Tick{At: bottom + 0.5, Text: fio.Printable(name(rows[i]))})
		for k, n := range s.N {
			box := picture.Box{X: p.from(k), X2: p.to(k), Y: bottom, Y2: bottom + 0.95}
			if n > 0 {
				shade := 0.0
				if high > low {
					shade = math.Log(math.Abs(s.P[nth][k])/low) / math.Log(high/low)
				}
				at := &cells[int(math.Round(shade*(picture.Shades-1)))]
				at.Boxes = append(at.Boxes, box)
			}
			if s.Idle[k] > 0 {
				if n > 0 { // in some of its intervals
					box.Y2 = bottom + 0.5
				}
				stopped.Boxes = append(stopped.Boxes, box)
			}
		}
	}
	for _, a := range append(cells, stopped) {
		if len(a.Boxes) > 0 {
			panel.Marks = append(panel.Marks, a)
		}
	}
	what := "p" + p.head.Percentiles[nth] + " of each " + dimension
	if direction != fio.All {
		what = direction + " " + what
	}
	panel.Title = fmt.Sprintf("%s: %s (pale) to %s (dark)", what, page.Latency(low), page.Latency(high))
	if len(stopped.Boxes) > 0 {
		panel.Title += "; orange: nothing completed"
	}
	return panel
}
