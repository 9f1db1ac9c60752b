package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A shape is what happens to folders after fio: copies, moves, losses.
type shape struct {
	name string
	// The cases it is tried on.
	cases []string
	modes []mode
	// I/Os are in no log, more than a last window may hold: that must be said.
	loses bool
	// A refusal is for no reason.
	readable bool
	make     func(dir string, t *truth, from string) error
}

func (s *shape) applies(t *truth) bool {
	if t.Kind != hist || len(t.Logs) == 0 || !slices.Contains(s.modes, t.Mode) {
		return false
	}
	return slices.Contains(s.cases, t.Case)
}

var shapes = []shape{
	{name: "a copy .bak", cases: []string{"plain", "numjobs"}, modes: both,
		make: again(func(name string) string { return name + ".bak" })},
	{name: "a copy .old", cases: []string{"plain"}, modes: both,
		make: again(func(name string) string { return name + ".old" })},
	{name: "a copy .1", cases: []string{"plain"}, modes: both,
		make: again(func(name string) string { return name + ".1" })},
	{name: "a copy in a folder", cases: []string{"plain", "group"}, modes: both,
		make: again(func(name string) string { return filepath.Join("copy", name) })},
	{name: "a copy of another name", cases: []string{"plain"}, modes: both,
		make: again(func(name string) string { return "copy-" + name })},
	{name: "a symbolic link", cases: []string{"plain", "numjobs"}, modes: both,
		make: func(dir string, t *truth, _ string) error {
			return os.Symlink(t.Logs[0], filepath.Join(dir, "latest_clat_hist.1.log"))
		}},
	{name: "a hard link", cases: []string{"plain", "numjobs"}, modes: both,
		make: func(dir string, t *truth, _ string) error {
			return os.Link(filepath.Join(dir, t.Logs[0]), filepath.Join(dir, "latest_clat_hist.1.log"))
		}},
	{name: "JSON above", cases: []string{"plain", "numjobs", "group"}, modes: every[:2], readable: true,
		make: func(dir string, t *truth, _ string) error {
			return move(dir, t.Logs, func(int) string { return "logs" })
		}},
	{name: "a folder for each host", cases: []string{"plain", "msec500", "group"}, modes: []mode{hosts}, readable: true,
		make: func(dir string, t *truth, _ string) error {
			return move(dir, t.Logs, func(i int) string { return string(rune('a' + i)) })
		}},
	{name: "without its head", cases: []string{"plain", "numjobs", "group", "coarse3"}, modes: both, loses: true,
		make: cut(0, 0.6)},
	{name: "without its middle", cases: []string{"plain", "numjobs", "group", "coarse3"}, modes: both, loses: true,
		make: cut(0.3, 0.8)},
	{name: "without its end", cases: []string{"plain", "numjobs", "group", "coarse3"}, modes: both, loses: true,
		make: cut(0.4, 1)},
	{name: "without a log", cases: []string{"numjobs", "group", "jobs"}, modes: both, loses: true,
		make: func(dir string, t *truth, _ string) error {
			return os.Remove(filepath.Join(dir, t.Logs[len(t.Logs)-1]))
		}},
	{name: "another run's JSON", cases: []string{"plain", "coarse3"}, modes: both, loses: true,
		make: func(dir string, _ *truth, from string) error {
			other := strings.NewReplacer("-plain", "-poisson", "-coarse3", "-mix90").Replace(filepath.Base(from))
			return copyFile(filepath.Join(filepath.Dir(from), other, "fio.json"), filepath.Join(dir, "fio.json"))
		}},
}

// again copies each log once more, under another name.
func again(name func(string) string) func(string, *truth, string) error {
	return func(dir string, t *truth, _ string) error {
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

// cut takes the lines from a share of the first log to another out.
func cut(from, to float64) func(string, *truth, string) error {
	return func(dir string, t *truth, _ string) error {
		path := filepath.Join(dir, t.Logs[0])
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		lines := bytes.SplitAfter(data, []byte("\n"))
		lines = slices.Delete(lines, int(from*float64(len(lines)-1)), int(to*float64(len(lines)-1)))
		return os.WriteFile(path, bytes.Join(lines, nil), 0o644)
	}
}
