package esmodel

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/ingest/fiojson"
	"fiolat/pipeline"
	"fiolat/pipeline/replay"
)

// WithOwner returns the document of a run with the mark of a process.
func WithOwner(doc []byte, o *Owner) []byte {
	doc = bytes.TrimSpace(doc)
	out := append([]byte(nil), doc[:len(doc)-1]...)
	if len(bytes.TrimSpace(out)) > 1 {
		out = append(out, ',')
	}
	return append(append(append(out, `"owner":`...), MustJSON(o)...), '}')
}

// WithoutOwner returns the document of a run without the mark of a process, and the mark; nil if it has none.
func WithoutOwner(doc []byte) ([]byte, *Owner, error) {
	m, err := ReadDocHeader(doc)
	if err != nil || m.Owner == nil {
		return doc, nil, err
	}
	var all map[string]json.RawMessage
	err = json.Unmarshal(doc, &all)
	delete(all, "owner")
	return MustJSON(all), m.Owner, err
}

// WithStatus returns the document of a run with another status.
func WithStatus(doc []byte, status Status) ([]byte, error) {
	return edit(doc, func(_, run map[string]json.RawMessage) { run["status"] = MustJSON(status) })
}

// RollUpState is the progress of the rollup of a run, in the run's document; "" if none is under way.
type RollUpState string

const (
	// RollUpWriting means that the document still describes the finer documents.
	RollUpWriting RollUpState = "writing"
	// RollUpCounted means that it describes the coarser documents, all of which are stored.
	RollUpCounted RollUpState = "counted"
)

// WithRollUp returns the document of a run with a rollup state, "" for none, and a status.
func WithRollUp(doc []byte, state RollUpState, status Status) []byte {
	out, err := edit(doc, func(m, run map[string]json.RawMessage) {
		m["rolling"] = MustJSON(state)
		if state == "" {
			delete(m, "rolling")
		}
		run["status"] = MustJSON(status)
	})
	if err != nil {
		return doc // there was no document, so there is nothing to roll up
	}
	return out
}

// WithFiner returns the document of a run that is rolled up with what finer, its document before, has found: diagnosis,
// verdicts, end, summary, and limits by the noise within the run. The field rollup says of which intervals that is.
func WithFiner(doc, finer []byte) []byte {
	type whole map[string]map[string]json.RawMessage
	var before struct {
		Run     struct{ End json.RawMessage }
		Summary json.RawMessage
		Whole   whole
	}
	if Decode(finer, &before) != nil || before.Summary == nil {
		return doc
	}
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(finer, &fields) // it was decoded
	out, err := edit(doc, func(m, run map[string]json.RawMessage) {
		run["end"] = before.Run.End
		for _, name := range []string{"summary", "tail", "sla", "diagnosis", "outliers"} {
			m[name] = fields[name]
			if m[name] == nil {
				delete(m, name)
			}
		}
		var now whole
		if m["whole"] == nil { // it is not complete
			now = before.Whole
		} else if json.Unmarshal(m["whole"], &now) != nil {
			return
		}
		for direction, h := range now {
			if limits := before.Whole[direction]["limits"]; limits != nil {
				h["limits"] = limits
			}
		}
		m["whole"] = MustJSON(now)
	})
	if err != nil {
		return doc
	}
	return out
}

// WithoutGeneration returns the document of a run that belongs to no generation, because it is being deleted.
func WithoutGeneration(doc []byte) []byte {
	out, err := edit(doc, func(_, run map[string]json.RawMessage) { delete(run, "generation") })
	if err != nil {
		return doc
	}
	return out
}

// PartialDoc returns a document of the run with status partial, made from the one found.
func (k RunKey) PartialDoc(found []byte) []byte {
	if found != nil {
		if doc, err := WithStatus(found, StatusPartial); err == nil {
			return doc
		}
	}
	run := map[string]any{"id": k.Run, "status": StatusPartial}
	if k.Part != "" {
		run["part"] = k.Part
	}
	return MustJSON(map[string]any{"run": run, "fio": map[string]any{"kind": k.Kind}})
}

// Unmerged returns the document of a merged run as partial, for when one of its parts changes; nil if found is not
// that of a merged run.
func Unmerged(found []byte) []byte {
	m, err := ReadDocHeader(found)
	switch {
	case err != nil || len(m.Parts) == 0:
		return nil
	case m.Run.Status == StatusPartial:
		return found
	}
	out, _ := WithStatus(found, StatusPartial) // it was decoded before
	return out
}

