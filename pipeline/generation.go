package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"maps"
	"slices"
	"strconv"
	"time"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
)

// FormatVersion must be raised whenever the documents made from the same input change. Documents from ReadableFormat on
// are read back.
const (
	FormatVersion  = 12
	ReadableFormat = 11
)

// generation builds a run.generation: the first 128 bits, in hexadecimal, of the SHA-256 of a text.
// That begins with the line
//
//	fiolat generation VERSION SOURCE
//
// where VERSION is FormatVersion and SOURCE is logs, live, merge or rollup. A line follows for each thing that affects
// the documents: a name and its values, separated by spaces. Strings are quoted as in Go, times and latencies are in ns
// unless the name says ms or s, lists have a line for each element, and maps are sorted by key. The names are part of
// the format: they stay when a Go field is renamed.
type generation struct {
	hash hash.Hash
	line []byte
	// text, if not nil, collects all that is hashed, for tests.
	text *[]byte
}

func newGeneration(source string) *generation {
	g := &generation{hash: sha256.New()}
	g.add("fiolat generation").number(FormatVersion)
	g.line = append(append(g.line, ' '), source...)
	return g
}

func (g *generation) add(name string) *generation {
	g.end()
	g.line = append(g.line, name...)
	return g
}

// end writes the pending line to the hash.
func (g *generation) end() {
	if len(g.line) > 0 {
		g.line = append(g.line, '\n')
		g.hash.Write(g.line)
		if g.text != nil {
			*g.text = append(*g.text, g.line...)
		}
	}
	g.line = g.line[:0]
}

func (g *generation) string(values ...string) *generation {
	for _, v := range values {
		g.line = strconv.AppendQuote(append(g.line, ' '), v)
	}
	return g
}

func (g *generation) number(values ...int64) *generation {
	for _, v := range values {
		g.line = strconv.AppendInt(append(g.line, ' '), v, 10)
	}
	return g
}

func (g *generation) count(v uint64) *generation {
	g.line = strconv.AppendUint(append(g.line, ' '), v, 10)
	return g
}

func (g *generation) float(v float64) {
	g.line = strconv.AppendFloat(append(g.line, ' '), v, 'g', -1, 64)
}

func (g *generation) bool(v bool) {
	g.line = strconv.AppendBool(append(g.line, ' '), v)
}

func (g *generation) strings(name string, m map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		g.add(name).string(k, m[k])
	}
}

func (g *generation) sum() string {
	g.end()
	return hex.EncodeToString(g.hash.Sum(nil)[:16])
}

func (g *generation) settings(s *fio.Settings) {
	for _, f := range s.Fields() {
		name := "setting." + f.Line
		switch v := f.Value.(type) {
		case *time.Duration:
			g.add(name).number(int64(*v))
		case *string:
			g.add(name).string(*v)
		case *fio.Kind:
			g.add(name).string(v.String())
		case *int:
			g.add(name).number(int64(*v))
		case *int64:
			g.add(name).number(*v)
		case *bool:
			g.add(name).bool(*v)
		case *[]string:
			for _, word := range *v {
				g.add(name).string(word)
			}
		case *[]fio.SLARule:
			for i := range *v {
				g.add(name).string((*v)[i].Text)
			}
		case *[]float64:
			for _, p := range *v {
				g.add(name).float(p)
			}
		case *map[string]time.Duration:
			for _, host := range slices.Sorted(maps.Keys(*v)) {
				g.add(name).string(host).number(int64((*v)[host]))
			}
		}
	}
}

// run adds the start and the part of the run. Its ID is in every document, and so left out.
func (g *generation) run(r *Run) {
	g.add("run.start").number(r.Start)
	g.add("run.part").string(r.Part)
}

// named returns the sum with the run's name and labels, which come last. It can be called repeatedly.
func (g *generation) named(r *Run) string {
	g.end()
	h, err := g.hash.(hash.Cloner).Clone()
	if err != nil {
		panic(err) // SHA-256 can be cloned
	}
	all := generation{hash: h, text: g.text}
	all.add("run.name").string(r.Name)
	all.strings("run.label", r.Labels)
	return all.sum()
}

