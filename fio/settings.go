package fio

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Settings are what changes the numbers, spelled as on the command line. Begin with Defaults: the zero value is
// refused.
type Settings struct {
	Interval    time.Duration
	Grid        string // GridRun or GridEpoch
	Align       string // AlignOverlap or AlignInflight
	RecordTime  string // RecordTimeEnd or RecordTimeStart
	By          []string
	Percentiles []float64
	Coarseness  int // -1: the logs' own
	LogHistMsec int64
	FioVersion  int    // major version of the fio that wrote the logs, if nothing else tells it; 0: not given
	Repair      string // RepairAuto, RepairYes or RepairNo
	Restore     bool
	SkipBad     bool
	Kind        Kind
	Start       string
	Offsets     map[string]time.Duration
	SLA         []SLARule
}

// The words that settings take.
const (
	GridRun         = "run"
	GridEpoch       = "epoch"
	AlignOverlap    = "overlap"
	AlignInflight   = "inflight"
	RecordTimeEnd   = "end"
	RecordTimeStart = "start"
	RepairAuto      = "auto"
	RepairYes       = "yes"
	RepairNo        = "no"
)

// Defaults returns the settings that hold where the command line says nothing. There is no default interval.
func Defaults() Settings {
	return Settings{Grid: GridRun, Align: AlignOverlap, RecordTime: RecordTimeEnd, By: []string{ByDirection},
		Percentiles: []float64{50, 90, 95, 99, 99.9}, Coarseness: -1, Repair: RepairAuto, Restore: true}
}

// Setting is one field of Settings.
type Setting struct {
	// Name is its name in documents, Line that in the text of a generation. Neither may ever change.
	Name, Line string
	// Flags set it on the command line.
	Flags []Flag
	// Words are its values, if it has only these; the first is the default.
	Words []string
	// Same is set if all parts of a run need the same value.
	Same bool
	// Optional leaves it out of documents where it is empty.
	Optional bool
	// Value points to the field.
	Value any
}

// Flag is a command-line flag, without its dashes, and its line of help.
type Flag struct{ Name, Usage string }

// Fields lists all fields, in the order of the text of a generation.
func (s *Settings) Fields() []Setting {
	return []Setting{
		{Name: "interval", Line: "interval", Same: true, Value: &s.Interval, Flags: []Flag{{"interval",
			"length of an interval, `DURATION` such as 10s, or auto (default: as logged, in whole seconds)"}}},
		{Name: "grid", Line: "grid", Words: []string{GridRun, GridEpoch}, Same: true, Value: &s.Grid,
			Flags: []Flag{{"grid", "intervals are counted from the run's start (`run`) or from 1970 (epoch)"}}},
		{Name: "align", Line: "align", Words: []string{AlignOverlap, AlignInflight}, Same: true, Value: &s.Align,
			Flags: []Flag{{"align", "an I/O counts where it may have completed (`overlap`) or where it was in flight " +
				"(inflight)"}}},
		{Name: "record_time", Line: "record-time", Words: []string{RecordTimeEnd, RecordTimeStart}, Same: true,
			Value: &s.RecordTime, Flags: []Flag{{"record-time", "a record's time is the `end` of its interval, as in fio, or the start, as in " +
				"fio-histo-log-pctiles"}}},
		{Name: "by", Line: "by", Same: true, Optional: true, Value: &s.By, Flags: []Flag{{"by",
			"group by a `LIST` of direction, host, job, log; the total is always included"}}},
		{Name: "percentiles", Line: "percentile", Same: true, Value: &s.Percentiles,
			Flags: []Flag{{"percentiles", "`LIST` of percentiles"}}},
		{Name: "coarseness", Line: "coarseness", Value: &s.Coarseness, Flags: []Flag{{"coarseness",
			"add up 2^`N` neighbouring buckets, 0 to 6, to save space (default: as logged)"}}},
		{Name: "log_hist_msec", Line: "log-hist-ms", Value: &s.LogHistMsec, Flags: []Flag{{"log-hist-msec",
			"the job's log_hist_msec in `MS`, if neither fio's JSON nor a job file has it"}}},
		{Name: "fio_version", Line: "fio-version", Value: &s.FioVersion, Flags: []Flag{{"fio-version",
			"`VERSION` of the fio that wrote the logs, if neither fio's JSON nor the logs tell it"}}},
		{Name: "repair", Line: "repair", Words: []string{RepairAuto, RepairYes, RepairNo}, Same: true, Value: &s.Repair,
			Flags: []Flag{{"repair", "repair logs damaged by fio --client where it is proven (`auto`), in all logs (yes), " +
				"or never (no)"}}},
		{Name: "restore", Line: "restore", Same: true, Value: &s.Restore, Flags: []Flag{{"no-restore",
			"leave out I/Os that only fio's JSON counts: each job's last, partial window"}}},
		{Name: "skip_bad", Line: "skip-bad", Value: &s.SkipBad, Flags: []Flag{{"skip-bad",
			"skip and count lines and logs that cannot be read"}}},
		{Name: "kind", Line: "kind", Same: true, Value: &s.Kind, Flags: []Flag{{"kind",
			"`KIND` of latency: clat, slat or lat"}}},
		{Name: "start", Line: "start", Optional: true, Value: &s.Start, Flags: []Flag{{"start",
			"when the run started: `TIME` in RFC 3339 or since 1970, or mtime to guess it from the logs"}}},
		{Name: "offsets", Line: "offset", Optional: true, Value: &s.Offsets, Flags: []Flag{{"offset",
			"`HOST=DURATION` by which a host's jobs started later, or @FILE with a line HOST DURATION for each host"}}},
		{Name: "sla", Line: "sla", Optional: true, Value: &s.SLA, Flags: []Flag{{"sla",
			"judge by `RULE`, such as 'read p99 < 5ms' or 'iops >= 10000', or by the rules in @FILE"}}},
	}
}

