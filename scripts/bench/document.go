package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// document is the table of a run of bench.
type document struct {
	machine string
	rows    []string
}

func newDocument(ctx context.Context) *document {
	d := &document{machine: fmt.Sprintf("%s: %d cores", time.Now().Format("2 January 2006"), runtime.NumCPU())}
	add := func(format string, args ...any) { d.machine += ", " + fmt.Sprintf(format, args...) }
	if model := field("/proc/cpuinfo", "model name"); model != "" {
		add("%s", model)
	}
	if kb, err := strconv.Atoi(strings.TrimSuffix(field("/proc/meminfo", "MemTotal"), " kB")); err == nil {
		add("%d GB of memory", (kb+512<<10)>>20)
	}
	add("%s/%s, %s", runtime.GOOS, runtime.GOARCH, runtime.Version())
	for _, program := range [][]string{{"fio", "--version"}, {"python3", "--version"}} {
		if out, err := exec.CommandContext(ctx, program[0], program[1:]...).Output(); err == nil {
			add("%s", strings.TrimSpace(string(out)))
		}
	}
	return d
}

// field returns the value of the first line `NAME : VALUE` of a file in /proc.
func field(file, name string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// add appends the results of a part.
func (d *document) add(p part, results []result) {
	d.rows = append(d.rows, fmt.Sprintf("|**%s** (%s)|||||||", p.title, p.name))
	for _, r := range results {
		wanted, met := r.wanted, ""
		if wanted != "" {
			met = "**no**"
			if r.met {
				met = "yes"
			}
		}
		if r.note != "" {
			d.rows = append(d.rows, fmt.Sprintf("|%s||%s|||%s|%s|", r.name, r.note, wanted, met))
			continue
		}
		rate := ""
		switch {
		case r.docs > 0:
			rate = fmt.Sprintf("%.0f documents/s", float64(r.docs)/r.wall.Seconds())
		case r.bytes > 0:
			rate = fmt.Sprintf("%.2f GB/s", float64(r.bytes)/r.wall.Seconds()/1e9)
		}
		d.rows = append(d.rows, fmt.Sprintf("|%s|%s|%s|%s|%s|%s|%s|", r.name, short(r.wall), rate, r.peak(),
			times(r.ratio), wanted, met))
	}
}

// peak formats the median of the memory peaks, and the highest if it differs.
func (r *result) peak() string {
	usual, highest := fmt.Sprintf("%.0f", r.memory), fmt.Sprintf("%.0f", r.highest)
	if highest != usual {
		usual += " (up to " + highest + ")"
	}
	return usual
}

// short formats a duration in seconds with three significant digits.
func short(t time.Duration) string { return strconv.FormatFloat(digits3(t.Seconds()), 'f', -1, 64) }

func times(v float64) string { return strconv.FormatFloat(digits3(v), 'f', -1, 64) }

func digits3(v float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64) // cannot fail
	return r
}

func (d *document) table() string {
	return "Measured on " + d.machine + ".\n\n" +
		"|program|median s|rate|peak MB|times the first|wanted|met|\n|---|---|---|---|---|---|---|\n" +
		strings.Join(d.rows, "\n") + "\n"
}

// The table lies between these lines.
const (
	begin = "<!-- make bench writes from here -->\n"
	end   = "<!-- to here -->\n"
)

// write replaces the table in a file.
func (d *document) write(name string) error {
	old, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	head, rest, ok := bytes.Cut(old, []byte(begin))
	_, foot, too := bytes.Cut(rest, []byte(end))
	if !ok || !too {
		return fmt.Errorf("%s has no lines %q and %q to write the table between", name, begin, end)
	}
	return os.WriteFile(name, []byte(string(head)+begin+"\n"+d.table()+"\n"+end+string(foot)), 0o600)
}
