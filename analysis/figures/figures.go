// Package figures makes the figures of whole runs: I/Os, the time in which they were done, IOPS, bytes, concurrency,
// latencies and the options of the jobs. They are the same from logs, from documents, and from fio's JSON alone.
//
//	pipeline -> Collector -> Row
//	ingest.JSONRun -> FromJSON -> Row    if there is only fio's JSON
//
// A row holds only what its own entries of fio's JSON and its own logs count, over the time in which jobs with its
// direction ran. Rows of syncs come from fio's JSON alone, have the direction "sync", and are not part of any sum.
package figures

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/pipeline"
)

// syncKind is the direction of the rows of fsync, fdatasync and sync_file_range.
var syncKind = fio.Sync.String()

// Row is the result of a whole run in one direction. Latencies are in ns; nil is unknown.
type Row struct {
	// Run is the run's id, Name its name or the path it was read from.
	Run  string `json:"run"`
	Name string `json:"name"`
	// Direction is read, write, trim, all (if there are several) or sync.
	Direction string `json:"direction"`
	Host      string `json:"host,omitempty"`
	Job       string `json:"job,omitempty"`
	Log       string `json:"log,omitempty"`
	// Samples is the number of completed I/Os.
	Samples float64 `json:"samples"`
	// Guessed are those of them that fio counted for jobs or logs of several rows together, and no log holds: which job
	// they are of follows from rates, sizes and options, but is not certain.
	Guessed float64 `json:"guessed,omitempty"`
	// NoLog is set for a job of which there is only fio's JSON, beside others with logs.
	NoLog bool `json:"no_log,omitempty"`
	// Seconds is the time in which jobs with the direction ran, as far as the logs tell.
	Seconds        *float64 `json:"seconds"`
	IOPS           *float64 `json:"iops"`
	Bytes          *float64 `json:"bytes"`
	BytesPerSecond *float64 `json:"bytes_per_second"`
	// Concurrency is the mean number of I/Os in flight, by Little's law: IOPS x mean latency.
	Concurrency *float64 `json:"concurrency"`
	// Options are the values of job options, of several jobs joined, and the numbers of hosts and of names of jobs: of
	// defaultOptions, and those in which runs differ.
	Options     map[string]string  `json:"options"`
	Min         *float64           `json:"min"`
	Mean        *float64           `json:"mean"`
	Max         *float64           `json:"max"`
	Percentiles map[string]float64 `json:"percentiles"`
	// FioPercentiles is set if they are those that fio computed, as its JSON has no histograms.
	FioPercentiles bool `json:"fio_percentiles,omitempty"`
	// Limits are the 95 % confidence limits of the percentiles, which allow for bursts. LimitsAtLeast says that they
	// are at least so wide: the run is too short to tell, or there is only fio's JSON, which has no times.
	Limits        map[string]fio.Limits `json:"ci"`
	LimitsAtLeast bool                  `json:"ci_at_least,omitempty"`
	// Reported are the percentiles that fio's JSON has, if it has no histograms.
	Reported []string `json:"-"`
	// AtLeast names percentiles in fio's last bucket, which has no upper edge.
	AtLeast []string `json:"at_least,omitempty"`
	// Unmeasured is why fio measured no latency of some of the I/Os; then the row has none.
	Unmeasured string `json:"unmeasured,omitempty"`
	// LongestSync is the longest sync of the jobs, in ns.
	LongestSync *float64 `json:"longest_sync,omitempty"`

	// Hist are the I/Os of a row of FromJSON, with fio's smallest and largest latency; nil without histograms.
	Hist     *fiohist.Hist    `json:"-"`
	Geometry fiohist.Geometry `json:"-"`
	Bounds   fiohist.Limits   `json:"-"`
}

// Group identifies the rows of one run that differ only in the direction.
type Group struct{ Run, Name, Host, Job, Log string }

// Group returns the row's Group.
func (r *Row) Group() Group { return Group{r.Run, r.Name, r.Host, r.Job, r.Log} }

// Collector is a pipeline.Sink that makes the rows of a run.
type Collector struct {
	pipeline.Discard
	// Name identifies a run that has no name.
	Name string
	// By lists the dimensions of the rows besides the direction.
	By []string
	// To receives the rows at the end of the run.
	To  func([]Row)
	run *pipeline.Run
}

