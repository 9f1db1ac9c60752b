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

	"fiolat/ingest/fiolog"
	"fiolat/internal/fiohist"
	"fiolat/pipeline"
)

const (
	// MaxDocCount is the largest _doc_count that Elasticsearch takes.
	MaxDocCount = math.MaxInt32
	// LeafScope is the scope of histogram documents.
	LeafScope = "leaf"

	octaves = 40 // fio's largest grid ends at 2^37 ns
)

// errNotFinite is a histogram whose weights do not add up to a number. JSON could
// not hold it and no percentile of it exists; it is a bug upstream, never sent.
var errNotFinite = errors.New("weights of a histogram do not add up to a number")

// Encoder makes the documents of one run. What all of them have in common and what
// depends on the grid alone is prepared once; an Encoder is not for several
// goroutines at a time.
type Encoder struct {
	prefix string
	run    *pipeline.Run
	common string // run, labels and the start of interval
	moment int64  // offset of the quantum that front is of
	front  []byte // what the documents of a quantum begin with
	kind   string
	names  []string // p50, p99_9: parallel to run.Percentiles
	middle []word   // by bucket, with a comma
	number []word   // the same of its index
	octave []uint8  // by bucket
	key    []byte   // scratch of ID
	id     [sha256.Size]byte
	text   [22]byte
	month  struct { // the last index name made of each kind
		from, to int64
		names    map[Kind]string
	}
	// Clamped counts documents whose _doc_count would have been beyond 2^31-1.
	Clamped int64
	// Noise, if it is known, is that of the whole run, for the run's document.
	Noise Noise
	// Diagnosis is that of the whole run, for the run's document; nil: there is none.
	Diagnosis any

	// of the histogram counted last, by bucket that is not empty
	index  []uint16
	exact  []float64
	whole  fiohist.Rounder
	weight floats

	rests map[pipeline.Dims]*fiohist.Remainder // by leaf
}

