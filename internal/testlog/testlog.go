// Package testlog makes histogram logs for tests and benchmarks, from a seed: the
// same seed gives the same bytes.
//
// There are two kinds. A Config makes up single I/Os and logs them as fio does
// (Windows), so that a test knows every I/O behind the log. A Template repeats the
// records of a real log under new stamps, fast enough for thousands of logs of days
// that never touch a disk. Its logs are well-formed; tests of damaged logs damage
// them.
//
// Only tests and scripts/bench import it.
package testlog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiolog"
)

// IO is one I/O: when it completed, from the job's start, and how long it took.
type IO struct {
	Done    time.Duration
	Latency time.Duration
	Dir     fio.Direction
}

// Windows turns I/Os into records as fio does. A direction's first window opens
// at its first completion B; record n is written at the first completion at or
// after B + (n+1) h, includes it and is stamped with it; the boundary then moves by h,
// however late that was. Times are in whole ms, as in fio, for which 0 also means
// "not open yet": a completion in the job's first millisecond opens no window.
//
// After a stall the boundary is behind, and each completion closes a record until
// it has caught up: with h = 1000, completions at 10, 900, 5000, 5001, 5002, 5003,
// 5400 and 5500 make records at 5000 (three I/Os), 5001, 5002, 5003 and 5400 (one
// each), and the one at 5500 waits for the boundary at 6010.
type Windows struct {
	// H is log_hist_msec.
	H time.Duration
	// Geometry is the log's geometry.
	Geometry fiohist.Geometry
	// Epoch is added to the stamps: with log_unix_epoch, the job's start in ms.
	Epoch int64

	last   [fio.Directions]int64
	counts [fio.Directions][]uint64
	rec    fiolog.Record
}

// add adds a completion; completions must come in order of time. It returns the
// record that this one closed, or nil. The next call overwrites the record.
func (w *Windows) add(i IO) *fiolog.Record {
	counts := w.counts[i.Dir]
	if counts == nil {
		counts = make([]uint64, w.Geometry.Columns())
		w.counts[i.Dir] = counts
	}
	counts[w.Geometry.Index(int64(i.Latency))]++
	now, h := i.Done.Milliseconds(), w.H.Milliseconds()
	last := &w.last[i.Dir]
	if *last == 0 {
		*last = now
	}
	if now-*last < h {
		return nil
	}
	*last += h
	return w.take(i.Dir, now)
}

// rest returns the last, partial window of a direction, which fio never writes, or
// nil if it is empty. It empties the window.
func (w *Windows) rest(d fio.Direction) *fiolog.Record {
	rec := w.take(d, 0)
	if len(rec.Index) == 0 {
		return nil
	}
	return rec
}

func (w *Windows) take(d fio.Direction, now int64) *fiolog.Record {
	w.rec = fiolog.Record{Time: now + w.Epoch, Dir: d, Index: w.rec.Index[:0], Count: w.rec.Count[:0]}
	for i, c := range w.counts[d] {
		if c > 0 {
			w.rec.Index = append(w.rec.Index, uint16(i))
			w.rec.Count = append(w.rec.Count, float64(c))
			w.rec.IOs += c
		}
	}
	clear(w.counts[d])
	return &w.rec
}

// Log returns the log that fio writes of the I/Os.
func (w *Windows) Log(ios iter.Seq[IO]) []byte {
	var log []byte
	for i := range ios {
		if rec := w.add(i); rec != nil {
			log = fiolog.AppendRecord(log, rec, w.Geometry.Columns())
		}
	}
	return log
}

// Stall is a time in which nothing completes until its end, when an I/O completes
// that was in flight all the while.
type Stall struct{ At, For time.Duration }

// Config makes up the I/Os of a job. Zero values have defaults.
type Config struct {
	Seed uint64
	// Dirs are the directions; default Read.
	Dirs []fio.Direction
	// H is log_hist_msec, default 1 s.
	H time.Duration
	// Duration is how long the job runs, default 10 s.
	Duration time.Duration
	// Rate is the completions per second in each direction, default 1000; they
	// come at random (Poisson).
	Rate float64
	// Latency makes up a latency for a completion at a time; default LogNormal
	// with median 100 us.
	Latency func(r *rand.Rand, at time.Duration) time.Duration
	// Geometry is the log's geometry, default fio 3 at coarseness 0.
	Geometry fiohist.Geometry
	// Epoch is added to the stamps.
	Epoch int64
	// Stalls must be in order and not overlap.
	Stalls []Stall
}