// Check returns an error about the first setting whose value does not exist, as in Settings that were not made by
// Defaults.
func (s *Settings) Check() error {
	for _, f := range s.Fields() {
		if v, ok := f.Value.(*string); ok && f.Words != nil && !slices.Contains(f.Words, *v) {
			return fmt.Errorf("settings: %s is %q: want one of %q; begin with fio.Defaults()", f.Name, *v, f.Words)
		}
	}
	return nil
}

// Document returns the settings as documents have them, by name.
func (s *Settings) Document() map[string]any {
	m := map[string]any{}
	for _, f := range s.Fields() {
		switch v := f.Value.(type) {
		case *time.Duration:
			m[f.Name] = v.String()
		case *Kind:
			m[f.Name] = v.String()
		case *[]float64:
			var list []string
			for _, p := range *v {
				list = append(list, strconv.FormatFloat(p, 'f', -1, 64))
			}
			m[f.Name] = strings.Join(list, ",")
		case *map[string]time.Duration:
			of := map[string]string{}
			for k, d := range *v {
				of[k] = d.String()
			}
			m[f.Name] = of
			if f.Optional && len(of) == 0 {
				delete(m, f.Name)
			}
		case *[]string:
			if !f.Optional || len(*v) > 0 {
				m[f.Name] = *v
			}
		case *[]SLARule:
			if !f.Optional || len(*v) > 0 {
				m[f.Name] = texts(*v)
			}
		case *string:
			if !f.Optional || *v != "" {
				m[f.Name] = *v
			}
		case *int:
			m[f.Name] = *v
		case *int64:
			m[f.Name] = *v
		case *bool:
			m[f.Name] = *v
		}
	}
	return m
}

// Read sets what Document returned, decoded from JSON. What the document lacks stays, but for the kind and the
// percentiles, which it must have.
func (s *Settings) Read(doc map[string]any) error {
	for _, f := range s.Fields() {
		if err := f.read(doc[f.Name]); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return nil
}

func (f *Setting) read(value any) (err error) {
	text, _ := value.(string)
	switch v := f.Value.(type) {
	case *time.Duration:
		if value != nil {
			*v, err = time.ParseDuration(text)
		}
	case *Kind:
		known := false
		*v, known = ParseKind(text)
		if !known {
			err = fmt.Errorf("no such kind: %q", text)
		}
	case *[]float64:
		*v = nil
		for _, number := range strings.Split(text, ",") {
			p, err := strconv.ParseFloat(number, 64)
			if err != nil {
				return err
			}
			*v = append(*v, p)
		}
	case *[]string:
		if text != "" { // a list of one, as Elasticsearch may give it
			value = []string{text}
		}
		return f.decode(value)
	case *[]SLARule:
		var rules []string
		list := Setting{Value: &rules}
		err = list.read(value)
		if err == nil && value != nil {
			*v, err = ParseSLARules(rules)
		}
		return err
	case *map[string]time.Duration:
		*v = map[string]time.Duration{}
		of, _ := value.(map[string]any)
		for k, d := range of {
			text, _ := d.(string)
			if (*v)[k], err = time.ParseDuration(text); err != nil {
				return err
			}
		}
	default:
		return f.decode(value)
	}
	return err
}

func (f *Setting) decode(value any) error {
	if value == nil {
		return nil
	}
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, f.Value)
}