// PartsOf returns the parts that the document of a merged run names; nil for other documents.
func PartsOf(doc []byte) []pipeline.Part {
	m, err := ReadDocHeader(doc)
	if err != nil {
		return nil
	}
	return m.Parts
}

// Holds reports whether the document of a run or part says that it is complete in a generation, and that nobody is
// writing it.
func Holds(found []byte, generation string) bool {
	m, err := ReadDocHeader(found)
	return err == nil && m.Run.Status == StatusComplete && m.Run.Generation == generation && m.Owner == nil
}

// DocHeader is the part of a document that says which run, part, generation and kind of latency it belongs to.
type DocHeader struct {
	Run DocRun
	Fio struct{ Kind string }
	// Owner, Account and Rolling are in the document of a run.
	Owner   *Owner
	Account struct{ Documents Documents }
	Rolling RollUpState
	Parts   []pipeline.Part // in that of a merged run
	Labels  map[string]string
}

// Key returns the run, part and kind of latency of the document.
func (m *DocHeader) Key() RunKey { return RunKey{m.Run.ID, m.Run.Part, m.Fio.Kind} }

// State returns what the document of a run says of the run.
func (m *DocHeader) State() State { return State{m.Run.Generation, m.Run.Status, m.Rolling} }

// State is what a process has read of a run, or of a part of it; the zero value is that of a run that is not there.
type State struct {
	Generation string
	Status     Status
	Rolling    RollUpState
}

// Still returns a function that returns an error unless the document of the run that is found, nil if there is none,
// still says so.
func (s State) Still(key RunKey) func(found []byte) error {
	return func(found []byte) (err error) {
		var m DocHeader
		if found != nil {
			m, err = ReadDocHeader(found)
		}
		if err == nil && m.State() != s {
			err = Fault(key.Run, key.Part, "run it again", "it was changed after it had been read")
		}
		return err
	}
}

// RunKey identifies the document of a run.
type RunKey struct{ Run, Part, Kind string }

// KeyOf returns the key of a run's document.
func KeyOf(run *pipeline.Run) RunKey { return RunKey{run.ID, run.Part, run.Kind.String()} }

// ID returns the _id of the run's document.
func (k RunKey) ID() string { return RunDocID(k.Run, k.Part, k.Kind) }

// ReadDocHeader reads the DocHeader of a document from its source.
func ReadDocHeader(source []byte) (m DocHeader, err error) {
	if err = Decode(source, &m); err != nil {
		err = fmt.Errorf("a document cannot be read: %w", err)
	}
	return m, err
}

// Owner is the process that works on a run, as stored in the run's document.
type Owner struct {
	// ID is random.
	ID   string `json:"id"`
	Host string `json:"host"`
	PID  int    `json:"pid"`
}

func (o *Owner) String() string {
	return fmt.Sprintf("fiolat on host %s, process %d", fio.Printable(o.Host), o.PID)
}

// StoredRun is the document of a run, or of one part of it, read back.
type StoredRun struct {
	replay.Stored
	Status Status
	// Owner is the process that works on the run, or died doing so; nil if there is none.
	Owner     *Owner
	Rolling   RollUpState
	Format    int             // of its documents
	Diagnosis json.RawMessage // as it was stored; nil if there is none
}

// State returns what was read of the run.
func (r *StoredRun) State() State { return State{r.Run.Generation, r.Status, r.Rolling} }

// Fault returns the *fio.ParseError for a fault of a stored run.
func Fault(runID, part, hint, format string, args ...any) error {
	what := fmt.Sprintf("run %q", runID)
	if part != "" {
		what += fmt.Sprintf(", part %q", part)
	}
	return &fio.ParseError{File: what, Msg: fmt.Sprintf(format, args...), Hint: hint}
}

// Readable reports whether documents of a format can be read.
func Readable(version int) bool {
	return pipeline.ReadableFormat <= version && version <= pipeline.FormatVersion
}

