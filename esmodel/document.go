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
	common string // run, labels and the start of interval
	moment int64  // offset of the interval that front belongs to
	front  []byte // common beginning of the documents of an interval
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

	// The histogram counted last: index and weight of each bucket that is not empty.
	index []uint16
	exact []float64
	kept  []uint16 // buckets whose counts are stored
	milli []int64  // these counts, in thousandths of an I/O

	rest map[fio.Dims]float64 // of each leaf, samples so far less the sum of _doc_count
}

// NewEncoder returns an Encoder for the documents of a run in the indices of a prefix.
func NewEncoder(prefix string, run *pipeline.Run) *Encoder {
	e := &Encoder{prefix: prefix, run: run, kind: run.Kind.String(), rest: map[fio.Dims]float64{}}
	b := append([]byte(nil), `"run":`...)
	b = appendRunID(b, run, run.Title())
	b = append(b, '}')
	if len(run.Labels) > 0 {
		b = append(b, `,"labels":`...)
		b = appendLabels(b, run.Labels)
	}
	b = append(b, `,"interval":{"ms":`...)
	b = appendFloat(b, float64(run.Interval)/1e6)
	b = append(b, `,"offset_ms":`...)
	e.common = string(b)
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

// appendRunID appends the run object up to its closing brace.
func appendRunID(b []byte, run *pipeline.Run, title string) []byte {
	b = append(b, `{"id":`...)
	b = AppendString(b, run.ID)
	if run.Name != "" {
		b = append(b, `,"name":`...)
		b = AppendString(b, run.Name)
	}
	b = append(b, `,"title":`...)
	b = AppendString(b, title)
	b = append(b, `,"generation":`...)
	b = AppendString(b, run.Generation)
	if run.Part != "" {
		b = append(b, `,"part":`...)
		b = AppendString(b, run.Part)
	}
	for i, pair := range labelPairs(run.Labels) {
		b = append(b, []string{`,"labels":[`, `,`}[min(i, 1)]...)
		b = AppendString(b, pair)
	}
	if len(run.Labels) > 0 {
		b = append(b, ']')
	}
	return b
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

func appendLabels(b []byte, labels map[string]string) []byte {
	b = append(b, '{')
	for i, k := range slices.Sorted(maps.Keys(labels)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = AppendString(b, k)
		b = append(b, ':')
		b = AppendString(b, labels[k])
	}
	return append(b, '}')
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

// head appends a document of an interval up to logs.count.
func (e *Encoder) head(dst []byte, q *pipeline.Interval, scope string, d fio.Dims, logs int) []byte {
	if len(e.front) == 0 || e.moment != q.Offset {
		e.moment = q.Offset
		e.front = append(e.front[:0], `{"@timestamp":`...)
		e.front = appendTime(e.front, e.start(q))
		e.front = append(e.front, ',')
		e.front = append(e.front, e.common...)
		e.front = appendFloat(e.front, float64(q.Offset)/1e6)
		e.front = append(e.front, `},"scope":"`...)
	}
	dst = append(dst, e.front...)
	dst = append(dst, scope...)
	dst = append(dst, '"')
	if d.Host != "" {
		dst = append(dst, `,"host":{"name":`...)
		dst = AppendString(dst, d.Host)
		dst = append(dst, '}')
	}
	dst = append(dst, `,"fio":{"kind":"`...)
	dst = append(dst, e.kind...)
	dst = append(dst, '"')
	if d.Job != "" {
		dst = append(dst, `,"job":`...)
		dst = AppendString(dst, d.Job)
	}
	if d.Log != "" {
		dst = append(dst, `,"log":`...)
		dst = AppendString(dst, d.Log)
	}
	dst = append(dst, `,"direction":"`...)
	dst = append(dst, d.Direction...)
	dst = append(dst, `"},"logs":{"count":`...)
	dst = strconv.AppendInt(dst, int64(logs), 10)
	return append(dst, '}')
}

func appendSamples(dst []byte, samples float64) []byte {
	return appendFloat(append(dst, `,"samples":`...), samples)
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
	dst = appendSamples(e.head(dst, q, LeafScope, leaf.Dims, leaf.Logs), samples)
	dst, e.rest[leaf.Dims] = e.docCount(dst, e.rest[leaf.Dims]+samples)
	dst = append(dst, `,"latency":{`...)
	dst = e.histogram(dst, leaf.Limits, leaf.Members)
	return append(dst, '}', '}'), nil
}

// docCount appends the I/Os as _doc_count, for which Elasticsearch takes whole numbers from 1 to MaxDocCount, and
// returns by how much they exceed it, for the leaf's next document.
func (e *Encoder) docCount(dst []byte, ios float64) ([]byte, float64) {
	whole := max(math.Round(ios), 1)
	if whole > MaxDocCount {
		whole, ios = MaxDocCount, MaxDocCount
		e.Clamped++
	}
	return strconv.AppendInt(append(dst, `,"_doc_count":`...), int64(whole), 10), ios - whole
}

// histogram appends the fields of latency that describe the histogram counted last.
func (e *Encoder) histogram(dst []byte, limits fiohist.Limits, members []int) []byte {
	dst = append(dst, `"histogram":{"values":[`...)
	for _, i := range e.kept {
		dst = e.middle[i].append(dst)
	}
	dst = append(trim(dst), `],"counts":[`...)
	for _, n := range e.milli {
		if n < int64(len(e.number)) {
			dst = e.number[n].append(dst)
		} else {
			dst = append(strconv.AppendInt(dst, n, 10), ',')
		}
	}
	var sums [octaves]int64
	for k, i := range e.kept {
		sums[e.octave[i]] += e.milli[k]
	}
	dst = append(trim(dst), `]},"octave":{`...)
	first := true
	for n, sum := range sums {
		if sum == 0 {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, '"', 'e', byte('0'+n/10), byte('0'+n%10), '"', ':')
		dst = appendFloat(dst, float64(sum)/1000)
	}
	dst = append(dst, '}')
	if limits.Known {
		dst = append(dst, `,"limits":{"min":`...)
		dst = strconv.AppendInt(dst, limits.Min, 10)
		dst = append(dst, `,"max":`...)
		dst = strconv.AppendInt(dst, limits.Max, 10)
		dst = append(dst, '}')
	}
	g := e.run.Geometry
	dst = append(dst, `,"buckets":{"groups":`...)
	dst = strconv.AppendInt(dst, int64(g.Groups), 10)
	dst = append(dst, `,"coarseness":`...)
	dst = strconv.AppendInt(dst, int64(g.Coarseness), 10)
	dst = append(dst, `,"unit_ns":`...)
	dst = strconv.AppendInt(dst, g.Unit, 10)
	dst = append(dst, `,"logs":[`...)
	return append(trim(appendMembers(dst, members)), `]}`...)
}

// appendMembers appends the logs of a leaf as the first and last index of each stretch of consecutive ones. The
// logs of a host usually form one stretch.
func appendMembers(dst []byte, m []int) []byte {
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

// trim returns dst without the comma after the last element of an array.
func trim(dst []byte) []byte { return bytes.TrimSuffix(dst, []byte{','}) }

// Percentiles appends the document of a row. Without I/O it has no latency.
func (e *Encoder) Percentiles(dst []byte, q *pipeline.Interval, row *pipeline.Row) ([]byte, error) {
	s := &row.Stats
	if !(s.Samples >= -1 && s.Samples < math.MaxInt64/2) {
		return dst, fmt.Errorf("%w: %v", errNotFinite, s.Samples)
	}
	samples := max(rounded(s.Samples, thousandth), 0)
	empty := s.Empty() || samples == 0
	dst = appendSamples(e.head(dst, q, row.Scope, row.Dims, row.Logs), samples)
	if row.IOPSKnown {
		dst = append(dst, `,"iops":`...)
		dst = appendFloat(dst, rounded(row.IOPS, thousandth))
	}
	if row.Partial(e.run.Interval) {
		dst = append(dst, `,"partial":true`...)
	}
	if n, known := row.Concurrency(); known {
		dst = append(dst, `,"concurrency":`...)
		dst = appendFloat(dst, rounded(n, thousandth))
	}
	if len(row.SLA) > 0 {
		dst = e.appendSLA(dst, row.SLA)
	}
	if row.TailPart != nil {
		dst = appendTail(dst, row.TailPart)
	}
	if empty {
		return append(dst, '}'), nil
	}
	dst = e.appendAtLeast(dst, s)
	dst = append(dst, `,"latency":{`...)
	dst = e.stats(dst, s)
	return append(dst, '}', '}'), nil
}

// Tail appends a document of a row with nothing but its TailPart, which must not be nil. The rest is in the
// documents of a part.
func (e *Encoder) Tail(dst []byte, q *pipeline.Interval, row *pipeline.Row) []byte {
	return append(appendTail(e.head(dst, q, row.Scope, row.Dims, row.Logs), row.TailPart), '}')
}

// appendTail appends the fields of tail, which are named after pipeline.TailPercentile.
func appendTail(dst []byte, t *fiohist.Part) []byte {
	dst = appendFloat(append(dst, `,"tail":{"expected":`...), t.Expected)
	if t.Share >= 0 {
		dst = appendFloat(append(dst, `,"lift":`...), t.Share/t.Expected)
	}
	dst = append(dst, `,"p99":{`...)
	if t.Share >= 0 {
		dst = append(appendFloat(append(dst, `"share":`...), t.Share), ',')
	}
	if t.Without >= 0 {
		dst = append(appendFloat(append(dst, `"without":`...), t.Without), ',')
	}
	return append(trim(dst), '}', '}')
}

// appendAtLeast appends the names of the percentiles that are only lower bounds.
func (e *Encoder) appendAtLeast(dst []byte, s *fiohist.Stats) []byte {
	for i, name := range e.atLeast(s) {
		dst = append(dst, [2]string{`,"at_least":["`, `","`}[min(i, 1)]...)
		dst = append(dst, name...)
	}
	if len(s.AtLeast) > 0 {
		dst = append(dst, `"]`...)
	}
	return dst
}

// stats appends the fields of latency for statistics that are not empty.
func (e *Encoder) stats(dst []byte, s *fiohist.Stats) []byte {
	dst = append(dst, `"min":`...)
	dst = appendFloat(dst, rounded(s.Min, tenth))
	dst = append(dst, `,"max":`...)
	dst = appendFloat(dst, rounded(s.Max, tenth))
	dst = append(dst, `,"mean":`...)
	dst = appendFloat(dst, rounded(s.Mean, tenth))
	dst = append(dst, `,"stddev":`...)
	dst = appendFloat(dst, rounded(s.StdDev, tenth))
	for i, v := range s.Percentiles {
		dst = append(dst, ',', '"')
		dst = append(dst, e.names[i]...)
		dst = append(dst, '"', ':')
		dst = appendFloat(dst, rounded(v, tenth))
	}
	dst = append(dst, `,"ci":{`...)
	for i, name := range e.names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = append(dst, name...)
		dst = append(dst, `":{"lower":`...)
		dst = appendLimit(dst, s.Lower[i])
		dst = append(dst, `,"upper":`...)
		dst = appendLimit(dst, s.Upper[i])
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// appendLimit appends a confidence limit, null if there is none.
func appendLimit(dst []byte, v float64) []byte {
	if v == fiohist.NoLimit {
		return append(dst, "null"...)
	}
	return appendFloat(dst, rounded(v, tenth))
}

// count prepares what histogram appends, and returns the I/Os in h to a thousandth.
func (e *Encoder) count(h *fiohist.Hist) (samples float64, err error) {
	e.index, e.exact = h.Sparse(e.index[:0], e.exact[:0])
	e.kept, e.milli = e.kept[:0], e.milli[:0]
	sum, before := 0.0, int64(0)
	for k, w := range e.exact {
		if sum += w; !(sum >= 0 && sum < math.MaxInt64/1000) {
			return 0, fmt.Errorf("%w: %v", errNotFinite, h.Sum())
		}
		if all := int64(math.Round(sum * 1000)); all > before {
			e.kept, e.milli = append(e.kept, e.index[k]), append(e.milli, all-before)
			before = all
		}
	}
	return float64(before) / 1000, nil
}
