package matrix

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"fiolat/internal/testkit"
)

// second is a direction in a second, counted from the start of the run's first job or, with absolute stamps, from 1970.
type second struct {
	direction string
	n         int64
}

// times returns the stamps of a log's I/Os in ms, in order.
func (l *loggedTime) times() (ms []int64) {
	at := int64(0)
	for i := 0; i < len(l.Times); i += 2 {
		at += l.Times[i]
		for range l.Times[i+1] {
			ms = append(ms, at)
		}
	}
	return ms
}

// idealReader returns how a reader who knows fio's windows would place the I/Os of a log, by second, with the last
// window or without. It spreads the I/Os of a window evenly up to its boundary, but for the one that closed it, which
// lies at its stamp. fio's stat.c: the first window opens at the first completion at 1 ms or later.
func idealReader(ms []int64, h int64, tail bool) map[int64]float64 {
	out := map[int64]float64{}
	spread := func(from, to, n float64) {
		from = min(from, to-1)
		for s := math.Floor(from / 1000); s*1000 < to; s++ {
			out[int64(s)] += n * (min(to, (s+1)*1000) - max(from, s*1000)) / (to - from)
		}
	}
	base := int64(0)
	if len(ms) > 0 && ms[0] > 1e11 {
		base = ms[0] - 1
	}
	opened, previous, held := int64(0), int64(-1), 0.0
	for _, t := range ms {
		t -= base
		if opened == 0 {
			opened = t
		}
		if t-opened < h {
			held++
			continue
		}
		if previous < 0 {
			previous = opened
		}
		if held > 0 {
			spread(float64(base+previous), float64(base+min(t, max(opened+h, previous))), held)
		}
		out[(base+t-1)/1000]++
		opened, previous, held = opened+h, t, 0
	}
	if held > 0 && tail {
		spread(float64(base+max(previous, ms[0]-base-1)), float64(ms[len(ms)-1]), held)
	}
	return out
}

// TestIdealReader places a stall by hand: the windows of 1000 ms open at 1, and end at 1001, 2001 and 3001.
func TestIdealReader(t *testing.T) {
	t.Parallel()
	ms := []int64{1, 501, 1003, 1500, 2001, 4500, 4500, 4600}
	got := idealReader(ms, 1000, true)
	for s, want := range map[int64]float64{0: 2 * 999.0 / 1000, 1: 2*1.0/1000 + 1 + 1 + 0, 2: 0, 4: 2 + 1} {
		if math.Abs(got[s]-want) > 1.1 {
			t.Errorf("second %d: %v, want %v", s, got[s], want)
		}
	}
	sum := 0.0
	for _, n := range got {
		sum += n
	}
	if math.Abs(sum-float64(len(ms))) > 1e-9 {
		t.Errorf("%v I/Os of %d", sum, len(ms))
	}
}

// lossWords call a run incomplete.
var lossWords = regexp.MustCompile(`\blost\b|no quantum|damaged|garbage|are missing|fewer|too high|too many|` +
	`belong together|not the job file`)

// deviceAnswer is what fiolat made of such a run.
type deviceAnswer struct {
	folder, given string
	misplaced     float64 // I/Os in another second than they completed in
	ideal         float64 // by the ideal reader
	wrong         string  // what is wrong without a word, or said wrongly
	length        string  // of windows: right, range, or wrong
}

// TestDevices checks fiolat against runs on slow, stalling and failing devices, of which every I/O is known. No intact
// run may be called incomplete, sums must be right, and at most a tenth more I/Os may be in another second than an
// ideal reader of the same logs would put there. From logs alone fiolat must find the length of the windows, or a range
// of it.
func TestDevices(t *testing.T) {
	testkit.NotRaced(t)
	if testing.Short() {
		t.Skip("builds fiolat")
	}
	t.Parallel()
	dir, fiolat := testkit.Unpack(t, "testdata/devices.tar.zst"), testkit.Program(t)
	found, err := filepath.Glob(filepath.Join(dir, "*", "device.json"))
	if err != nil || len(found) < 2*len(deviceCases()) {
		t.Fatalf("%d runs of %d cases, %v", len(found), len(deviceCases()), err)
	}
	var misplaced, ideal float64
	lengths := map[string]int{}
	for _, file := range found {
		for _, given := range []string{"json+job", "json", "none"} {
			a := askDevice(t, fiolat, filepath.Dir(file), given)
			if a.wrong != "" {
				t.Errorf("%s, given %s: %s", a.folder, a.given, a.wrong)
			}
			if given == "none" {
				lengths[a.length]++
				if a.length == "wrong" {
					t.Errorf("%s: the length of its windows is wrong", a.folder)
				}
				continue
			}
			misplaced, ideal = misplaced+a.misplaced, ideal+a.ideal
			if a.misplaced > a.ideal+max(30, 0.1*a.ideal) {
				t.Errorf("%s, given %s: %.0f I/Os in another second, ideally %.0f", a.folder, a.given, a.misplaced,
					a.ideal)
			}
		}
	}
	t.Logf("%d runs: %.0f I/Os in another second, of an ideal reader %.0f; lengths of windows from logs alone: %v",
		len(found), misplaced, ideal, lengths)
	if misplaced > 1.1*ideal {
		t.Errorf("%.0f I/Os in another second, ideally %.0f", misplaced, ideal)
	}
	if n := lengths["right"] + lengths["range"]; 10*lengths["right"] < 9*n {
		t.Errorf("lengths of windows: %v", lengths)
	}
}