// Begin fails if the run was stored without a dimension of By.
func (c *Collector) Begin(_ context.Context, run *pipeline.Run) error {
	for _, dim := range c.By {
		if !slices.Contains(run.Settings.By, dim) {
			return &fio.UsageError{Msg: fmt.Sprintf("%s was stored without --by %s, and cannot be split by it",
				fio.Printable(c.Name), dim)}
		}
	}
	c.run = run
	if run.Named {
		c.Name = run.Name
	}
	return nil
}

// End makes the rows.
func (c *Collector) End(_ context.Context, s *pipeline.Summary) error {
	by := slices.DeleteFunc(slices.Clone(c.By), func(dim string) bool {
		// Unknown hosts have no rows.
		return dim == fio.ByDirection || dim == fio.ByHost && !slices.ContainsFunc(s.Total, func(t pipeline.Row) bool {
			return t.Dims.Host != ""
		})
	})
	scope := fio.Scope(by)
	var rows []Row
	for i := range s.Total {
		t := &s.Total[i]
		if fio.Undirected(t.Scope) != scope {
			continue
		}
		r := Row{Run: c.run.ID, Name: c.Name, Direction: t.Dims.Direction, Host: t.Dims.Host, Job: t.Dims.Job,
			Log: t.Dims.Log, Samples: t.Stats.Samples}
		if t.IOPSKnown {
			r.IOPS = known(t.IOPS)
			r.Seconds = known(float64(t.Covered) / 1e9)
		}
		r.latencies(&t.Stats, c.run.Percentiles)
		if each, ok := bytesPerIO(&r, c.run); ok {
			r.Bytes = known(each * r.Samples)
		}
		r.Guessed = r.guessed(c.run)
		r.finish(c.run.Metas, c.run.Logs)
		rows = append(rows, r)
	}
	held, err := c.withoutLogs(rows, by)
	if err != nil {
		return err
	}
	rows = tidy(rows)
	if len(rows) == 0 && !c.run.Pick.NeedsLogs() && !slices.Contains(c.By, fio.ByLog) {
		rows, err = c.unmeasured(by)
		c.To(rows)
		return err
	}
	more, err := syncs(rows, logged(c.run.Metas, true), c.run.Percentiles, &c.run.Pick)
	if err != nil {
		return err
	}
	rows = append(rows, more...)
	if without := logged(c.run.Metas, false); len(without) > 0 && !c.run.Pick.NeedsLogs() &&
		!slices.Contains(c.By, fio.ByLog) {
		more, _, err := FromJSON(&ingest.JSONRun{Root: c.Name, ID: c.run.ID, Metas: without}, c.run.Kind,
			append(by, fio.ByJob), c.run.Percentiles, &c.run.Pick)
		if err != nil {
			return err
		}
		for i := range more {
			more[i].NoLog = true
			if !slices.ContainsFunc(held, func(r Row) bool {
				return r.Direction == more[i].Direction && r.Job == "" &&
					(r.Host == "" || r.Host == more[i].Host)
			}) {
				rows = append(rows, more[i])
			}
		}
	}
	c.To(rows)
	return nil
}

// unmeasured returns the rows of a run without latencies, but for threads whose logs were not asked for.
func (c *Collector) unmeasured(by []string) ([]Row, error) {
	of := &ingest.JSONRun{Root: c.Name, ID: c.run.ID}
	for _, m := range c.run.Metas {
		part := *m
		part.Entries = filtered(m.Entries, func(e fiojson.Entry) bool { return !e.Part })
		of.Metas = append(of.Metas, &part)
	}
	rows, _, err := FromJSON(of, c.run.Kind, by, c.run.Percentiles, &c.run.Pick)
	return rows, err
}

// withoutLogs finds the rows that hold all I/Os of fio's JSON, also those of jobs without a log, and gives them the
// rates of the JSON where no log tells them: that it verified for a time between its writes, in loops, is in none. It
// returns these rows as the JSON has them.
func (c *Collector) withoutLogs(rows []Row, by []string) (held []Row, err error) {
	inTurns := slices.ContainsFunc(c.run.Metas, (*fiojson.Document).ReadsInTurns)
	if !inTurns && len(logged(c.run.Metas, false)) == 0 || slices.Contains(c.By, fio.ByLog) || c.run.Pick.NeedsLogs() {
		return nil, nil
	}
	all, _, err := FromJSON(&ingest.JSONRun{Root: c.Name, ID: c.run.ID, Metas: c.run.Metas}, c.run.Kind, by,
		c.run.Percentiles, &c.run.Pick)
	for i := range rows {
		r := &rows[i]
		at := slices.IndexFunc(all, func(o Row) bool { return o.Direction == r.Direction && o.Group() == r.Group() })
		if at < 0 || all[at].Samples != math.Round(r.Samples) {
			continue
		}
		held = append(held, all[at])
		if r.IOPS == nil || inTurns && r.Direction == fio.Read.String() {
			r.IOPS, r.Seconds, r.Bytes = all[at].IOPS, all[at].Seconds, all[at].Bytes
			r.finish(c.run.Metas, nil)
		}
	}
	return held, err
}

