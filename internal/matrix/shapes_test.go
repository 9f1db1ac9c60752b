package matrix

import (
	"bytes"
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A shape is a change to a folder after fio has run: copies, moves, losses.
type shape struct {
	name string
	// cases are those that it applies to.
	cases []string
	modes []mode
	// loses: more I/Os are missing than a last window may hold, and fiolat must say so.
	loses bool
	// twice: there are two runs, and fiolat must say so.
	twice bool
	// readable: fiolat must not refuse the folder.
	readable bool
	// bare: it is also tried without JSON.
	bare bool
	// noTotals: there is no usable JSON, so the counts of the logs are right.
	noTotals bool
	make     func(dir string, t *groundTruth, from string) error
}

// applies reports whether to try the shape on a folder: on its cases, and on a fifth of the random ones.
func (s *shape) applies(t *groundTruth, name string) bool {
	if t.Kind != hist || len(t.Logs) == 0 || t.NoJSON || !slices.Contains(s.modes, t.Mode) {
		return false
	}
	if !t.Random {
		return slices.Contains(s.cases, t.Case)
	}
	h := fnv.New32a()
	_, _ = io.WriteString(h, name+s.name)
	return h.Sum32()%5 == 0
}

// errNotHere says that a shape does not apply to a folder.
var errNotHere = errors.New("not for this folder")

var shapes = []shape{
	{name: "a copy .bak", cases: []string{"plain", "numjobs"}, modes: both, bare: true,
		make: again(func(name string) string { return name + ".bak" })},
	{name: "a copy .old", cases: []string{"plain"}, modes: both, bare: true,
		make: again(func(name string) string { return name + ".old" })},
	{name: "a copy .1", cases: []string{"plain"}, modes: both, bare: true,
		make: again(func(name string) string { return name + ".1" })},
	{name: "a copy in a folder", cases: []string{"plain", "group"}, modes: both, bare: true,
		make: again(func(name string) string { return filepath.Join("copy", name) })},
	{name: "a copy of another name", cases: []string{"plain"}, modes: both, bare: true,
		make: again(func(name string) string { return "copy-" + name })},
	{name: "a symbolic link", cases: []string{"plain", "numjobs"}, modes: both, bare: true,
		make: func(dir string, t *groundTruth, _ string) error {
			return os.Symlink(t.Logs[0], filepath.Join(dir, "latest_clat_hist.1.log"))
		}},
	{name: "a hard link", cases: []string{"plain", "numjobs"}, modes: both, bare: true,
		make: func(dir string, t *groundTruth, _ string) error {
			return os.Link(filepath.Join(dir, t.Logs[0]), filepath.Join(dir, "latest_clat_hist.1.log"))
		}},
	{name: "JSON above", cases: []string{"plain", "numjobs", "group"}, modes: every[:2], readable: true,
		make: func(dir string, t *groundTruth, _ string) error {
			return move(dir, t.Logs, func(int) string { return "logs" })
		}},
	{name: "a folder for each host", cases: []string{"plain", "msec500", "group"}, modes: []mode{hosts}, readable: true,
		make: func(dir string, t *groundTruth, _ string) error {
			return move(dir, t.Logs, func(i int) string { return string(rune('a' + i)) })
		}},
	{name: "without its head", cases: []string{"plain", "numjobs", "group", "coarse3"}, modes: both, loses: true,
		make: cut(0, 0.6)},
	{name: "without its middle", cases: []string{"plain", "numjobs", "group", "coarse3"}, modes: both, loses: true,
		make: cut(0.3, 0.8)},
	{name: "without its end", cases: []string{"plain", "numjobs", "group", "coarse3"}, modes: both, loses: true,
		make: cut(0.4, 1)},
	{name: "without a log", cases: []string{"numjobs", "group", "jobs"}, modes: both, loses: true,
		make: func(dir string, t *groundTruth, _ string) error {
			last := t.Logs[len(t.Logs)-1]
			if lines, err := readHist(filepath.Join(dir, last)); err != nil || len(lines) == 0 || len(t.Logs) < 2 {
				return errNotHere
			}
			return os.Remove(filepath.Join(dir, last))
		}},
	{name: "another run's JSON", cases: []string{"plain", "coarse3"}, modes: both, loses: true, noTotals: true,
		make: func(dir string, t *groundTruth, from string) error {
			other := filepath.Join(filepath.Dir(from),
				strings.NewReplacer("-plain", "-poisson", "-coarse3", "-mix90").Replace(filepath.Base(from)))
			if t.Random {
				// Logs without I/O do not contradict another run's JSON.
				if other = sibling(from, t); other == "" || t.empty() {
					return errNotHere
				}
			}
			return copyFile(filepath.Join(other, "fio.json"), filepath.Join(dir, "fio.json"))
		}},
	{name: "JSON cut off", cases: []string{"plain", "numjobs", "group"}, modes: both, loses: true, noTotals: true,
		make: func(dir string, _ *groundTruth, _ string) error {
			path := filepath.Join(dir, "fio.json")
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, text[:len(text)*2/3], 0o644)
		}},
	{name: "two runs in one folder", cases: []string{"plain", "coarse3"}, modes: onlyAlone, twice: true,
		make: func(dir string, t *groundTruth, from string) error {
			other := filepath.Join(filepath.Dir(from),
				strings.NewReplacer("-plain", "-poisson", "-coarse3", "-mix90").Replace(filepath.Base(from)))
			if t.Random {
				if other = sibling(from, t); other == "" {
					return errNotHere
				}
			}
			return join(dir, other)
		}},
}

