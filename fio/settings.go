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
	Grid        string // run, epoch
	Align       string // overlap, inflight
	RecordTime  string // end, start
	By          []string
	Percentiles []float64
	Coarseness  int // -1: the logs' own
	LogHistMsec int64
	FioVersion  int    // major version of the fio that wrote the logs, if nothing else tells it; 0: not given
	Repair      string // auto, yes, no
	Restore     bool
	SkipBad     bool
	Kind        Kind
	Start       string
	Offsets     map[string]time.Duration
	// SLA are the rules for latencies, in canonical spelling.
	SLA []string
}

// Defaults returns the settings that hold where the command line says nothing. There is no default interval.
func Defaults() Settings {
	return Settings{Grid: "run", Align: "overlap", RecordTime: "end", By: []string{"direction"},
		Percentiles: []float64{50, 90, 95, 99, 99.9}, Coarseness: -1, Repair: "auto", Restore: true}
}

// Setting is one field of Settings.
type Setting struct {
	// Name is its name in documents, Line that in the text of a generation. Neither may ever change.
	Name, Line string
	// Flag is what sets it.
	Flag string
	// Words are its values, if it has only these.
	Words []string
	// Same is set if all parts of a run need the same value.
	Same bool
	// Optional leaves it out of documents where it is empty.
	Optional bool
	// Value points to the field.
	Value any
}

// Fields lists all fields, in the order of the text of a generation.
func (s *Settings) Fields() []Setting {
	return []Setting{
		{Name: "interval", Line: "interval", Flag: "--interval", Same: true, Value: &s.Interval},
		{Name: "grid", Line: "grid", Flag: "--grid", Words: []string{"run", "epoch"}, Same: true, Value: &s.Grid},
		{Name: "align", Line: "align", Flag: "--align", Words: []string{"overlap", "inflight"}, Same: true,
			Value: &s.Align},
		{Name: "record_time", Line: "record-time", Flag: "--record-time", Words: []string{"end", "start"}, Same: true,
			Value: &s.RecordTime},
		{Name: "by", Line: "by", Flag: "--by", Same: true, Optional: true, Value: &s.By},
		{Name: "percentiles", Line: "percentile", Flag: "--percentiles", Same: true, Value: &s.Percentiles},
		{Name: "coarseness", Line: "coarseness", Flag: "--coarseness", Value: &s.Coarseness},
		{Name: "log_hist_msec", Line: "log-hist-ms", Flag: "--log-hist-msec", Value: &s.LogHistMsec},
		{Name: "fio_version", Line: "fio-version", Flag: "--fio-version", Value: &s.FioVersion},
		{Name: "repair", Line: "repair", Flag: "--repair or --no-repair", Words: []string{"auto", "yes", "no"},
			Same: true, Value: &s.Repair},
		{Name: "restore", Line: "restore", Flag: "--no-restore", Same: true, Value: &s.Restore},
		{Name: "skip_bad", Line: "skip-bad", Flag: "--skip-bad", Value: &s.SkipBad},
		{Name: "kind", Line: "kind", Flag: "--kind", Same: true, Value: &s.Kind},
		{Name: "start", Line: "start", Flag: "--start", Optional: true, Value: &s.Start},
		{Name: "offsets", Line: "offset", Flag: "--offset", Optional: true, Value: &s.Offsets},
		{Name: "sla", Line: "sla", Flag: "--sla", Optional: true, Value: &s.SLA},
	}
}

// Check returns an error about the first setting whose value does not exist, as in Settings that were not made by
// Defaults.
func (s *Settings) Check() error {
	for _, f := range s.Fields() {
		if v, ok := f.Value.(*string); ok && f.Words != nil && !slices.Contains(f.Words, *v) {
			return fmt.Errorf("settings: %s is %q: want one of %q; begin with Defaults()", f.Name, *v, f.Words)
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
			if m[f.Name] = of; f.Optional && len(of) == 0 {
				delete(m, f.Name)
			}
		case *[]string:
			if !f.Optional || len(*v) > 0 {
				m[f.Name] = *v
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
		if *v, known = ParseKind(text); !known {
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