// logged returns the documents with only those entries that have logs, or only those of which there is none.
func logged(metas []*fiojson.Document, logs bool) (out []*fiojson.Document) {
	for _, m := range metas {
		part := *m
		part.Entries = filtered(m.Entries, func(e fiojson.Entry) bool { return e.NoLog != logs })
		if len(part.Entries) > 0 {
			out = append(out, &part)
		}
	}
	return out
}

func filtered(entries []fiojson.Entry, keep func(fiojson.Entry) bool) (out []fiojson.Entry) {
	for _, e := range entries {
		if keep(e) {
			out = append(out, e)
		}
	}
	return out
}

// bytesPerIO returns the mean size of the row's I/Os, if that of each log's is known.
func bytesPerIO(r *Row, run *pipeline.Run) (float64, bool) {
	ios, bytes := 0.0, 0.0
	for _, l := range run.Logs {
		for d := range l.Dirs {
			of := &l.Dirs[d]
			if of.IOs == 0 || !r.holds(l, d, run) {
				continue
			}
			if of.Bytes == 0 {
				return 0, false
			}
			ios, bytes = ios+of.IOs, bytes+of.Bytes
		}
	}
	return bytes / ios, ios > 0
}

// holds reports whether a direction of a log is in the row.
func (r *Row) holds(l *pipeline.Log, d int, run *pipeline.Run) bool {
	name := fio.Direction(d).String()
	return (r.Host == "" || l.Host == r.Host) && (r.Job == "" || l.Job == r.Job) &&
		(r.Log == "" || l.LogName == r.Log) && (r.Direction == name || r.Direction == fio.All) &&
		run.Pick.HoldsLog(l, name)
}

// guessed returns how many of the row's I/Os may be of logs that it does not hold.
func (r *Row) guessed(run *pipeline.Run) (ios float64) {
	type counted struct { // by fio together
		entry *fiojson.Entry
		d     int
	}
	guessed := func(of *pipeline.LogDirection) float64 {
		if r.Direction == fio.All {
			return of.Guessed
		}
		return of.Guessed + of.Split
	}
	others := map[counted]bool{}
	for _, l := range run.Logs {
		for d := range l.Dirs {
			if guessed(&l.Dirs[d]) > 0 && !r.holds(l, d, run) {
				others[counted{l.Entry, d}] = true
			}
		}
	}
	for _, l := range run.Logs {
		for d := range l.Dirs {
			if others[counted{l.Entry, d}] && r.holds(l, d, run) {
				ios += guessed(&l.Dirs[d])
			}
		}
	}
	return ios
}

// FromJSON makes the rows of a run of which there is only fio's JSON, split by host and job according to by. pick
// must not need logs. bins reports whether all of the JSON has histograms (json+), without which there are no
// percentiles.
func FromJSON(totals *ingest.JSONRun, kind fio.Kind, by []string, percentiles []float64, pick *pipeline.Pick) (
	rows []Row, bins bool, err error) {
	t := &ingest.JSONRun{Root: totals.Root, ID: totals.ID, Metas: pick.Metas(totals.Metas)}
	bins = true
	for _, g := range groupsOf(t, by) {
		all := sums{}
		for d := range fio.Direction(fio.Directions) {
			if !pick.HoldsDirection(d.String()) {
				continue
			}
			var s sums
			for _, m := range t.Metas {
				for i := range m.Entries {
					if e := &m.Entries[i]; g.holds(e) {
						bins = s.count(m, e, &e.Dirs[d], kind) && bins
						bins = all.count(m, e, &e.Dirs[d], kind) && bins
					}
				}
			}
			if s.err != nil {
				return nil, false, s.err
			}
			rows = s.row(rows, g, d.String(), t.Metas, percentiles)
		}
		for _, m := range t.Metas {
			for i := range m.Entries {
				if e := &m.Entries[i]; g.holds(e) && len(pick.Directions) == 0 {
					bins = all.count(m, e, &e.Mixed, kind) && bins
				}
			}
		}
		if all.err != nil {
			return nil, false, all.err
		}
		rows = all.row(rows, g, fio.All, t.Metas, percentiles)
	}
	rows = tidy(rows)
	more, err := syncs(rows, t.Metas, percentiles, pick)
	return append(rows, more...), bins, err
}