func askDevice(t *testing.T, fiolat, dir, given string) (a deviceAnswer) {
	t.Helper()
	a.folder, a.given = filepath.Base(dir), given
	var truth deviceTruth
	text, err := os.ReadFile(filepath.Join(dir, "device.json"))
	if err == nil {
		err = json.Unmarshal(text, &truth)
	}
	if err != nil {
		t.Fatal(err)
	}
	in := t.TempDir()
	logs, _ := filepath.Glob(filepath.Join(dir, "h_clat_hist*"))
	if strings.Contains(given, "job") {
		logs = append(logs, filepath.Join(dir, "job.fio"))
	}
	if strings.Contains(given, "json") {
		logs = append(logs, filepath.Join(dir, "fio.json"))
	}
	for _, file := range logs {
		if err := os.Symlink(file, filepath.Join(in, filepath.Base(file))); err != nil {
			t.Fatal(err)
		}
	}
	if given == "none" {
		a.length = askLength(t, fiolat, in, truth.HistMsec)
		return a
	}
	out, said, code, err := command(t.Context(), fiolat, "percentiles", "--interval", "1s", "--by", "direction",
		"--format", "ndjson", in)
	if err != nil || code != 0 {
		a.wrong = fmt.Sprintf("exit %d, %v: %s", code, err, said)
		return a
	}
	got := map[second]float64{}
	zero := math.NaN()
	for line := range strings.Lines(string(out)) {
		var r struct {
			Offset    int64   `json:"offset_ms"`
			Timestamp string  `json:"timestamp"`
			Scope     string  `json:"scope"`
			Direction string  `json:"direction"`
			Samples   float64 `json:"samples"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Scope != "direction" || r.Samples == 0 {
			continue
		}
		if truth.Absolute && math.IsNaN(zero) {
			at, err := time.Parse(time.RFC3339Nano, r.Timestamp)
			if err != nil {
				t.Fatal(err)
			}
			zero = float64(at.UnixMilli() - r.Offset)
		}
		got[second{r.Direction, r.Offset / 1000}] += r.Samples
	}
	alarm := lossWords.FindString(said)
	if truth.Named != "" {
		if !regexp.MustCompile(truth.Named).MatchString(said) {
			a.wrong = "not named: " + said
		}
		return a
	}
	if alarm != "" {
		a.wrong = "false alarm: " + said
		return a
	}
	exact, best, n := map[second]float64{}, map[second]float64{}, map[string]float64{}
	for i := range truth.Logs {
		l := &truth.Logs[i]
		ms := l.times()
		if truth.Absolute {
			for k := range ms {
				ms[k] -= int64(zero)
			}
		}
		for _, at := range ms {
			exact[second{l.Direction, at / 1000}]++
			n[l.Direction]++
		}
		for s, weight := range idealReader(ms, truth.HistMsec, true) {
			best[second{l.Direction, s}] += weight
		}
	}
	sums := map[string]float64{}
	for s, weight := range got {
		sums[s.direction] += weight
	}
	for direction, want := range n {
		if math.Abs(sums[direction]-want) > 0.5 {
			a.wrong = fmt.Sprintf("%.1f of %.0f %ss", sums[direction], want, direction)
		}
	}
	a.misplaced, a.ideal = apart(got, exact), apart(best, exact)
	return a
}

// apart returns how many I/Os two distributions have in different seconds.
func apart(a, b map[second]float64) (n float64) {
	for s, weight := range a {
		n += math.Abs(weight - b[s])
	}
	for s, weight := range b {
		if _, ok := a[s]; !ok {
			n += weight
		}
	}
	return n / 2
}

// askLength judges the window length that inspect finds in logs alone.
func askLength(t *testing.T, fiolat, dir string, h int64) string {
	t.Helper()
	out, said, code, err := command(t.Context(), fiolat, "inspect", "--format", "json", dir)
	if err != nil || code == 3 && strings.Contains(said, "empty log") {
		return "none"
	}
	var doc struct {
		Logs []struct {
			IntervalMS float64 `json:"interval_ms"`
		} `json:"logs"`
	}
	if err := json.Unmarshal(out, &doc); err != nil || len(doc.Logs) == 0 {
		t.Fatalf("%s: %v: %s%s", dir, err, out, said)
	}
	wrong := false
	for _, l := range doc.Logs {
		wrong = wrong || l.IntervalMS != float64(h)
	}
	limits := regexp.MustCompile(`the stamps allow (\S+) to (\S+);`).FindStringSubmatch(said)
	if !wrong {
		return "right"
	}
	if limits != nil {
		from, err := time.ParseDuration(limits[1])
		to, err2 := time.ParseDuration(limits[2])
		if err == nil && err2 == nil && from.Milliseconds() <= h && h <= to.Milliseconds() {
			return "range"
		}
	}
	return "wrong"
}
