package esmodel

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/fiolog"
	"fiolat/ingest/jobfile"
	"fiolat/internal/jsonw"
	"fiolat/pipeline"
)

// Status says, in the document of a run, whether the run's other documents are there.
type Status string

const (
	// StatusRunning is set before the first document is sent. It remains if the writer is killed.
	StatusRunning Status = "running"
	// StatusComplete means that exactly the documents of this generation are there.
	StatusComplete Status = "complete"
	// StatusPartial means that some are missing: interrupted, refused or spooled.
	StatusPartial Status = "partial"
)

// Documents counts documents, for the account of a run. Histogram and Percentiles are those made; the other
// counts include the run's own document.
type Documents struct {
	Made        int64 `json:"made"`
	Indexed     int64 `json:"indexed"`
	Refused     int64 `json:"refused"`
	Spooled     int64 `json:"spooled"`
	Histogram   int64 `json:"histogram"`
	Percentiles int64 `json:"percentiles"`
}

// number is a float64 that is encoded by jsonw.
type number float64

func (n number) MarshalJSON() ([]byte, error) { return jsonw.AppendNumber(nil, float64(n)), nil }

// stamp is a time in ns since 1970.
type stamp int64

func (t stamp) MarshalJSON() ([]byte, error) { return jsonw.AppendTime(nil, int64(t)), nil }

func (t *stamp) UnmarshalJSON(b []byte) error {
	at, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(b))
	*t = stamp(at.UnixNano())
	return err
}

type runDoc struct {
	Timestamp  stamp                    `json:"@timestamp"`
	Run        DocRun                   `json:"run"`
	Labels     map[string]string        `json:"labels,omitempty"`
	Host       *hostField               `json:"host,omitempty"`
	Fio        fioField                 `json:"fio"`
	Interval   intervalField            `json:"interval"`
	Logs       countField               `json:"logs"`
	Latency    bucketsField             `json:"latency"`
	Settings   map[string]any           `json:"settings"`
	Parts      []pipeline.Part          `json:"parts,omitempty"`
	Files      []fileField              `json:"files,omitempty"`
	Jobs       []jobField               `json:"jobs,omitempty"`
	Summary    map[string]any           `json:"summary,omitempty"`
	Histograms map[string]*RunHistogram `json:"whole,omitempty"`
	Tail       map[string]*tailsField   `json:"tail,omitempty"`
	SLA        *slaField                `json:"sla,omitempty"`
	Diagnosis  pipeline.Diagnosis       `json:"diagnosis,omitempty"`
	Outliers   *pipeline.Outliers       `json:"outliers,omitempty"`
	Account    *accountField            `json:"account,omitempty"`
	Owner      *Owner                   `json:"owner,omitempty"` // the process that writes it
	RollUp     grainField               `json:"rollup,omitzero"` // what it was rolled up from
	Rolling    RollUpState              `json:"rolling,omitempty"`
}

type grainField struct {
	MS         number `json:"from_ms"`
	Coarseness int    `json:"from_coarseness"`
}

// DocRun is the run that a document belongs to.
type DocRun struct {
	ID         string   `json:"id"`
	Name       string   `json:"name,omitempty"`
	Title      string   `json:"title"`
	Generation string   `json:"generation,omitempty"`     // not in those that outlast an ingest
	Format     int      `json:"format_version,omitempty"` // only in the document of a run, as Status to Intervals
	Part       string   `json:"part,omitempty"`
	Status     Status   `json:"status,omitempty"`
	Start      *stamp   `json:"start,omitempty"`
	StartHow   string   `json:"start_how,omitempty"`
	End        *stamp   `json:"end,omitempty"` // nil until it is known, as Intervals
	Intervals  *int     `json:"quanta,omitempty"`
	Labels     []string `json:"labels,omitempty"`
}