// LogNormal returns latencies of exp(sigma z) times the median, z being standard normal.
func LogNormal(median time.Duration, sigma float64) func(*rand.Rand, time.Duration) time.Duration {
	return func(r *rand.Rand, _ time.Duration) time.Duration {
		return time.Duration(float64(median) * math.Exp(sigma*r.NormFloat64()))
	}
}

// Mixture takes from b with probability p, else from a: a bimodal distribution, as of a cache.
func Mixture(a, b func(*rand.Rand, time.Duration) time.Duration, p float64) func(*rand.Rand,
	time.Duration) time.Duration {
	return func(r *rand.Rand, at time.Duration) time.Duration {
		if r.Float64() < p {
			return b(r, at)
		}
		return a(r, at)
	}
}

func (c Config) withDefaults() Config {
	if c.Dirs == nil {
		c.Dirs = []fio.Direction{fio.Read}
	}
	c.H = cmp.Or(c.H, time.Second)
	c.Duration = cmp.Or(c.Duration, 10*time.Second)
	c.Rate = cmp.Or(c.Rate, 1000)
	if c.Latency == nil {
		c.Latency = LogNormal(100*time.Microsecond, 0.5)
	}
	if c.Geometry == (fiohist.Geometry{}) {
		c.Geometry = fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}
	}
	return c
}

// Windows returns the Windows that log the job.
func (c Config) Windows() *Windows {
	c = c.withDefaults()
	return &Windows{H: c.H, Geometry: c.Geometry, Epoch: c.Epoch}
}

// IOs returns the job's completions in order of time, the same in each iteration.
// No latency is longer than the job had run.
func (c Config) IOs() iter.Seq[IO] {
	c = c.withDefaults()
	return func(yield func(IO) bool) {
		lanes := make([]lane, len(c.Dirs))
		for n, d := range c.Dirs {
			lanes[n] = lane{rng: rand.New(rand.NewPCG(c.Seed, uint64(n))), next: IO{Dir: d}}
			lanes[n].step(&c)
		}
		for {
			l := &lanes[0]
			for n := range lanes {
				if lanes[n].next.Done < l.next.Done {
					l = &lanes[n]
				}
			}
			if l.next.Done >= c.Duration || !yield(l.next) {
				return
			}
			l.step(&c)
		}
	}
}

// lane makes the I/Os of one direction.
type lane struct {
	rng  *rand.Rand
	next IO
}

func (l *lane) step(c *Config) {
	done := l.next.Done + time.Duration(l.rng.ExpFloat64()/c.Rate*float64(time.Second))
	latency := max(c.Latency(l.rng, done), 0)
	for _, s := range c.Stalls {
		if end := s.At + s.For; done >= s.At && done < end {
			latency += end - done
			done = end
		}
	}
	l.next.Done, l.next.Latency = done, min(latency, done)
}

// Log returns the job's log.
func (c Config) Log() []byte { return c.Windows().Log(c.IOs()) }

// stream returns the same log as a stream, made while it is read; Close ends it early.
func (c Config) stream() io.ReadCloser {
	w := c.Windows()
	next, stop := iter.Pull(c.IOs())
	return &stream{stop: stop, more: func(dst []byte) []byte {
		for {
			i, ok := next()
			if !ok {
				return nil
			}
			if rec := w.add(i); rec != nil {
				return fiolog.AppendRecord(dst, rec, w.Geometry.Columns())
			}
		}
	}}
}

// stream reads what more makes, a part at a time. more appends to its argument, and
// returns nothing at the end.
type stream struct {
	more func([]byte) []byte
	stop func()
	buf  []byte
	left []byte
}