// CheckFormat returns an error if the documents of a run, or of a part of it, are of a format that cannot be read.
// Before 11 their format was not stored.
func CheckFormat(runID, part string, version int) error {
	if Readable(version) {
		return nil
	}
	who := "an older"
	if version > pipeline.FormatVersion {
		who = "a newer"
	}
	return Fault(runID, part, "ingest it again, or fiolat delete it", "%s fiolat stored it, in a format that this one "+
		"cannot read", who)
}

// Incomplete returns the error for a run that is not complete.
func (r *StoredRun) Incomplete() error {
	why, hint := "its ingest is still running or was killed", "wait for it, or run it again"
	if r.Rolling != "" {
		why, hint = "its rollup is still running or was interrupted", "wait for it, or run fiolat rollup again"
	}
	if r.Owner != nil {
		why = r.Owner.String() + " began to write it: " + why
	} else if r.Status == StatusPartial {
		why, hint = "not all of its documents arrived", "run its ingest again, or fiolat load what was spooled"
	}
	return Fault(r.Run.ID, r.Run.Part, hint, "%s (%s)", why, r.Status)
}

// ReadRun reads the document of a run.
func ReadRun(source []byte) (*StoredRun, error) {
	var doc struct {
		runDoc
		Diagnosis json.RawMessage `json:"diagnosis"`
	}
	if err := Decode(source, &doc); err != nil {
		return nil, fmt.Errorf("the document of a run cannot be read: %w", err)
	}
	if doc.Run.ID == "" {
		return nil, errors.New("the document of a run has no run.id")
	}
	run := &pipeline.Run{
		ID:            doc.Run.ID,
		Name:          doc.Run.Name,
		Named:         doc.Run.Name != "",
		Part:          doc.Run.Part,
		Labels:        doc.Labels,
		Generation:    doc.Run.Generation,
		StartKnown:    true,
		StartHow:      doc.Run.StartHow,
		FirstInterval: nanos(doc.Interval.OffsetMS),
		Interval:      nanos(doc.Interval.MS),
		Parts:         doc.Parts,
		Fine:          pipeline.Grain{Interval: nanos(doc.RollUp.MS), Coarseness: doc.RollUp.Coarseness},
		Geometry:      doc.Latency.Buckets,
	}
	if doc.Run.Start != nil {
		run.Start = int64(*doc.Run.Start)
	}
	out := &StoredRun{Stored: replay.Stored{Run: run}, Status: doc.Run.Status, Owner: doc.Owner,
		Rolling: doc.Rolling, Format: doc.Run.Format, Diagnosis: doc.Diagnosis}
	if doc.Run.Status != StatusComplete && len(doc.Settings) == 0 {
		// Only marked, by a process that deletes or loads documents of the run.
		out.Status, out.Rolling = StatusPartial, ""
		run.Kind, _ = fio.ParseKind(doc.Fio.Kind)
		return out, nil
	}
	if err := CheckFormat(run.ID, run.Part, doc.Run.Format); err != nil {
		return nil, err
	}
	if known, err := fiohist.GeometryOf(run.Geometry.Columns()); err != nil || known != run.Geometry ||
		run.Interval < 1 {
		return nil, Fault(run.ID, run.Part, "", "invalid histogram grid or interval: %+v, %d ns", run.Geometry,
			run.Interval)
	}
	if err := run.Settings.Read(doc.Settings); err != nil {
		return nil, Fault(run.ID, run.Part, "", "its settings cannot be read: %v", err)
	}
	run.Settings.Interval = time.Duration(run.Interval)
	run.Kind, run.Percentiles = run.Settings.Kind, run.Settings.Percentiles
	if doc.Run.End != nil {
		out.End = int64(*doc.Run.End) - run.Start
	}
	if doc.Account != nil {
		out.Leaves = doc.Account.Documents.Histogram
		if doc.Account.Account != nil {
			out.Account = *doc.Account.Account
		}
	}
	for _, f := range doc.Files {
		l := &pipeline.Log{
			Log: &ingest.Log{
				Source:  &ingest.Source{Path: f.Name, Base: f.Name, Size: f.Size},
				Host:    f.Host,
				Job:     f.Job,
				LogName: f.Log,
			},
			Hash:     f.Hash,
			Interval: time.Duration(nanos(f.IntervalMS)),
			Start:    nanos(f.StartMS),
			Empty:    f.Empty,
		}
		l.Load = &[fio.Directions]*pipeline.Load{}
		for i := range l.Load {
			l.Load[i] = f.Load[fio.Direction(i).String()]
		}
		l.Repaired[0] = f.Repaired
		if f.Repaired {
			out.Account.Repaired = append(out.Account.Repaired, f.Name)
		}
		switch {
		case f.EndMS != nil:
			l.End = nanos(*f.EndMS)
		case out.Status == StatusComplete:
			return nil, Fault(run.ID, run.Part, "ingest it again",
				"an older fiolat stored it, without what is needed to read it back")
		}
		for i := range l.Dirs {
			d := f.Directions[fio.Direction(i).String()]
			l.Dirs[i] = pipeline.LogDirection{HasIO: d.IOs, KnownIdle: d.None, IOs: float64(d.Samples),
				Unmeasured: float64(d.More), Bytes: float64(d.Bytes), From: l.Start, To: l.End, Until: l.End}
			if d.FromMS != nil {
				l.Dirs[i].From, l.Dirs[i].To, l.Dirs[i].Until = nanos(*d.FromMS), nanos(d.ToMS), nanos(d.UntilMS)
			}
			for _, h := range d.Holes {
				l.Dirs[i].Holes = append(l.Dirs[i].Holes, pipeline.Span{From: nanos(h[0]), To: nanos(h[1])})
			}
			if d.Min != nil && d.Max != nil {
				l.Dirs[i].Limits = fiohist.Limits{Min: *d.Min, Max: *d.Max, Known: true}
			}
		}
		run.Logs = append(run.Logs, l)
	}
	var found struct{ Stalls []pipeline.Stall }
	if len(doc.Diagnosis) > 0 {
		if err := Decode(doc.Diagnosis, &found); err != nil {
			return nil, Fault(run.ID, run.Part, "ingest it again", "its diagnosis cannot be read: %v", err)
		}
	}
	for i := range found.Stalls {
		run.Stalled(&found.Stalls[i])
	}
	jobs, err := readJobs(&doc.runDoc)
	if err != nil {
		return nil, Fault(run.ID, run.Part, "ingest it again", "its jobs cannot be read: %v", err)
	}
	run.Metas = jobs
	for i, m := range jobs {
		mixed := func(e fiojson.Entry) bool { return e.Mixed.TotalIOs > 0 }
		if run.Timeless() && slices.ContainsFunc(m.Entries, mixed) {
			jobs[i] = m.OfMixed()
		}
	}
	run.MetaSummary = &pipeline.MetaSummary{
		Versions:  doc.Fio.Version,
		Workloads: doc.Fio.Workload,
		Measures:  doc.Fio.Measure,
		Options:   doc.Fio.Options,
	}
	return out, nil
}