// join copies the run of the folder other into dir, with renamed logs.
func join(dir, other string) error {
	text, err := os.ReadFile(filepath.Join(other, "fio.json"))
	if err != nil {
		return err
	}
	text = bytes.ReplaceAll(text, []byte(`"write_hist_log" : "h"`), []byte(`"write_hist_log" : "g"`))
	if err = os.WriteFile(filepath.Join(dir, "other.json"), text, 0o644); err != nil {
		return err
	}
	logs, err := filepath.Glob(filepath.Join(other, "h_*"))
	if len(logs) == 0 {
		return errNotHere
	}
	for _, log := range logs {
		name := "g" + strings.TrimPrefix(filepath.Base(log), "h")
		err = errors.Join(err, copyFile(log, filepath.Join(dir, name)))
	}
	return err
}

// sibling returns another folder of the same fio version and mode with other counts in as many directions, "" if there
// is none.
func sibling(dir string, t *groundTruth) string {
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", "truth.json"))
	mine, _ := t.totals()
	for _, file := range files {
		var o groundTruth
		text, err := os.ReadFile(file)
		if err != nil || json.Unmarshal(text, &o) != nil || o.Version != t.Version || o.Mode != t.Mode || o.NoJSON {
			continue
		}
		theirs, _ := o.totals()
		if len(mine) == len(theirs) && !maps.EqualFunc(mine, theirs, func(a, b int64) bool { return a == b }) {
			return filepath.Dir(file)
		}
	}
	return ""
}

func (t *groundTruth) empty() bool {
	for _, n := range t.Logged {
		if n > 0 {
			return false
		}
	}
	return true
}

// provable reports whether the loss of a share of the lines can be proven: as in docs/log-format.md, but with a
// margin, it takes a log of several records, and a loss of more than twice the I/Os of the fullest.
func (t *groundTruth) provable(lines [][]byte, from, to float64) bool {
	const few = 8
	n := len(lines) - 1
	if t.Mode != alone || t.Grouped || n*len(t.Logs) < few*len(t.Logs) || t.Logged == nil || t.Note != "" {
		return false
	}
	var records, lost, fullest [3]int64
	for i, line := range lines[:n] {
		fields := strings.Split(strings.TrimSpace(string(line)), ",")
		d, ios := 0, int64(0)
		for k, f := range fields {
			v, _ := strconv.ParseInt(strings.TrimSpace(f), 10, 64)
			if k == 1 {
				d = int(v)
			} else if k > 2 {
				ios += v
			}
		}
		if d < 0 || d > 2 {
			return false
		}
		records[d]++
		fullest[d] = max(fullest[d], ios)
		if i >= int(from*float64(n)) && i < int(to*float64(n)) {
			lost[d] += ios
		}
	}
	for d := range records {
		if records[d] > 0 && (records[d] < few || lost[d] <= 2*fullest[d] || fullest[d] < few) {
			return false
		}
	}
	return true
}

// again copies each log under another name.
func again(name func(string) string) func(string, *groundTruth, string) error {
	return func(dir string, t *groundTruth, _ string) error {
		for _, log := range t.Logs {
			to := filepath.Join(dir, name(log))
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			if err := copyFile(filepath.Join(dir, log), to); err != nil {
				return err
			}
		}
		return nil
	}
}

func move(dir string, logs []string, folder func(i int) string) error {
	for i, log := range logs {
		to := filepath.Join(dir, folder(i))
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(dir, log), filepath.Join(to, log)); err != nil {
			return err
		}
	}
	return nil
}

// cut removes the lines between two fractions of the first log.
func cut(from, to float64) func(string, *groundTruth, string) error {
	return func(dir string, t *groundTruth, _ string) error {
		path := filepath.Join(dir, t.Logs[0])
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines := bytes.SplitAfter(data, []byte("\n"))
		if t.Random && !t.provable(lines, from, to) {
			return errNotHere
		}
		lines = slices.Delete(lines, int(from*float64(len(lines)-1)), int(to*float64(len(lines)-1)))
		return os.WriteFile(path, bytes.Join(lines, nil), 0o644)
	}
}