func (s *stream) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(s.left) == 0 {
			s.buf = s.more(s.buf[:0])
			s.left = s.buf
			if len(s.left) == 0 {
				if n == 0 {
					return 0, io.EOF
				}
				return n, nil
			}
		}
		k := copy(p[n:], s.left)
		s.left = s.left[k:]
		n += k
	}
	return n, nil
}

func (s *stream) Close() error {
	if s.stop != nil {
		s.stop()
	}
	s.more = func([]byte) []byte { return nil }
	s.left = nil
	return nil
}

// Template repeats the records of a log. Any number of logs may share it.
type Template struct {
	dirs   []fio.Direction
	bodies [fio.Directions][][]byte // `, direction, block size, c0, ..., cN\n`
}

// NewTemplate takes the records of a well-formed log, e.g. of fio itself.
func NewTemplate(log []byte) (*Template, error) {
	t := new(Template)
	for n, line := range bytes.SplitAfter(log, []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		fields := bytes.SplitN(line, []byte(", "), 3)
		if len(fields) < 3 || len(fields[1]) != 1 || fields[1][0]-'0' >= fio.Directions ||
			line[len(line)-1] != '\n' {
			return nil, fmt.Errorf("line %d is no record", n+1)
		}
		d := fio.Direction(fields[1][0] - '0')
		if t.bodies[d] == nil {
			t.dirs = append(t.dirs, d)
		}
		t.bodies[d] = append(t.bodies[d], line[len(fields[0]):])
	}
	if t.dirs == nil {
		return nil, fmt.Errorf("no records")
	}
	slices.Sort(t.dirs)
	return t, nil
}

// Stream returns a log with a number of records of each direction, one in each h with
// 0 to 3 ms of jitter. The seed determines the jitter and the first record.
func (t *Template) Stream(seed uint64, h time.Duration, records int) io.Reader {
	rng := rand.New(rand.NewPCG(seed, 0))
	first, n := rng.IntN(1<<20), 0
	return &stream{more: func(dst []byte) []byte {
		if n == records {
			return nil
		}
		n++
		stamp := int64(n) * h.Milliseconds()
		for _, d := range t.dirs {
			stamp += rng.Int64N(2)
			bodies := t.bodies[d]
			dst = strconv.AppendInt(dst, stamp, 10)
			dst = append(dst, bodies[(first+n)%len(bodies)]...)
		}
		return dst
	}}
}

// Log returns what Stream gives.
func (t *Template) Log(seed uint64, h time.Duration, records int) []byte {
	var b bytes.Buffer
	b.ReadFrom(t.Stream(seed, h, records)) //nolint:errcheck // it has none
	return b.Bytes()
}

// Resample makes a log with a number of records of each direction, one in each h, out
// of the records of a real one: each is the sum of two of them, every I/O kept with
// probability one half. It looks like the real one, and hardly any two records are
// the same: branch predictors learn repeated ones, which flatters a benchmark.
func Resample(log []byte, seed uint64, h time.Duration, records int) ([]byte, error) {
	var by [fio.Directions][]*fiolog.Record
	r := fiolog.NewBytesReader(log, "resample", fiolog.ReaderOptions{})
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		by[rec.Dir] = append(by[rec.Dir], rec.Clone())
	}
	g, _ := r.Geometry()
	rng := rand.New(rand.NewPCG(seed, 0))
	sum := make([]uint64, g.Columns())
	var out []byte
	for n := 1; n <= records; n++ {
		for d, recs := range by {
			if recs == nil {
				continue
			}
			clear(sum)
			for range 2 {
				rec := recs[rng.IntN(len(recs))]
				for k, i := range rec.Index {
					for range int(rec.Count[k]) {
						sum[i] += rng.Uint64() & 1
					}
				}
			}
			rec := fiolog.Record{Time: int64(n)*h.Milliseconds() + rng.Int64N(3), Dir: fio.Direction(d)}
			for i, c := range sum {
				if c > 0 {
					rec.Index, rec.Count = append(rec.Index, uint16(i)), append(rec.Count, float64(c))
				}
			}
			out = fiolog.AppendRecord(out, &rec, len(sum))
		}
	}
	return out, nil
}