func groupsOf(t *ingest.JSONRun, by []string) (groups []Group) {
	for _, m := range t.Metas {
		for i := range m.Entries {
			g := Group{Run: t.ID, Name: t.Root}
			if slices.Contains(by, fio.ByHost) {
				g.Host = m.Entries[i].Host
			}
			if slices.Contains(by, fio.ByJob) {
				g.Job = jobsOf(&m.Entries[i])
			}
			if !slices.Contains(groups, g) {
				groups = append(groups, g)
			}
		}
	}
	return groups
}

func (g Group) holds(e *fiojson.Entry) bool {
	return (g.Host == "" || g.Host == e.Host) && (g.Job == "" || g.Job == e.JobName || g.Job == jobsOf(e))
}

// jobsOf returns the name of an entry's job or, if it stands for several, their names.
func jobsOf(e *fiojson.Entry) string {
	return e.Jobs(func(fiojson.Section) bool { return true })
}

// sums adds up the I/Os of several jobs in one direction.
type sums struct {
	fiojson.Sum
	bytes float64
	more  float64 // I/Os without latency, beside some that have one
	spans []stage
	own   map[string]float64 // fio's percentiles, of a single job
	err   error              // bins that could not be read again

	unmeasured string // why some have no latency
}

// stage is the time in which a job ran, in ms: since 1970, else from fio's own start.
type stage struct {
	start, runtime int64
	absolute       bool
	began          int64 // from fio's own start
}

// count adds the I/Os of a job, and reports whether they, if any, have bins.
func (s *sums) count(m *fiojson.Document, e *fiojson.Entry, d *fiojson.DirTotals, kind fio.Kind) bool {
	t := &d.Kind[kind]
	if t.N == 0 && (d.TotalIOs == 0 || kind != fio.Clat || len(m.Warnings) > 0) {
		return true
	}
	s.bytes += float64(d.Bytes)
	if t.N == 0 {
		s.N += d.TotalIOs
		s.unmeasured, _ = m.Unmeasured(e)
		s.spans = append(s.spans, stage{e.StartMS, d.RuntimeMS, e.StartMS > 0, e.BeganMS})
		return true
	}
	s.own = nil
	if s.N == 0 {
		s.own = t.Percentiles
	}
	s.err = cmp.Or(s.err, s.Add(m, t))
	if d.Sample {
		s.more += float64(d.TotalIOs - t.N)
	}
	s.spans = append(s.spans, stage{e.StartMS, d.RuntimeMS, e.StartMS > 0, e.BeganMS})
	return t.Bins.Len() > 0
}

// seconds returns the time in which at least one of the jobs ran.
func (s *sums) seconds() float64 {
	jobs := slices.Clone(s.spans)
	if slices.ContainsFunc(jobs, func(j stage) bool { return !j.absolute }) {
		for i := range jobs {
			jobs[i].start = jobs[i].began
		}
	}
	slices.SortFunc(jobs, func(a, b stage) int { return cmp.Compare(a.start, b.start) })
	sum, end := int64(0), int64(0)
	for _, j := range jobs {
		sum += max(0, j.start+j.runtime-max(end, j.start))
		end = max(end, j.start+j.runtime)
	}
	return float64(sum) / 1e3
}

func (s *sums) row(rows []Row, g Group, direction string, metas []*fiojson.Document, percentiles []float64) []Row {
	if s.N == 0 {
		return rows
	}
	r := Row{Run: g.Run, Name: g.Name, Direction: direction, Host: g.Host, Job: g.Job, Samples: float64(s.N)}
	if sec := s.seconds(); sec > 0 {
		r.Seconds, r.IOPS = known(sec), known((r.Samples+s.more)/sec)
	}
	if s.bytes > 0 {
		r.Bytes = known(s.bytes * r.Samples / (r.Samples + s.more))
	}
	r.Percentiles, r.Limits = map[string]float64{}, map[string]fio.Limits{}
	r.Unmeasured = s.unmeasured
	if r.Unmeasured != "" { // those of the others would not be the row's
		r.finish(metas, nil)
		return append(rows, r)
	}
	if !s.NoBins {
		stats := s.Hist.Stats(s.Geometry, percentiles, s.Limits)
		stats.LimitsAtLeast = true
		r.latencies(&stats, percentiles)
		r.Hist, r.Geometry, r.Bounds = &s.Hist, s.Geometry, s.Limits
	} else {
		for _, p := range percentiles {
			if v, ok := s.own[fio.Percentile(p)]; ok {
				r.Percentiles[fio.Percentile(p)], r.FioPercentiles = v, true
			}
		}
		r.Reported = slices.SortedFunc(maps.Keys(s.own), fio.Natural)
	}
	r.Min, r.Max, r.Mean = known(float64(s.Limits.Min)), known(float64(s.Limits.Max)), known(s.NS/r.Samples)
	if s.Limits.Max == math.MaxInt64 { // not known
		r.Min, r.Max = nil, nil
	}
	if s.NoBins && s.NS == 0 { // not known
		r.Mean = nil
	}
	r.finish(metas, nil)
	return append(rows, r)
}

