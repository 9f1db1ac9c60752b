package esmodel

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/jsonw"
	"fiolat/pipeline"
)

const (
	// MaxDocCount is the largest _doc_count that Elasticsearch accepts.
	MaxDocCount = math.MaxInt32
	// LeafScope is the scope of histogram documents.
	LeafScope = "leaf"

	octaves = 40 // fio's largest grid ends at 2^37 ns
)

// errNotFinite reports a histogram whose weights do not add up to a usable number. That is a bug upstream: JSON
// cannot represent such weights, and they have no percentiles.
var errNotFinite = errors.New("weights of a histogram do not add up to a number")

// Encoder makes the documents of one run. What they share and what depends only on the grid is prepared once.
// An Encoder is not safe for concurrent use.
type Encoder struct {
	prefix string
	run    *pipeline.Run
	common string       // run, labels and the start of interval
	moment int64        // offset of the interval that front belongs to
	front  jsonw.Object // common beginning of the documents of an interval
	kind   string
	names  []string // p50, p99_9: parallel to run.Percentiles
	middle []word   // of each bucket
	number []word   // text of 0, 1, 2, ..., one for each bucket
	octave []uint8  // of each bucket
	key    []byte   // scratch of ID
	id     [sha256.Size]byte
	text   [22]byte
	month  struct { // index names of the month used last, by kind
		from, to int64
		names    map[Kind]string
	}
	// Clamped counts documents whose _doc_count was reduced to MaxDocCount.
	Clamped int64
	// Noise is the noise of the whole run, for the run's document; nil if unknown.
	Noise Noise
	// Diagnosis is the diagnosis in the run's document; nil leaves it out.
	Diagnosis pipeline.Diagnosis
	// Outliers are counted in the run's document; nil leaves that out.
	Outliers *pipeline.Outliers

	// The histogram counted last: index and weight of each bucket that is not empty.
	index []uint16
	exact []float64
	kept  []uint16 // buckets whose counts are stored
	milli []int64  // these counts, in thousandths of an I/O

	loads map[fio.Dims]load

	rest map[fio.Dims]float64 // of each leaf, samples so far less the sum of _doc_count
}

// NewEncoder returns an Encoder for the documents of a run in the indices of a prefix.
func NewEncoder(prefix string, run *pipeline.Run) *Encoder {
	e := &Encoder{prefix: prefix, run: run, kind: run.Kind.String(), rest: map[fio.Dims]float64{},
		loads: map[fio.Dims]load{}}
	b := withRun(nil, run, run.Title()).Open("interval").Number("ms", float64(run.Interval)/1e6)
	e.common = string(fio.PrintableJSON(b, ""))
	for _, p := range run.Percentiles {
		e.names = append(e.names, PercentileName(p))
	}
	if g := run.Geometry; g.Groups > 0 {
		e.middle = make([]word, g.Columns())
		e.number = make([]word, g.Columns())
		e.octave = make([]uint8, g.Columns())
		for i := range e.middle {
			m := g.Middle(i)
			e.middle[i] = newWord(m)
			e.number[i] = newWord(float64(i))
			e.octave[i] = uint8(max(bits.Len64(uint64(m))-1, 0))
		}
	}
	return e
}

// withRun appends the members of a document that say which run it is of.
func withRun(b jsonw.Object, run *pipeline.Run, title string) jsonw.Object {
	return b.Open("run").Text("id", run.ID).Optional("name", run.Name).Text("title", title).
		Text("generation", run.Generation).Optional("part", run.Part).Texts("labels", labelPairs(run.Labels)).End().
		Map("labels", run.Labels)
}

// labelPairs returns labels as key=value, sorted. They form one field, run.labels, because a selection among
// the labels of all runs needs a field whose name does not depend on their keys.
func labelPairs(labels map[string]string) []string {
	var pairs []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, k+"="+labels[k])
	}
	return pairs
}

// PercentileName returns the name of the field of a percentile under latency: p50, p99_9. Elasticsearch would
// read a dot as the separator of an object.
func PercentileName(p float64) string {
	return "p" + strings.ReplaceAll(strconv.FormatFloat(p, 'f', -1, 64), ".", "_")
}

