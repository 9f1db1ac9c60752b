package curve

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"fiolat/analysis/figures"
	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
)

// Matrix arranges settings that differ in more than one swept option, so that no line joins them.
type Matrix struct {
	// Rows and Columns are options; Columns is "" if there is one.
	Rows    []string `json:"rows"`
	Columns string   `json:"columns,omitempty"`
	// RowValues and ColumnValues are the values of the options, those of several rows joined by a space.
	RowValues    []string `json:"row_values"`
	ColumnValues []string `json:"column_values"`
	// Points are indices of Curve.Points by row and column; -1 where no run has these options.
	Points [][]int `json:"points"`
}

// Member is a host of a setting's runs, or a job if the hosts are not known. Latencies are in ns.
type Member struct {
	Name string `json:"name"`
	// Run names the run, if the setting has several.
	Run         string             `json:"run,omitempty"`
	IOPS        *float64           `json:"iops"`
	Mean        *float64           `json:"mean"`
	Percentiles map[string]float64 `json:"percentiles"`
}

// isChain reports whether points that differ in these options lie on one line: they differ in one option, a load or
// numbers, or each setting has at least as much of each as the one before.
func isChain(points []Point, options []string) bool {
	if len(options) == 1 && slices.Contains(loads, options[0]) {
		return true
	}
	for i := range points {
		for _, name := range options {
			v, numeric := jobfile.Size(points[i].Options[name])
			before, _ := jobfile.Size(points[max(i-1, 0)].Options[name])
			if !numeric || len(options) > 1 && v < before {
				return false
			}
		}
	}
	return len(options) > 0
}

// arrange makes the matrix: the columns are the last of the options, if there are several.
func (c *Curve) arrange(options []string) {
	m := &Matrix{Rows: options}
	if last := len(options) - 1; last > 0 {
		m.Rows, m.Columns = options[:last], options[last]
	}
	for i := range c.Points {
		p := &c.Points[i]
		row, column := m.Row(p), p.Options[m.Columns]
		if !slices.Contains(m.RowValues, row) {
			m.RowValues = append(m.RowValues, row)
		}
		if !slices.Contains(m.ColumnValues, column) {
			m.ColumnValues = append(m.ColumnValues, column)
		}
		c.Series = append(c.Series, Series{Options: p.Options, Points: []int{i}})
	}
	slices.SortFunc(m.ColumnValues, fiojson.CompareValues)
	for range m.RowValues {
		m.Points = append(m.Points, slices.Repeat([]int{-1}, len(m.ColumnValues)))
	}
	for i := range c.Points {
		p := &c.Points[i]
		m.Points[slices.Index(m.RowValues, m.Row(p))][slices.Index(m.ColumnValues, p.Options[m.Columns])] = i
	}
	c.Matrix = m
}

// Row returns the values that a point has of the options of the rows.
func (m *Matrix) Row(p *Point) string {
	var values []string
	for _, name := range m.Rows {
		values = append(values, cmp.Or(p.Options[name], "-"))
	}
	return strings.Join(values, " ")
}

// Name names the setting of a point by its values, "randread 4k".
func (m *Matrix) Name(p *Point) string {
	return strings.TrimSuffix(m.Row(p)+" "+p.Options[m.Columns], " ")
}

// AddMembers adds to each point the hosts, or the jobs, of its runs, from rows that are split by one of these.
func (c *Curve) AddMembers(rows []figures.Row) {
	for i := range c.Points {
		p := &c.Points[i]
		for k := range rows {
			r := &rows[k]
			of := r.Group()
			of.Host, of.Job = "", ""
			name := cmp.Or(r.Host, r.Job)
			mine := func(own figures.Row) bool { return own.Group() == of && own.Direction == r.Direction }
			if name != "" && slices.ContainsFunc(p.rows, mine) {
				run := ""
				if p.Runs > 1 {
					run = cmp.Or(r.Name, r.Run)
				}
				p.Members = append(p.Members, Member{name, run, r.IOPS, r.Mean, r.Percentiles})
			}
		}
		slices.SortStableFunc(p.Members, func(a, b Member) int {
			return cmp.Or(fio.Natural(a.Name, b.Name), fio.Natural(a.Run, b.Run))
		})
	}
}

// Slowest returns the host or job with the highest of a percentile, and how many times the median of the others it is;
// "" if there are fewer than three. Of several runs of one it takes the geometric mean.
func (p *Point) Slowest(percentile float64) (name string, times float64) {
	key := fio.Percentile(percentile)
	logs := map[string][]float64{}
	for _, m := range p.Members {
		if v := m.Percentiles[key]; v > 0 {
			logs[m.Name] = append(logs[m.Name], math.Log(v))
		}
	}
	if len(logs) < 3 {
		return "", 0
	}
	of := map[string]float64{}
	for name, values := range logs {
		for _, v := range values {
			of[name] += v / float64(len(values))
		}
	}
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		return cmp.Or(cmp.Compare(of[b], of[a]), fio.Natural(a, b))
	})
	median := (of[names[len(names)/2]] + of[names[(len(names)+1)/2]]) / 2
	return names[0], math.Exp(of[names[0]] - median)
}

// Meets says whether a setting of a matrix meets the rule: yes, no, or "" if that is not known.
func (c *Curve) Meets(i int) string {
	switch at := c.Series[i].At; {
	case at == nil:
		return ""
	case at.best != nil:
		return "yes"
	case at.Note == noneMeets:
		return "no"
	}
	return ""
}