// NewEncoder prepares for the documents of a run in indices of a prefix.
func NewEncoder(prefix string, run *pipeline.Run) *Encoder {
	e := &Encoder{prefix: prefix, run: run, kind: run.Kind.String(), rests: map[pipeline.Dims]*fiohist.Remainder{}}
	b := append([]byte(nil), `"run":`...)
	b = appendRunID(b, run)
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
func appendRunID(b []byte, run *pipeline.Run) []byte {
	b = append(b, `{"id":`...)
	b = AppendString(b, run.ID)
	if run.Name != "" {
		b = append(b, `,"name":`...)
		b = AppendString(b, run.Name)
	}
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

// labelPairs are labels as key=value, in order. They are one field, run.labels, for a choice among the labels of
// all runs needs a field whose name does not depend on their keys.
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

// PercentileName is the field of a percentile under latency: p50, p99_9. A dot
// would be read as an object.
func PercentileName(p float64) string {
	return "p" + strings.ReplaceAll(strconv.FormatFloat(p, 'f', -1, 64), ".", "_")
}

// start is the start of a quantum in ns since 1970.
func (e *Encoder) start(q *pipeline.Quantum) int64 { return e.run.Start + q.Offset }

// Index is the index of the quantum's documents of a kind. The names are made once
// a month of the run's time.
func (e *Encoder) Index(kind Kind, q *pipeline.Quantum) string {
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

// ID is the _id of a document of the quantum: 128 bits of a SHA-256 over run, part,
// kind, scope, direction, host, job, log and start in ns, each string behind its
// length so that no two tuples read the same. 22 characters of base64url, which
// Elasticsearch stores as 16 bytes. The generation is not part of it: a new one
// overwrites what it has in common with the old, but for one that was rolled up from it.
func (e *Encoder) ID(scope string, d pipeline.Dims, q *pipeline.Quantum) []byte {
	k := append(e.key[:0], "fiolat document 1"...)
	for _, s := range [...]string{e.run.ID, e.run.Part, e.kind, scope, d.Direction, d.Host, d.Job, d.Log} {
		k = binary.AppendUvarint(k, uint64(len(s)))
		k = append(k, s...)
	}
	if e.run.Fine.Interval > 0 { // beside the finer ones, until these are deleted
		k = binary.AppendUvarint(k, uint64(e.run.Interval))
		k = append(k, byte(e.run.Geometry.Coarseness))
	}
	e.key = binary.BigEndian.AppendUint64(k, uint64(e.start(q)))
	e.id = sha256.Sum256(e.key)
	base64.RawURLEncoding.Encode(e.text[:], e.id[:16])
	return e.text[:]
}

// RunDocID is the _id of the document of a run, or of one part of it: one for each
// kind of latency, for these are ingested one by one and none may overwrite another.
// That of clat is made as before there were others.
func RunDocID(run, part, kind string) string {
	parts := []string{run, part}
	if kind != fiolog.Clat.String() {
		parts = append(parts, kind)
	}
	return hashID(hashParts("fiolat run 1", parts...))
}

// hashParts is what an id is made from: each text behind its length, so that no two
// lists read the same.
func hashParts(family string, parts ...string) []byte {
	k := []byte(family)
	for _, s := range parts {
		k = binary.AppendUvarint(k, uint64(len(s)))
		k = append(k, s...)
	}
	return k
}

// hashIDAt is an _id made from texts and a time.
func hashIDAt(at stamp, family string, parts ...string) string {
	return hashID(binary.BigEndian.AppendUint64(hashParts(family, parts...), uint64(at)))
}

// hashID is an _id: 128 bits of a SHA-256, in base64url.
func hashID(key []byte) string {
	sum := sha256.Sum256(key)
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// head appends what documents of quanta have in common.
func (e *Encoder) head(dst []byte, q *pipeline.Quantum, scope string, d pipeline.Dims, logs int) []byte {
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

// Histogram appends the document of a leaf. The quanta of a leaf must come in order of time
// and each once, for what the whole counts of one leave over is given to the next.
//
// latency.histogram holds whole counts, because Elasticsearch cuts fractions off without a
// word; buckets that get none are left out. Over all documents of a leaf each bucket's count
// is its exact sum rounded down or up; see fiohist.Rounder. latency.buckets keeps the weights, to
// the last bit.
func (e *Encoder) Histogram(dst []byte, q *pipeline.Quantum, leaf *pipeline.Leaf) ([]byte, error) {
	before := e.rests[leaf.Dims]
	if before == nil {
		before = new(fiohist.Remainder)
		e.rests[leaf.Dims] = before
	}
	sum, whole, err := e.count(leaf.Hist, before)
	if err != nil {
		return dst, err
	}
	dst = appendSamples(e.head(dst, q, LeafScope, leaf.Dims, leaf.Logs), sum)
	dst = e.docCount(dst, whole)
	dst = append(dst, `,"latency":{`...)
	dst = e.histogram(dst, leaf.Limits, leaf.Members)
	return append(dst, '}', '}'), nil
}

// docCount appends _doc_count, if there is one.
func (e *Encoder) docCount(dst []byte, whole int64) []byte {
	if whole == 0 {
		return dst
	}
	if whole > MaxDocCount {
		whole = MaxDocCount
		e.Clamped++
	}
	dst = append(dst, `,"_doc_count":`...)
	return strconv.AppendInt(dst, whole, 10)
}

// histogram appends the fields of latency that are of the histogram counted last.
func (e *Encoder) histogram(dst []byte, limits fiohist.Limits, members []int) []byte {
	dst = append(dst, `"histogram":{"values":[`...)
	for k, i := range e.whole.Index {
		if e.whole.Counts[k] > 0 {
			dst = e.middle[i].append(dst)
		}
	}
	dst = append(trim(dst), `],"counts":[`...)
	for _, n := range e.whole.Counts {
		switch {
		case n == 0:
		case n < int64(len(e.number)):
			dst = e.number[n].append(dst)
		default:
			dst = append(strconv.AppendInt(dst, n, 10), ',')
		}
	}
	var weights [octaves]float64
	for k, i := range e.index {
		weights[e.octave[i]] += e.exact[k]
	}
	dst = append(trim(dst), `]},"octave":{`...)
	first := true
	for n, w := range weights {
		if w == 0 {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, '"', 'e', byte('0'+n/10), byte('0'+n%10), '"', ':')
		dst = appendFloat(dst, w)
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
	dst = appendMembers(dst, members)
	dst = append(trim(dst), `],"index":[`...)
	for _, i := range e.index {
		dst = e.number[i].append(dst)
	}
	dst = append(trim(dst), `],"count":[`...)
	dst = e.weight.append(dst, e.exact)
	return append(trim(dst), `]}`...)
}

// appendMembers appends the logs that a leaf is of, as the first and the last of each
// stretch of neighbours: mostly they are all the same host's.
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

// trim is dst without the comma behind the last element of an array.
func trim(dst []byte) []byte { return bytes.TrimSuffix(dst, []byte{','}) }

// Percentiles appends the document of a row; without I/O it has no latency.
func (e *Encoder) Percentiles(dst []byte, q *pipeline.Quantum, row *pipeline.Row) ([]byte, error) {
	s := &row.Stats
	if !(s.Samples >= -1 && s.Samples < math.MaxInt64/2) {
		return dst, fmt.Errorf("%w: %v", errNotFinite, s.Samples)
	}
	empty := s.Empty()
	samples := s.Samples
	if empty {
		samples = 0
	}
	dst = appendSamples(e.head(dst, q, row.Scope, row.Dims, row.Logs), samples)
	if row.IOPSKnown {
		dst = append(dst, `,"iops":`...)
		dst = appendFloat(dst, row.IOPS)
		dst = append(dst, `,"concurrency":`...)
		dst = appendFloat(dst, row.Concurrency())
	}
	if len(row.SLA) > 0 {
		dst = e.appendSLA(dst, row.SLA)
	}
	if row.Tail != nil {
		dst = appendTail(dst, row.Tail)
	}
	if empty {
		return append(dst, '}'), nil
	}
	dst = e.appendAtLeast(dst, s)
	dst = append(dst, `,"latency":{`...)
	dst = e.stats(dst, s)
	return append(dst, '}', '}'), nil
}

// Tail appends the document of a row that says no more than its Tail, which is not nil: the rest is in documents of a
// part.
func (e *Encoder) Tail(dst []byte, q *pipeline.Quantum, row *pipeline.Row) []byte {
	return append(appendTail(e.head(dst, q, row.Scope, row.Dims, row.Logs), row.Tail), '}')
}

// appendTail appends who makes the tail; names are those of pipeline.TailPercentile.
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

// appendAtLeast appends which percentiles may be longer than they are said to be.
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

// stats appends the fields of latency that are of statistics that are not empty.
func (e *Encoder) stats(dst []byte, s *fiohist.Stats) []byte {
	dst = append(dst, `"min":`...)
	dst = appendFloat(dst, s.Min)
	dst = append(dst, `,"max":`...)
	dst = appendFloat(dst, s.Max)
	dst = append(dst, `,"mean":`...)
	dst = appendFloat(dst, s.Mean)
	dst = append(dst, `,"stddev":`...)
	dst = appendFloat(dst, s.StdDev)
	for i, v := range s.Percentiles {
		dst = append(dst, ',', '"')
		dst = append(dst, e.names[i]...)
		dst = append(dst, '"', ':')
		dst = appendFloat(dst, v)
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
	return appendFloat(dst, v)
}

// count prepares what histogram appends, and returns the I/Os in h, exact and rounded. The
// remainder of the leaf is carried on; without one h is rounded for itself.
func (e *Encoder) count(h *fiohist.Hist, leaf *fiohist.Remainder) (sum float64, whole int64, err error) {
	e.index, e.exact = h.Sparse(e.index[:0], e.exact[:0])
	for _, w := range e.exact {
		sum += w
	}
	if !(sum >= 0 && sum < math.MaxInt64/2) {
		return sum, 0, fmt.Errorf("%w: %v", errNotFinite, sum)
	}
	if leaf == nil {
		leaf = new(fiohist.Remainder)
	}
	e.whole.Round(e.index, e.exact, leaf)
	for _, n := range e.whole.Counts {
		whole += n
	}
	return sum, whole, nil
}
