package fiojson

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Measure is how fio measures the latencies of an I/O with an engine. fio records when it began with an I/O (start),
// issued it, and saw it complete: slat = issued - start, clat = completed - issued, lat = completed - start. Engines
// differ in when "issued" is, and in whether slat is counted at all.
//
// Source: fio's wiki page "How does fio measure latency" (Vincent Fu, of fio 3.30), and for every engine fio's own
// source from 3.30 to 3.42: FIO_SYNCIO, a commit function, FIO_ASYNCIO_SETS_ISSUE_TIME and the callers of
// io_u_queued.
type Measure uint8

// Measures, by when an I/O counts as issued.
const (
	// Sync: just before the engine is called; the call returns with the I/O done.
	Sync Measure = iota
	// SyncSlat: just before the engine is called, although it only queues the I/O: slat is counted and holds nothing
	// but fio's own preparation.
	SyncSlat
	// Async: when the engine's queue function has returned; there is no commit.
	Async
	// CommitSlat: when the commit function has submitted it.
	CommitSlat
	// CommitOnly: when the queue function has returned, before the commit; slat is
	// not counted.
	CommitOnly
)

var measures = [...]struct{ short, sentence string }{
	Sync: {"synchronous",
		"clat is the whole call, from just before it to its return; there is no slat (an empty slat log is normal), " +
			"and lat adds only fio's own preparation"},
	SyncSlat: {"synchronous flag, asynchronous work",
		"clat holds everything from just before the I/O is handed over to its completion; slat is near zero by " +
			"construction, because it ends before the hand-over"},
	Async: {"asynchronous without commit",
		"slat is the call that hands the I/O over, and whatever blocks in it; clat runs from that call's return to " +
			"the completion, and holds the time in the device's or service's queue"},
	CommitSlat: {"asynchronous with commit, slat counted",
		"slat holds the wait in fio's own batch (iodepth_batch) and the submitting system call, and whatever blocks " +
			"in it; clat runs from the end of that call to the completion, and holds the time in the device's queue"},
	CommitOnly: {"asynchronous with commit, slat not counted",
		"there is no slat (an empty slat log is normal); clat runs from when fio queued the I/O in the engine, and " +
			"holds the wait for the commit, the submission and the device"},
}

func (m Measure) String() string { return measures[m].short }

// Sentence says what slat and clat include.
func (m Measure) Sentence() string { return measures[m].sentence }

// Measures lists all measures.
var Measures = []Measure{Sync, SyncSlat, Async, CommitSlat, CommitOnly}

// Slat reports whether fio counts submission latencies of such I/Os.
func (m Measure) Slat() bool { return m == SyncSlat || m == Async || m == CommitSlat }

// Engine is one of fio's built-in I/O engines, or a foreign one.
type Engine struct {
	Name    string
	Foreign bool // not fio's own: nothing else is known
	Measure Measure
	// Notes are what differs with the version, the depth or the direction.
	Notes []string
}

const (
	noteTwice = "before fio 3.31 the issue time was set again after submission, so slat + clat is a few " +
		"microseconds less than lat"
	noteTrim = "trims are done at once in the queue function since fio 3.15: their clat is the whole call, without " +
		"slat"
)

var engines = map[string]Engine{
	"io_uring": {Measure: CommitSlat, Notes: []string{noteTwice, "before fio 3.38 trims are synchronous: " +
		"their clat is the whole call, and they have no slat; since then they are asynchronous if the kernel supports it"}},
	"io_uring_cmd": {Measure: CommitSlat, Notes: []string{"trims are synchronous before fio 3.36, asynchronous since"}},
	"libaio": {Measure: CommitSlat, Notes: []string{noteTwice, noteTrim,
		"io_submit blocks for buffered I/O (direct=0): then slat holds the I/O itself, and clat is next to nothing"}},
	"posixaio": {Measure: Async, Notes: []string{noteTrim}},
	"rdma":     {Measure: CommitSlat, Notes: []string{noteTwice}},
	"nfs": {Measure: Async, Notes: []string{"before fio 3.31 it had a commit function, and slat was not " +
		"counted"}},
	"null": {Measure: CommitSlat, Notes: []string{"with iodepth=1 it is synchronous and has no slat; before " +
		"fio 3.31 slat was never counted"}},
	"sg": {Measure: Sync, Notes: []string{"on a character device (/dev/sg*) it only queues: slat is " +
		"counted there and near zero by construction, because it ends before the hand-over"}},
	"libiscsi": {Measure: SyncSlat},
	"libblkio": {Measure: Async, Notes: []string{"new in fio 3.34"}},
	"ime_aio":  {Measure: CommitOnly},

	"librpma_apm_client":   {Measure: CommitSlat, Notes: []string{noteTwice}},
	"librpma_gpspm_client": {Measure: CommitSlat, Notes: []string{noteTwice}},
}