// Span returns when the run began and ended, in ns since 1970; false if that is not known.
func (r *DocRun) Span() (start, end int64, known bool) {
	if r.Start == nil || r.End == nil {
		return 0, 0, false
	}
	return int64(*r.Start), int64(*r.End), true
}

type hostField struct {
	Name []string `json:"name"`
}

type fioField struct {
	Kind     string              `json:"kind"`
	Version  []string            `json:"version,omitempty"`
	Workload []string            `json:"workload,omitempty"`
	Job      []string            `json:"job,omitempty"`
	Measure  []string            `json:"measure,omitempty"`
	Options  map[string][]string `json:"options,omitempty"`
	pipeline.Load
}

type intervalField struct {
	MS       number `json:"ms"`
	OffsetMS number `json:"offset_ms"`
}

type countField struct {
	Count int `json:"count"`
}

type bucketsField struct {
	Buckets fiohist.Geometry `json:"buckets"`
}

type fileField struct {
	Name       string `json:"name"`
	Size       int64  `json:"size"`
	Hash       string `json:"hash,omitempty"`
	Host       string `json:"host,omitempty"`
	Job        string `json:"job,omitempty"`
	Log        string `json:"log,omitempty"`
	IntervalMS number `json:"interval_ms"`
	StartMS    number `json:"start_ms"`
	// EndMS and Directions are set at the end of the run.
	EndMS      *number                   `json:"end_ms,omitempty"`
	Load       map[string]*pipeline.Load `json:"load,omitempty"`
	Directions map[string]directionField `json:"directions,omitempty"`
	Empty      bool                      `json:"empty,omitempty"`
	Repaired   bool                      `json:"repaired,omitempty"`
}

// directionField is a pipeline.LogDirection. Without Min and Max the limits are unknown.
type directionField struct {
	IOs  bool `json:"ios,omitempty"`
	None bool `json:"none,omitempty"`
	// Samples, FromMS, ToMS and UntilMS are its I/Os and when it ran; absent in documents of an older fiolat.
	Samples number  `json:"samples,omitempty"`
	More    number  `json:"unmeasured,omitempty"`
	Bytes   number  `json:"bytes,omitempty"`
	FromMS  *number `json:"from_ms,omitempty"`
	ToMS    number  `json:"to_ms,omitempty"`
	UntilMS number  `json:"until_ms,omitempty"`
	Min     *int64  `json:"min,omitempty"`
	Max     *int64  `json:"max,omitempty"`
	// Holes are the begin and end of each of pipeline.LogDirection's, in ms.
	Holes [][2]number `json:"holes_ms,omitempty"`
}

type jobField struct {
	Name      string            `json:"name"`
	Host      string            `json:"host,omitempty"`
	Group     int               `json:"group"`
	Start     *stamp            `json:"start,omitempty"`
	RuntimeMS int64             `json:"runtime_ms"`
	Error     int               `json:"error"`
	Options   map[string]string `json:"options,omitempty"`
	// Global are the options of [global] and of the job's host; absent in documents of an older fiolat.
	Global jobfile.Options `json:"global,omitempty"`
	// Directions are fio's totals, "mixed" those of all directions together.
	Directions map[string]*fiojson.DirTotals `json:"directions,omitempty"`
	Sections   []fiojson.Section             `json:"sections,omitempty"`
	Unlike     int                           `json:"unlike,omitempty"`
	NoLog      bool                          `json:"no_log,omitempty"`
	fiojson.Apart
}

// tailField is the share of a host in the I/Os above p99 and in all I/Os; its names are those of withTail.
type tailField struct {
	Host     string     `json:"host"`
	Expected number     `json:"expected"`
	Lift     number     `json:"lift"`
	P99      shareField `json:"p99"`
}

type shareField struct {
	Share number `json:"share"`
}

// tailsField is the host that has most above its expected share, and the first maxTailHosts with it.
type tailsField struct {
	tailField
	Hosts []tailField `json:"hosts"`
}

const maxTailHosts = 100