// start returns the start of an interval in ns since 1970.
func (e *Encoder) start(q *pipeline.Interval) int64 { return e.run.Start + q.Offset }

// Index returns the index of the interval's documents of a kind. The names of a month are cached.
func (e *Encoder) Index(kind Kind, q *pipeline.Interval) string {
	at := e.start(q)
	m := &e.month
	if m.names == nil || at < m.from || at >= m.to {
		m.from, m.to = monthOf(at)
		m.names = make(map[Kind]string)
	}
	name, ok := m.names[kind]
	if !ok {
		name = Index(e.prefix, kind, at)
		m.names[kind] = name
	}
	return name
}

// ID returns the _id of a document of the interval: 128 bits of a SHA-256 over run, part, generation, kind,
// scope, direction, host, job, log and start in ns. Each string is preceded by its length, so that no two tuples give
// the same input. The id is 22 characters of base64url, which Elasticsearch stores as 16 bytes. No generation
// overwrites another. The result is valid until the next call.
func (e *Encoder) ID(scope string, d fio.Dims, q *pipeline.Interval) []byte {
	k := append(e.key[:0], "fiolat document 2"...)
	for _, s := range [...]string{
		e.run.ID, e.run.Part, e.run.Generation, e.kind, scope, d.Direction, d.Host, d.Job, d.Log,
	} {
		k = binary.AppendUvarint(k, uint64(len(s)))
		k = append(k, s...)
	}
	e.key = binary.BigEndian.AppendUint64(k, uint64(e.start(q)))
	e.id = sha256.Sum256(e.key)
	base64.RawURLEncoding.Encode(e.text[:], e.id[:16])
	return e.text[:]
}

// RunDocID returns the _id of the document of a run, or of one part of it. Each kind of latency has its own,
// because kinds are ingested separately and must not overwrite each other. The id for clat does not contain the
// kind, as in versions that had no other kinds.
func RunDocID(run, part, kind string) string {
	parts := []string{run, part}
	if kind != fio.Clat.String() {
		parts = append(parts, kind)
	}
	return hashID(hashParts("fiolat run 1", parts...))
}

// hashParts returns the input of the hash of an id: each text is preceded by its length, so that no two lists
// give the same input.
func hashParts(family string, parts ...string) []byte {
	k := []byte(family)
	for _, s := range parts {
		k = binary.AppendUvarint(k, uint64(len(s)))
		k = append(k, s...)
	}
	return k
}

func hashIDAt(at stamp, family string, parts ...string) string {
	return hashID(binary.BigEndian.AppendUint64(hashParts(family, parts...), uint64(at)))
}