// meta adds the contents of fio's JSON, but not its path.
func (g *generation) meta(m *fiojson.Document) error {
	g.add("fio").string(m.Version)
	g.add("fio.time-ms").number(m.TimestampMS)
	g.add("fio.client").bool(m.ClientServer)
	g.strings("fio.global", m.Global)
	for _, host := range slices.Sorted(maps.Keys(m.HostGlobal)) {
		for _, option := range slices.Sorted(maps.Keys(m.HostGlobal[host])) {
			g.add("fio.host-global").string(host, option, m.HostGlobal[host][option])
		}
	}
	for i := range m.Entries {
		e := &m.Entries[i]
		g.add("job").string(e.JobName, e.Host)
		g.add("job.port").number(int64(e.Port))
		g.add("job.group").number(int64(e.GroupID))
		g.add("job.start-ms").number(e.StartMS)
		g.add("job.runtime-ms").number(e.RuntimeMS)
		g.add("job.longest-ms").number(e.LongestMS)
		g.add("job.elapsed-s").number(e.Elapsed)
		g.add("job.error").number(int64(e.Error))
		g.add("job.errors").number(e.Errors)
		g.strings("job.option", e.Options)
		for _, s := range e.Sections {
			g.add("job.section").string(s.Name)
			g.strings("job.section-option", s.Options)
		}
		if e.Unlike > 0 {
			g.add("job.unlike").number(int64(e.Unlike))
		}
		if e.NoLog {
			g.add("job.no-log")
		}
		for d := range e.Dirs {
			if err := g.totals(fio.Direction(d).String(), &e.Dirs[d]); err != nil {
				return err
			}
		}
		if err := g.totals("mixed", &e.Mixed); err != nil {
			return err
		}
		if err := g.latencies("sync", fio.Sync.String(), &e.Sync); err != nil {
			return err
		}
	}
	return nil
}

// totals adds those of one direction. Empty totals add no line.
func (g *generation) totals(direction string, t *fiojson.DirTotals) error {
	if t.TotalIOs > 0 || t.RuntimeMS != 0 || t.Bytes > 0 {
		g.add("job.total").string(direction).count(t.TotalIOs).number(t.RuntimeMS).count(t.Bytes)
	}
	for k := range t.Kind {
		if err := g.latencies(direction, fio.Kind(k).String(), &t.Kind[k]); err != nil {
			return err
		}
	}
	for i := range t.Prios {
		p := &t.Prios[i]
		g.add("job.priority").number(int64(p.Class), int64(p.Level), int64(p.Hint))
		if err := g.latencies(direction, p.Kind.String(), &p.Totals); err != nil {
			return err
		}
	}
	return nil
}

// latencies adds those of one kind. Empty ones add no line.
func (g *generation) latencies(direction, kind string, t *fiojson.Totals) error {
	if t.N == 0 && t.Min == 0 && t.Max == 0 && t.Mean == 0 && t.Bins.Len() == 0 {
		return nil
	}
	g.add("job.latency").string(direction, kind).count(t.N).number(t.Min, t.Max).float(t.Mean)
	for b, err := range t.Bins.All() {
		if err != nil {
			return err
		}
		g.add("job.bin").number(b.NS).count(b.Count)
	}
	return nil
}

// Digest returns the first 128 bits of the SHA-256 of v's JSON, in hex.
func Digest(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // callers pass only strings, numbers, and slices or maps of them
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// LogsGeneration returns the generation of a run read from logs with these hashes.
func LogsGeneration(run *Run, hashes []string, metas []*fiojson.Document) (string, error) {
	g := newGeneration("logs")
	g.settings(&run.Settings)
	g.run(run)
	if run.Part != "" && slices.ContainsFunc(run.Logs, func(l *Log) bool { return l.Host == run.Part }) {
		g.add("run.part-is-host") // a log need not say so
	}
	for _, hash := range hashes {
		g.add("log").string(hash)
	}
	for _, m := range metas {
		if err := g.meta(m); err != nil {
			return "", err
		}
	}
	run.generation = g.named
	return g.named(run), nil
}

// LiveGeneration returns the generation of a run that is followed live, and sets how the run finds it when it changes.
func LiveGeneration(run *Run) string {
	g := newGeneration("live")
	g.settings(&run.Settings)
	g.run(run)
	run.generation = g.named
	return g.named(run)
}

// RolledUpGeneration returns the generation of a run whose intervals were added up into longer ones.
func RolledUpGeneration(fine string, to Grain) string {
	g := newGeneration("rollup")
	g.add("of").string(fine)
	g.add("interval").number(to.Interval)
	g.add("coarseness").number(int64(to.Coarseness))
	return g.sum()
}

// MergedGeneration returns the generation of a run merged from parts.
func MergedGeneration(parts []Part) string {
	g := newGeneration("merge")
	for _, part := range parts {
		g.add("part").string(part.Name, part.Generation)
	}
	return g.sum()
}