type accountField struct {
	*pipeline.Account
	Documents Documents `json:"documents"`
}

// AppendRun appends the document of a run. sum and docs are nil while unknown. Without both, files and jobs are
// left out, because that document is written repeatedly. Nothing in it depends on when or where it is made, so
// a second ingest of the same logs gives the same bytes.
func (e *Encoder) AppendRun(dst []byte, status Status, sum *pipeline.Summary, docs *Documents) ([]byte, error) {
	run := e.run
	summary := run.MetaSummary
	if summary == nil {
		summary = &pipeline.MetaSummary{Versions: versions(run), Workloads: run.Workloads(), Measures: run.Measures(),
			Options: options(run)}
	}
	doc := runDoc{
		Timestamp: stamp(run.Start),
		Run: DocRun{ID: run.ID, Name: run.Name, Title: run.Title(), Generation: run.Generation,
			Part: run.Part, Status: status, Start: new(stamp(run.Start)), StartHow: run.StartHow,
			Labels: labelPairs(run.Labels), Format: pipeline.FormatVersion},
		Labels: run.Labels,
		Fio: fioField{Kind: e.kind, Version: summary.Versions, Workload: summary.Workloads, Job: jobNames(run),
			Measure: summary.Measures, Options: summary.Options, Load: run.LoadOf(fio.Dims{})},
		Interval: intervalField{number(float64(run.Interval) / 1e6), number(float64(run.FirstInterval) / 1e6)},
		Logs:     countField{len(run.Logs)},
		Latency:  bucketsField{run.Geometry},
		Settings: settings(run),
		Parts:    run.Parts,
		RollUp:   grainField{number(float64(run.Fine.Interval) / 1e6), run.Fine.Coarseness},
	}
	if hosts := distinct(run.Logs, func(l *pipeline.Log) string { return l.Host }); len(hosts) > 0 {
		doc.Host = &hostField{hosts}
	}
	files := run.Logs
	if sum == nil && docs == nil {
		files = nil
	} else {
		var err error
		if doc.Jobs, err = jobs(run); err != nil {
			return dst, err
		}
	}
	for _, l := range files {
		f := fileField{
			Name: l.Source.Base, Size: l.Source.Size, Hash: l.Hash, Host: l.Host, Job: l.Job, Log: l.LogName,
			IntervalMS: number(float64(l.Interval) / 1e6), StartMS: number(float64(l.Start) / 1e6),
			Empty: l.Empty, Repaired: slices.Contains(l.Repaired[:], true),
		}
		for d, of := range l.Loads() {
			if of == nil {
				continue
			}
			if f.Load == nil {
				f.Load = map[string]*pipeline.Load{}
			}
			f.Load[fio.Direction(d).String()] = of
		}
		if sum != nil {
			end := number(float64(l.End) / 1e6)
			f.EndMS, f.Directions = &end, directions(l)
		}
		doc.Files = append(doc.Files, f)
	}
	if sum != nil {
		end := stamp(run.Start + sum.End)
		doc.Run.End, doc.Run.Intervals = &end, &sum.Intervals
		rows := summaryRows(sum)
		syncs, err := run.Syncs()
		if err != nil {
			return dst, err
		}
		if syncs != nil && rows[syncs.Dims.Direction] == nil { // unless the run's kind is sync
			rows[syncs.Dims.Direction] = syncs
		}
		for direction, r := range rows {
			if doc.Summary == nil {
				doc.Summary, doc.Histograms = map[string]any{}, map[string]*RunHistogram{}
			}
			doc.Summary[direction] = e.summaryOf(r)
			if r != syncs { // the histograms of syncs are in jobs
				doc.Histograms[direction] = NewRunHistogram(r, e.run.Geometry, e.Noise[direction])
			}
		}
		doc.Tail = tailsOf(sum)
		doc.SLA = outcomes(sum)
		doc.Diagnosis = e.Diagnosis
		doc.Outliers = e.Outliers
	}
	if docs != nil {
		doc.Account = &accountField{Documents: *docs}
		if sum != nil {
			doc.Account.Account = &sum.Account
		}
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		return dst, err
	}
	return append(dst, fio.PrintableJSON(bytes.TrimSuffix(buf.Bytes(), []byte("\n")), "")...), nil
}