// hashID returns an _id: 128 bits of a SHA-256, in base64url.
func hashID(key []byte) string {
	sum := sha256.Sum256(key)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// head appends a document of an interval up to logs.
func (e *Encoder) head(dst []byte, q *pipeline.Interval, scope string, d fio.Dims, logs int) jsonw.Object {
	if len(e.front) == 0 || e.moment != q.Offset {
		e.moment = q.Offset
		e.front = e.front[:0].Begin().Time("@timestamp", e.start(q)).Members(e.common).
			Number("offset_ms", float64(q.Offset)/1e6).End()
	}
	return append(jsonw.Object(dst), e.front...).Text("scope", scope).Members(e.loadOf(d).members).
		Open("logs").Int("count", int64(logs)).End()
}

// load is what documents say of dimensions: the options that their jobs share.
type load struct {
	pipeline.Load
	members string // host and fio
}

func (e *Encoder) loadOf(d fio.Dims) load {
	of, ok := e.loads[d]
	if !ok {
		of.Load = e.run.LoadOf(d)
		var b jsonw.Object
		if d.Host != "" {
			b = b.Open("host").Text("name", d.Host).End()
		}
		b = b.Open("fio").Text("kind", e.kind).Optional("job", d.Job).Optional("log", d.Log).
			Text("direction", d.Direction)
		for _, f := range [...]struct {
			name string
			v    *int64
		}{{"iodepth", of.IODepth}, {"numjobs", of.NumJobs}, {"bs", of.BS}, {"rwmixread", of.RWMixRead}} {
			if f.v != nil {
				b = b.Int(f.name, *f.v)
			}
		}
		of.members = string(fio.PrintableJSON(b.End(), ""))
		e.loads[d] = of
	}
	return of
}

// HasDocument reports whether a histogram gets a document, which takes half a thousandth of an I/O.
func HasDocument(h *fiohist.Hist) bool { return h.Sum() >= 0.0005 }

// Histogram appends the document of a leaf that HasDocument. The intervals of a leaf must come in order of time and
// each once.
//
// Elasticsearch silently truncates fractions of the counts of latency.histogram, but percentiles do not depend on their
// scale: they are thousandths of an I/O, and their running sum is the exact one rounded.
func (e *Encoder) Histogram(dst []byte, q *pipeline.Interval, leaf *pipeline.Leaf) ([]byte, error) {
	samples, err := e.count(leaf.Hist)
	if err != nil {
		return dst, err
	}
	b := e.head(dst, q, LeafScope, leaf.Dims, leaf.Logs).Number("samples", samples)
	b, e.rest[leaf.Dims] = e.docCount(b, e.rest[leaf.Dims]+samples)
	return e.histogram(b.Open("latency"), leaf.Limits, leaf.Members).End().End(), nil
}

// docCount appends the I/Os as _doc_count, for which Elasticsearch takes whole numbers from 1 to MaxDocCount, and
// returns by how much they exceed it, for the leaf's next document.
func (e *Encoder) docCount(b jsonw.Object, ios float64) (jsonw.Object, float64) {
	whole := max(math.Round(ios), 1)
	if whole > MaxDocCount {
		whole, ios = MaxDocCount, MaxDocCount
		e.Clamped++
	}
	return b.Int("_doc_count", int64(whole)), ios - whole
}

// histogram appends the fields of latency that describe the histogram counted last.
func (e *Encoder) histogram(b jsonw.Object, limits fiohist.Limits, members []int) jsonw.Object {
	b = b.Open("histogram").Array("values")
	for _, i := range e.kept {
		b = e.middle[i].append(b)
	}
	b = trim(b).EndArray().Array("counts")
	for _, n := range e.milli {
		if n < int64(len(e.number)) {
			b = e.number[n].append(b)
		} else {
			b = append(strconv.AppendInt(b, n, 10), ',')
		}
	}
	var sums [octaves]int64
	for k, i := range e.kept {
		sums[e.octave[i]] += e.milli[k]
	}
	b = trim(b).EndArray().End().Open("octave")
	for n, sum := range sums {
		if sum != 0 {
			b = b.Number(octaveNames[n], float64(sum)/1000)
		}
	}
	b = b.End()
	if limits.Known {
		b = b.Open("limits").Int("min", limits.Min).Int("max", limits.Max).End()
	}
	g := e.run.Geometry
	b = b.Open("buckets").Int("groups", int64(g.Groups)).Int("coarseness", int64(g.Coarseness)).Int("unit_ns", g.Unit)
	return trim(appendMembers(b.Array("logs"), members)).EndArray().End()
}

// octaveNames are the fields of latency.octave: e00, e01, ...
var octaveNames = func() (names [octaves]string) {
	for n := range names {
		names[n] = fmt.Sprintf("e%02d", n)
	}
	return names
}()

// appendMembers appends the logs of a leaf as the first and last index of each stretch of consecutive ones. The
// logs of a host usually form one stretch.
func appendMembers(dst jsonw.Object, m []int) jsonw.Object {
	for i := 0; i < len(m); i++ {
		first := m[i]
		for i+1 < len(m) && m[i+1] == m[i]+1 {
			i++
		}
		dst = append(strconv.AppendInt(dst, int64(first), 10), ',')
		dst = append(strconv.AppendInt(dst, int64(m[i]), 10), ',')
	}
	return dst
}

// trim returns b without the comma after the last element of an array.
func trim(b jsonw.Object) jsonw.Object { return bytes.TrimSuffix(b, []byte{','}) }

// Percentiles appends the document of a row. Without I/O it has no latency.
func (e *Encoder) Percentiles(dst []byte, q *pipeline.Interval, row *pipeline.Row) ([]byte, error) {
	s := &row.Stats
	if !(s.Samples >= -1 && s.Samples < math.MaxInt64/2) {
		return dst, fmt.Errorf("%w: %v", errNotFinite, s.Samples)
	}
	samples := max(rounded(s.Samples, thousandth), 0)
	empty := s.Empty() || samples == 0
	b := e.head(dst, q, row.Scope, row.Dims, row.Logs).Number("samples", samples)
	if row.IOPSKnown {
		b = b.Number("iops", rounded(row.IOPS, thousandth))
		if size := e.loadOf(row.Dims).BS; size != nil && row.Dims.Direction != fio.Sync.String() {
			b = b.Number("bytes_per_second", math.Round(row.IOPS*float64(*size)))
		}
	}
	b = b.True("partial", row.Partial(e.run.Interval))
	if n, known := row.Concurrency(); known {
		b = b.Number("concurrency", rounded(n, thousandth))
	}
	if len(row.SLA) > 0 {
		b = withSLA(b, row.SLA)
	}
	if row.TailPart != nil {
		b = withTail(b, row.TailPart)
	}
	if empty {
		return b.End(), nil
	}
	return e.stats(b.Texts("at_least", e.atLeast(s)).Open("latency"), s).End().End(), nil
}

// Tail appends a document of a row with nothing but its TailPart, which must not be nil. The rest is in the
// documents of a part.
func (e *Encoder) Tail(dst []byte, q *pipeline.Interval, row *pipeline.Row) []byte {
	return withTail(e.head(dst, q, row.Scope, row.Dims, row.Logs), row.TailPart).End()
}

// withTail appends the fields of tail, which are named after pipeline.TailPercentile.
func withTail(b jsonw.Object, t *fiohist.Part) jsonw.Object {
	b = b.Open("tail").Number("expected", rounded(t.Expected, millionth))
	if t.Share >= 0 {
		b = b.Number("lift", rounded(t.Share/t.Expected, millionth))
	}
	b = b.Open("p99")
	if t.Share >= 0 {
		b = b.Number("share", rounded(t.Share, millionth))
	}
	if t.Without >= 0 {
		b = b.Number("without", rounded(t.Without, tenth))
	}
	return b.End().End()
}

// stats appends the fields of latency for statistics that are not empty.
func (e *Encoder) stats(b jsonw.Object, s *fiohist.Stats) jsonw.Object {
	b = b.Number("min", rounded(s.Min, tenth)).Number("max", rounded(s.Max, tenth)).
		Number("mean", rounded(s.Mean, tenth)).Number("stddev", rounded(s.StdDev, tenth))
	for i, v := range s.Percentiles {
		b = b.Number(e.names[i], rounded(v, tenth))
	}
	b = b.Open("ci")
	for i, name := range e.names {
		low, high := s.Lower[i], s.Upper[i]
		b = b.Open(name).NumberIf(low != fiohist.NoLimit, "lower", rounded(low, tenth)).
			NumberIf(high != fiohist.NoLimit, "upper", rounded(high, tenth)).End()
	}
	return b.End()
}

// count prepares what histogram appends, and returns the I/Os in h to a thousandth.
func (e *Encoder) count(h *fiohist.Hist) (samples float64, err error) {
	e.index, e.exact = h.Sparse(e.index[:0], e.exact[:0])
	e.kept, e.milli = e.kept[:0], e.milli[:0]
	sum, before := 0.0, int64(0)
	for k, w := range e.exact {
		sum += w
		if !(sum >= 0 && sum < math.MaxInt64/1000) {
			return 0, fmt.Errorf("%w: %v", errNotFinite, h.Sum())
		}
		if all := int64(math.Round(sum * 1000)); all > before {
			e.kept, e.milli = append(e.kept, e.index[k]), append(e.milli, all-before)
			before = all
		}
	}
	return float64(before) / 1000, nil
}