func init() {
	for _, name := range []string{"dfs", "gfapi_async", "nbd", "rados", "rbd", "solarisaio", "windowsaio", "xnvme"} {
		engines[name] = Engine{Measure: Async}
	}
	for _, name := range []string{"cpuio", "dev-dax", "dircreate", "dirdelete", "dirstat", "e4defrag", "exec", "falloc",
		"filecreate", "filedelete", "filestat",
		"ftruncate", "gfapi", "http", "ime_psync", "ime_psyncv", "libcufile", "libhdfs", "libhipfile", "libpmem",
		"librpma_apm_server", "librpma_gpspm_server", "libzbc",
		"mmap", "mtd", "net", "netsplice", "page_fault", "pmemblk", "psync", "pvsync", "pvsync2", "splice", "sync",
		"vsync"} {
		engines[name] = Engine{Measure: Sync}
	}
	for name, e := range engines {
		e.Name = name
		engines[name] = e
	}
}

// Engines returns all known engines, by name.
func Engines() []Engine {
	return slices.SortedFunc(maps.Values(engines), func(a, b Engine) int { return cmp.Compare(a.Name, b.Name) })
}

// Gap returns how much mean lat exceeds mean slat + mean clat, in ns. If all three are of the same I/Os, that is the
// time that neither counts; else it also holds the difference between the I/Os.
func Gap(slat, clat, lat float64) float64 { return lat - slat - clat }

// FindEngine returns the engine of that name as fio of that version ("fio-3.33"; "" for a current one) uses it at
// that iodepth (0: not known). ok is false for an engine that is not fio's own.
func FindEngine(name, version string, depth int) (e Engine, ok bool) {
	e, ok = engines[name]
	old := false
	if major, minor, known := ParseVersion(version); known {
		old = major < 3 || major == 3 && minor < 31
	}
	switch {
	case name == "null" && depth == 1:
		e.Measure = Sync
	case (name == "null" || name == "nfs") && old:
		e.Measure = CommitOnly
	}
	return e, ok
}

// Sentence says what the numbers of a run with the engine include.
func (e Engine) Sentence() string {
	if e.Foreign {
		return e.Name + ": not one of fio's own engines; fiolat does not know what its slat and clat include"
	}
	return fmt.Sprintf("%s (%s): %s", e.Name, e.Measure, e.Measure.Sentence())
}

// Engines returns the engines that the document's jobs used, as this version of fio used them, those that are not
// fio's own last. A job that names none has fio's default on Linux, psync.
func (m *Document) Engines() []Engine {
	var known, foreign []Engine
	for i := range m.Entries {
		name, _ := m.Option(&m.Entries[i], "ioengine")
		text, given := m.Option(&m.Entries[i], "iodepth")
		depth, _ := strconv.Atoi(text) // 0, not known, if it is no number
		if !given {
			depth = 1
		}
		name = cmp.Or(name, "psync")
		engine, ok := FindEngine(name, m.Version, depth)
		to := &known
		if !ok {
			engine, to = Engine{Name: name, Foreign: true}, &foreign
		}
		if !slices.ContainsFunc(*to, func(e Engine) bool { return e.Name == name && e.Measure == engine.Measure }) {
			*to = append(*to, engine)
		}
	}
	return append(known, foreign...)
}

// Explain says for each engine of the run what its numbers include, in a sentence.
func (m *Document) Explain() (sentences []string) {
	for _, e := range m.Engines() {
		sentences = append(sentences, e.Sentence())
	}
	return sentences
}