// directions returns what the log's directions hold, without those that are empty.
func directions(l *pipeline.Log) map[string]directionField {
	out := map[string]directionField{}
	for i, d := range l.Dirs {
		f := directionField{IOs: d.HasIO, None: d.KnownIdle}
		if d.HasIO {
			from := number(float64(d.From) / 1e6)
			f.More = number(d.Unmeasured)
			f.Samples, f.Bytes, f.FromMS = number(d.IOs), number(d.Bytes), &from
			f.ToMS, f.UntilMS = number(float64(d.To)/1e6), number(float64(d.Until)/1e6)
		}
		if d.Limits.Known {
			f.Min, f.Max = &d.Limits.Min, &d.Limits.Max
		}
		for _, h := range d.Holes {
			f.Holes = append(f.Holes, [2]number{number(float64(h.From) / 1e6), number(float64(h.To) / 1e6)})
		}
		if f.IOs || f.None || f.Min != nil || f.Holes != nil {
			out[fio.Direction(i).String()] = f
		}
	}
	return out
}

// summaryRows returns the rows of the whole run by direction, including "all". A part has only rows of hosts:
// they are used if there is a single host.
func summaryRows(sum *pipeline.Summary) map[string]*pipeline.Row {
	out := map[string]*pipeline.Row{}
	hosts := map[string]bool{}
	for i := range sum.Total {
		hosts[sum.Total[i].Dims.Host] = true
	}
	delete(hosts, "")
	for i := range sum.Total {
		r := &sum.Total[i]
		switch fio.Undirected(r.Scope) {
		case fio.RunScope:
		case fio.HostScope:
			if _, better := out[r.Dims.Direction]; better || len(hosts) != 1 {
				continue
			}
		default:
			continue
		}
		out[r.Dims.Direction] = r
	}
	return out
}

// tailsOf returns the hosts of the whole run's tail by direction, the worst first.
func tailsOf(sum *pipeline.Summary) map[string]*tailsField {
	out := map[string]*tailsField{}
	for i := range sum.Total {
		r := &sum.Total[i]
		if t := r.TailPart; t != nil && t.Share >= 0 && fio.Undirected(r.Scope) == fio.HostScope {
			of := out[r.Dims.Direction]
			if of == nil {
				of = &tailsField{}
				out[r.Dims.Direction] = of
			}
			of.Hosts = append(of.Hosts, tailField{r.Dims.Host, number(rounded(t.Expected, millionth)),
				number(rounded(t.Share/t.Expected, millionth)), shareField{number(rounded(t.Share, millionth))}})
		}
	}
	beyond := func(h tailField) float64 { return math.Round(float64(h.P99.Share-h.Expected) * 1e6) } // ties go by name
	for _, of := range out {
		slices.SortStableFunc(of.Hosts, func(a, b tailField) int { return cmp.Compare(beyond(b), beyond(a)) })
		of.tailField, of.Hosts = of.Hosts[0], of.Hosts[:min(maxTailHosts, len(of.Hosts))]
	}
	return out
}

func (e *Encoder) summaryOf(r *pipeline.Row) map[string]any {
	s, m := &r.Stats, map[string]any{}
	values := r.Values(nil)
	for _, f := range fio.Figures(fio.OfAnywhere) {
		if v, known := f.Of(values); known && f.Field != "" {
			m[f.Field] = number(figure(fio.Metric{Name: f.Name}, v))
		}
	}
	if v, known := e.run.BytesPerSecond(r); known {
		m["bytes_per_second"] = number(rounded(v, thousandth))
	}
	if s.Empty() {
		return m
	}
	for i, v := range s.Percentiles {
		m[e.names[i]] = number(rounded(v, tenth))
	}
	if names := e.atLeast(s); names != nil {
		m["at_least"] = names
	}
	return m
}