// tidy removes the sum of a single direction, and puts the other sums before their parts.
func tidy(rows []Row) []Row {
	directions := map[Group]int{}
	for i := range rows {
		if rows[i].Direction != fio.All && rows[i].Samples > 0 {
			directions[rows[i].Group()]++
		}
	}
	rows = slices.DeleteFunc(rows, func(r Row) bool {
		return r.Samples == 0 || r.Direction == fio.All && directions[r.Group()] == 1
	})
	order := fio.MetricDirections()
	slices.SortStableFunc(rows, func(a, b Row) int {
		ga, gb := a.Host+"\x00"+a.Job+"\x00"+a.Log, b.Host+"\x00"+b.Job+"\x00"+b.Log
		if ga != gb {
			return strings.Compare(ga, gb)
		}
		return slices.Index(order, a.Direction) - slices.Index(order, b.Direction)
	})
	return rows
}

// syncs returns the rows of the syncs of a run, one for each group of its rows whose jobs have any.
func syncs(rows []Row, metas []*fiojson.Document, percentiles []float64, pick *pipeline.Pick) (out []Row, _ error) {
	if pick.NeedsLogs() || !pick.HoldsDirection(syncKind) {
		return nil, nil
	}
	var groups []Group
	for i := range rows {
		if g := rows[i].Group(); !slices.Contains(groups, g) && g.Log == "" {
			groups = append(groups, g)
		}
	}
	for _, g := range slices.Clone(groups) { // several jobs of a group may sync
		for _, m := range metas {
			for i := range m.Entries {
				if e := &m.Entries[i]; g.Job != "" && e.Sync.N > 0 && (g.Host == "" || g.Host == e.Host) {
					g.Job = e.Syncs()
					if !slices.Contains(groups, g) {
						groups = append(groups, g)
					}
				}
			}
		}
	}
	for _, g := range groups {
		var s sums
		for _, m := range metas {
			for i := range m.Entries {
				if e := &m.Entries[i]; (g.Host == "" || g.Host == e.Host) && (g.Job == "" || g.Job == e.Syncs()) {
					syncs := fiojson.DirTotals{RuntimeMS: e.LongestMS}
					syncs.Kind[fio.Sync] = e.Sync
					s.count(m, e, &syncs, fio.Sync)
				}
			}
		}
		if s.err != nil {
			return nil, s.err
		}
		if s.N == 0 {
			continue
		}
		out = s.row(out, g, syncKind, metas, percentiles)
		for i := range rows {
			if rows[i].Group() == g {
				rows[i].LongestSync = out[len(out)-1].Max
			}
		}
		last := &out[len(out)-1]
		last.LongestSync = last.Max
	}
	return out, nil
}

func (r *Row) latencies(s *fiohist.Stats, percentiles []float64) {
	r.Percentiles, r.Limits = map[string]float64{}, map[string]fio.Limits{}
	if s.Empty() {
		return
	}
	r.Min, r.Max, r.Mean = known(s.Min), known(s.Max), known(s.Mean)
	r.LimitsAtLeast = s.LimitsAtLeast
	for i, p := range percentiles {
		key := fio.Percentile(p)
		r.Percentiles[key] = s.Percentiles[i]
		var l fio.Limits
		if s.Lower[i] != fiohist.NoLimit {
			l.Low = known(s.Lower[i])
		}
		if s.Upper[i] != fiohist.NoLimit {
			l.High = known(s.Upper[i])
		}
		r.Limits[key] = l
	}
	for _, i := range s.AtLeast {
		r.AtLeast = append(r.AtLeast, fio.Percentile(percentiles[i]))
	}
}