// nanos converts ms to ns. It is exact up to 50 days, and for whole ms always.
func nanos(ms number) int64 { return int64(math.Round(float64(ms) * 1e6)) }

// readJobs reads back what jobs wrote.
func readJobs(doc *runDoc) ([]*fiojson.Document, error) {
	m := new(fiojson.Document)
	all := []*fiojson.Document{m}
	for i, j := range doc.Jobs {
		if i == 0 {
			m.Global = j.Global
		} else if !maps.Equal(m.Global, j.Global) {
			m = &fiojson.Document{Global: j.Global}
			all = append(all, m)
		}
		e := fiojson.Entry{JobName: j.Name, Host: j.Host, GroupID: j.Group, RuntimeMS: j.RuntimeMS, Error: j.Error,
			Options: j.Options}
		e.Sections, e.Unlike, e.NoLog = j.Sections, j.Unlike, j.NoLog
		for name, d := range directionsOf(&e) {
			if t := j.Directions[name]; t != nil {
				*d = *t
				e.LongestMS = max(e.LongestMS, t.RuntimeMS)
			}
		}
		if j.Start != nil {
			e.StartMS = int64(*j.Start) / 1e6
		}
		if err := e.Restore(&j.Apart); err != nil {
			return nil, err
		}
		m.Entries = append(m.Entries, e)
	}
	return all, nil
}

// ReadSameness reads what the jobs of a run measure from the run's document, of which jobs.options, jobs.global and
// jobs.sections are needed.
func ReadSameness(source []byte) (fiojson.Sameness, error) {
	var doc runDoc
	if err := Decode(source, &struct{ Jobs *[]jobField }{&doc.Jobs}); err != nil {
		return "", err
	}
	metas, err := readJobs(&doc)
	return fiojson.SamenessOf(metas), err
}