func (e *Encoder) atLeast(s *fiohist.Stats) (names []string) {
	for _, n := range s.AtLeast {
		names = append(names, e.names[n])
	}
	return names
}

// distinct returns the values of all logs other than "", each once, sorted.
func distinct(logs []*pipeline.Log, of func(*pipeline.Log) string) []string {
	seen := map[string]bool{}
	for _, l := range logs {
		if v := of(l); v != "" {
			seen[v] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func jobNames(run *pipeline.Run) []string {
	return distinct(run.Logs, func(l *pipeline.Log) string { return l.Job })
}

func versions(run *pipeline.Run) []string {
	seen := map[string]bool{}
	for _, m := range run.Metas {
		if m.Version != "" {
			seen[m.Version] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// longOption is the length beyond which a value is only in jobs.options. Elasticsearch limits the length of an
// indexed term, which also contains the option's name.
const longOption = 8000

// options returns the distinct values of each fio option in the run, so that runs can be found by them. jobs
// says which job has which value.
func options(run *pipeline.Run) map[string][]string {
	seen := map[string]map[string]bool{}
	add := func(o jobfile.Options) {
		for k, v := range o {
			k = optionKey(k)
			if k == "" || len(k) > 200 || len(v) > longOption {
				continue
			}
			if seen[k] == nil {
				seen[k] = map[string]bool{}
			}
			seen[k][v] = true
		}
	}
	for _, m := range run.Metas {
		add(m.Global)
		for _, en := range m.Entries {
			add(en.Options)
		}
	}
	out := make(map[string][]string, len(seen))
	for k, vs := range seen {
		out[k] = slices.Sorted(maps.Keys(vs))
	}
	return out
}

// optionKey returns the name of an option without NUL, which a flattened field uses as its separator of names
// and values.
func optionKey(k string) string { return strings.ReplaceAll(k, "\x00", "\uFFFD") }

func jobs(run *pipeline.Run) (out []jobField, err error) {
	for _, m := range run.Metas {
		for _, en := range m.Entries {
			j := jobField{Name: en.JobName, Host: en.Host, Group: en.GroupID, RuntimeMS: en.RuntimeMS, Error: en.Error,
				Options: en.Options, Global: m.Globals(&en), Sections: en.Sections, Unlike: en.Unlike,
				NoLog: en.NoLog}
			if m.Mixed {
				en.Mixed, en.Dirs[0] = en.Dirs[0], fiojson.DirTotals{}
			}
			j.Directions = directionsOf(&en)
			maps.DeleteFunc(j.Directions, func(_ string, d *fiojson.DirTotals) bool { return d.TotalIOs == 0 })
			if en.StartMS > 0 && en.StartMS <= fiolog.MaxTime {
				j.Start = new(stamp(en.StartMS * 1e6))
			}
			if j.Apart, err = en.Apart(); err != nil {
				return nil, err
			}
			out = append(out, j)
		}
	}
	return out, nil
}

// directionsOf returns an entry's directions by name.
func directionsOf(e *fiojson.Entry) map[string]*fiojson.DirTotals {
	out := map[string]*fiojson.DirTotals{"mixed": &e.Mixed}
	for d := range e.Dirs {
		out[fio.Direction(d).String()] = &e.Dirs[d]
	}
	return out
}

// settings returns the settings that determine the generation.
func settings(run *pipeline.Run) map[string]any {
	s := run.Settings
	s.Percentiles, s.Offsets = run.Percentiles, map[string]time.Duration{}
	for host, d := range run.Settings.Offsets {
		host = optionKey(host)
		if host != "" {
			s.Offsets[host] = d
		}
	}
	return s.Document()
}