// finish sets what follows from the row's other figures, and the options of its jobs.
func (r *Row) finish(metas []*fiojson.Document, logs []*pipeline.Log) {
	if r.Mean != nil && r.IOPS != nil {
		r.Concurrency = known(*r.Mean * *r.IOPS / 1e9)
	}
	if r.Bytes != nil && r.IOPS != nil {
		r.BytesPerSecond = known(*r.Bytes / r.Samples * *r.IOPS)
	}
	r.Options = Options(metas, logs, r.Direction, r.Host, r.Job)
	hosts, jobs := map[string]bool{}, map[string]bool{}
	for _, l := range logs {
		hosts[l.Host], jobs[l.Job] = true, true
	}
	unknown := false // how many jobs an entry stands for
	for _, m := range metas {
		for i := range m.Entries {
			e := &m.Entries[i]
			hosts[e.Host], unknown = true, unknown || e.Unlike > 0
			for _, s := range e.Sections {
				jobs[s.Name] = true
			}
			if len(e.Sections) == 0 {
				jobs[e.JobName] = true
			}
		}
	}
	delete(hosts, "")
	delete(jobs, "")
	if unknown {
		clear(jobs)
	}
	if r.Host == "" && len(hosts) > 0 {
		r.Options["hosts"] = strconv.Itoa(len(hosts))
	}
	if r.Job == "" && len(jobs) > 0 {
		r.Options["jobs"] = strconv.Itoa(len(jobs))
	}
}

// Options returns the values of the options of the jobs in a direction, of several joined; none if those of one of them
// are unknown. host and job may be "", for any. logs are nil if there is only fio's JSON.
func Options(metas []*fiojson.Document, logs []*pipeline.Log, direction, host, job string) map[string]string {
	var jobs options
	for _, m := range metas {
		for i := range m.Entries {
			e := &m.Entries[i]
			if host != "" && e.Host != "" && e.Host != host || e.NoLog && logs != nil {
				continue
			}
			some := e.Sync.N > 0
			for d := range e.Dirs {
				if direction != syncKind {
					some = e.Dirs[d].TotalIOs > 0 && (direction == fio.All || direction == fio.Direction(d).String())
				}
				if some {
					break
				}
			}
			for _, s := range e.Sections {
				if job == "" || job == s.Name || job == jobsOf(e) {
					jobs.add(some && does(s, direction), s.Options)
				}
			}
			switch of := job == "" || job == jobsOf(e); {
			case len(e.Sections) > 0 || !of:
			case e.Unlike == 0:
				jobs.add(some, m.Globals(e), e.Options)
			case some: // and unknown, so that those of the other jobs are not the row's
				return map[string]string{}
			}
		}
	}
	for _, l := range logs {
		if l.Meta != nil || l.Section == nil || job != "" && job != l.Job || host != "" && host != l.Host {
			continue
		}
		some := direction == fio.All
		for d := range l.Dirs {
			some = some || l.Dirs[d].HasIO && direction == fio.Direction(d).String()
		}
		jobs.add(some, l.Section.Options)
	}
	return jobs.values()
}

// does reports whether a section can do I/O of a direction.
func does(s fiojson.Section, direction string) bool {
	d, ok := fio.ParseDirection(direction)
	return !ok || fiojson.Workload{Option: s.Option, Sure: true}.Does(d)
}

// Values are what the row's figures come from.
func (r *Row) Values() *fio.Values {
	of := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	return &fio.Values{Samples: r.Samples, Seconds: of(r.Seconds), IOPS: of(r.IOPS), Min: of(r.Min), Mean: of(r.Mean),
		Max: of(r.Max), StdDev: math.NaN(), BytesPerSecond: of(r.BytesPerSecond), Concurrency: of(r.Concurrency),
		Percentile: func(p float64) float64 {
			v, ok := r.Percentiles[fio.Percentile(p)]
			if !ok {
				return math.NaN()
			}
			return v
		}}
}

// Value returns a figure of the row by its name.
func (r *Row) Value(metric string) (float64, bool) { return fio.FigureOf(metric).Of(r.Values()) }

// Find returns the row of a direction among those of a group. If there is no sum of all, a single direction stands
// for it.
func Find(rows []Row, g Group, direction string) *Row {
	var only *Row
	n := 0
	for i := range rows {
		r := &rows[i]
		if r.Group() != g {
			continue
		}
		if r.Direction == direction {
			return r
		}
		if r.Direction != syncKind {
			only = r
			n++
		}
	}
	if direction == fio.All && n == 1 {
		return only
	}
	return nil
}

func known(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