// LeafDecoder converts the documents of leaves and finds the part that each belongs to.
type LeafDecoder struct {
	Parts []*replay.Stored
	index map[pipeline.Part]int
}

// NewLeafDecoder returns the LeafDecoder for the documents of a run or of its parts.
func NewLeafDecoder(runs []*StoredRun) *LeafDecoder {
	b := &LeafDecoder{index: map[pipeline.Part]int{}}
	for _, r := range runs {
		b.Parts = append(b.Parts, &r.Stored)
	}
	// in the order of replay.New
	slices.SortStableFunc(b.Parts, func(x, y *replay.Stored) int { return cmp.Compare(x.Run.Part, y.Run.Part) })
	for i, p := range b.Parts {
		b.index[pipeline.Part{Name: p.Run.Part, Generation: p.Run.Generation}] = i
	}
	return b
}

// LeafDoc holds the fields that are read from the document of a leaf.
type LeafDoc struct {
	Timestamp stamp  `json:"@timestamp"`
	Run       DocRun `json:"run"`
	Host      struct {
		Name string `json:"name"`
	} `json:"host"`
	Fio struct {
		Job       string `json:"job"`
		Log       string `json:"log"`
		Direction string `json:"direction"`
	} `json:"fio"`
	Samples float64 `json:"samples"`
	Latency struct {
		Histogram struct {
			Values numberList[float64] `json:"values"`
			Counts numberList[int]     `json:"counts"`
		} `json:"histogram"`
		Buckets struct {
			fiohist.Geometry
			Logs []int `json:"logs"`
		} `json:"buckets"`
	} `json:"latency"`
}

// Leaf checks and converts the document of a leaf.
func (b *LeafDecoder) Leaf(doc *LeafDoc) (out replay.Leaf, err error) {
	part, ok := b.index[pipeline.Part{Name: doc.Run.Part, Generation: doc.Run.Generation}]
	if !ok {
		return out, fmt.Errorf("it is of part %q, generation %q, which the run does not have", doc.Run.Part,
			doc.Run.Generation)
	}
	run := b.Parts[part].Run
	k := &doc.Latency.Buckets
	out = replay.Leaf{
		Part: part, Start: int64(doc.Timestamp),
		Dims: fio.Dims{Host: doc.Host.Name, Job: doc.Fio.Job, Log: doc.Fio.Log, Direction: doc.Fio.Direction},
	}
	if k.Geometry != run.Geometry {
		return out, fmt.Errorf("its grid is %+v, the run's %+v", k.Geometry, run.Geometry)
	}
	values, counts := doc.Latency.Histogram.Values, doc.Latency.Histogram.Counts
	if len(values) != len(counts) || len(k.Logs)%2 != 0 {
		return out, fmt.Errorf("%d buckets have %d counts", len(values), len(counts))
	}
	hist := fiohist.Sparse{Index: make([]uint16, 0, len(values)), Count: make([]float64, 0, len(values))}
	middles, sum := run.Geometry.Middles(), 0
	for n, v := range values {
		i := run.Geometry.Index(int64(v))
		if v != middles[i] || n > 0 && v <= values[n-1] || counts[n] < 1 {
			return out, fmt.Errorf("a bucket of %v ns cannot hold %v I/Os", v, float64(counts[n])/1000)
		}
		hist.Add(uint16(i), float64(counts[n])/1000)
		sum += counts[n]
	}
	if math.Abs(float64(sum)-1000*doc.Samples) > 0.5+1e-12*float64(sum) {
		return out, fmt.Errorf("its buckets hold %v I/Os, samples says %v", float64(sum)/1000, doc.Samples)
	}
	out.Hist = hist.Hist()
	for i := 0; i < len(k.Logs); i += 2 {
		if k.Logs[i] < 0 || k.Logs[i+1] >= len(run.Logs) {
			return out, fmt.Errorf("it is of logs %d to %d of %d", k.Logs[i], k.Logs[i+1], len(run.Logs))
		}
		for l := k.Logs[i]; l <= k.Logs[i+1]; l++ {
			out.Members = append(out.Members, l)
		}
	}
	return out, nil
}
