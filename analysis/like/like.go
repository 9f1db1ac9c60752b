// Package like computes what fio's two Python programs for histogram logs print, fio-histo-log-pctiles and
// fiologparser_hist of fio 3.33, so that old results can be compared before one switches. It has their arithmetic and
// its bugs (timestamps taken for the start of an interval, counts that land in the last rows, samples counted once per
// interval that they touch), but fiolat's own parser of logs, and the programs' flags as they are documented.
//
// What the program would crash on is an [InputError], and nothing is printed.
package like

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"fiolat/ingest/fiolog"
	"fiolat/ingest/jobfile"
	"fiolat/ingest/source"
)

const (
	pctilesName = "fio-histo-log-pctiles"
	parserName  = "fiologparser_hist"
)

// Programs lists the programs that [Run] accepts.
var Programs = []string{pctilesName, parserName}

// UsageError is a command line that cannot be read.
type UsageError struct{ Message, Hint string }

func (e *UsageError) Error() string { return e.Message }

// InputError says where and why the program stops.
type InputError struct{ Message, Hint string }

func (e *InputError) Error() string { return e.Message }

// Run computes what the program prints and writes it to stdout; nothing after another error than one of writing.
func Run(ctx context.Context, program string, args []string, stdout io.Writer) error {
	var out bytes.Buffer
	var err error
	switch program {
	case pctilesName:
		err = runPctiles(ctx, args, &out)
	case parserName:
		err = runParser(ctx, args, &out)
	default:
		err = &UsageError{fmt.Sprintf("--like %q: no such program", program),
			"use --like " + strings.Join(Programs, " or --like ")}
	}
	if err == nil {
		_, err = out.WriteTo(stdout)
	}
	return err
}

func stop(program, where, format string, args ...any) error {
	return &InputError{fmt.Sprintf("%s: %s stops here: %s", where, program, fmt.Sprintf(format, args...)),
		"fiolat percentiles --interval 1s FILE..."}
}

// parse reads flags, which may also stand between and after the files. For --help it prints the flags and returns no
// files.
func parse(program string, f *flag.FlagSet, args []string, out *bytes.Buffer) (files []string, err error) {
	f.SetOutput(io.Discard)
	for len(args) > 0 {
		switch err = f.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			fmt.Fprintf(out, "usage: %s [FLAG]... FILE...\n", program)
			f.SetOutput(out)
			f.PrintDefaults()
			return nil, nil
		case err != nil:
			return nil, &UsageError{program + ": " + err.Error(),
				"see fiolat percentiles --like " + program + " --help"}
		}
		rest := f.Args()
		if taken := len(args) - len(rest); taken > 0 && args[taken-1] == "--" {
			files, args = append(files, rest...), nil
		} else if args = rest; len(rest) > 0 {
			files, args = append(files, rest[0]), rest[1:]
		}
	}
	if len(files) == 0 {
		return nil, &UsageError{program + ": no log is named", "name the histogram logs of a run"}
	}
	return files, nil
}

// joined makes one argument, with commas, of the numbers that follow --percentiles.
func joined(args []string) []string {
	at := slices.Index(args, "--percentiles") + 1
	to := at
	for at > 0 && to < len(args) && isNumber(args[to]) {
		to++
	}
	if to == at {
		return args
	}
	return slices.Concat(args[:at], []string{strings.Join(args[at:to], ",")}, args[to:])
}

func isNumber(s string) bool { _, err := strconv.ParseFloat(s, 64); return err == nil }

// numbers returns the percentiles of a list that is separated by commas or colons.
func numbers(program, list string) (out []float64, err error) {
	for _, text := range strings.FieldsFunc(list, isSeparator) {
		p, err := strconv.ParseFloat(text, 64)
		if err != nil || !(p >= 0 && p <= 100) {
			return nil, &UsageError{fmt.Sprintf("%s: --percentiles: %q is not a percentile", program, text),
				"name numbers from 0 to 100"}
		}
		out = append(out, p)
	}
	return out, nil
}

func isSeparator(r rune) bool { return r == ',' || r == ':' }

// hlog is a log in memory.
type hlog struct {
	path    string
	columns int
	records []*fiolog.Record
}

func (l *hlog) at(i int) string { return fmt.Sprintf("%s:%d", l.path, l.records[i].Line) }

func readAll(ctx context.Context, program string, paths []string) (logs []*hlog, err error) {
	read := map[string]*hlog{}
	for _, path := range paths {
		l := read[path]
		if l == nil {
			if l, err = readLog(ctx, program, path); err != nil {
				return nil, err
			}
			read[path] = l
		}
		logs = append(logs, l)
	}
	return logs, nil
}

func readLog(ctx context.Context, program, path string) (*hlog, error) {
	in, err := source.Open(path, nil)
	if err != nil {
		return nil, stop(program, path, "%v", err)
	}
	defer in.Close()
	l := &hlog{path: path}
	r := fiolog.NewReader(in, path, fiolog.ReaderOptions{})
	for ctx.Err() == nil {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, stop(program, path, "%v", err)
		}
		l.records = append(l.records, rec.Clone())
	}
	g, ok := r.Geometry()
	l.columns = g.Columns()
	if ctx.Err() == nil && (!ok || len(l.records) == 0) {
		return nil, stop(program, path, "the log is empty")
	}
	return l, context.Cause(ctx)
}

// jobInterval stores log_hist_msec of a job file, in ms, in step, if it has one.
func jobInterval(path string, step *int) error {
	in, err := source.Open(path, nil)
	if err != nil {
		return stop(parserName, path, "%v", err)
	}
	defer in.Close()
	job, err := jobfile.Parse(in, path)
	if err != nil {
		return stop(parserName, path, "%v", err)
	}
	first := ""
	for _, s := range job.Sections {
		text, ok := s.Options["log_hist_msec"]
		if !ok {
			continue
		}
		ms, err := strconv.Atoi(text)
		if err != nil || first != "" && text != first {
			return stop(parserName, path, "log_hist_msec=%s in section %s: want one number of ms for all jobs", text, s.Name)
		}
		first, *step = text, ms
	}
	return nil
}

// repr is Python's repr of a float.
func repr(v float64) string {
	form := byte('g')
	if a := math.Abs(v); a == 0 || a >= 1e-4 && a < 1e16 {
		form = 'f'
	}
	s := strconv.FormatFloat(v, form, -1, 64)
	if form == 'f' && !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

func integer(v float64) string { return strconv.FormatFloat(math.Trunc(v), 'f', 0, 64) }

func floorDiv(a, b int64) int64 { return int64(math.Floor(float64(a) / float64(b))) }

// pairwiseSum is numpy's sum: eight running sums over blocks of up to 128 elements, and a tree of the blocks. A plain
// loop differs in the last digits. Here as below, products are converted so that the compiler does not fuse them.
func pairwiseSum(a []float64) (sum float64) {
	n := len(a)
	if n > 128 {
		half := n / 2
		half -= half % 8
		return pairwiseSum(a[:half]) + pairwiseSum(a[half:])
	}
	if n >= 8 {
		var r [8]float64
		for i := range n - n%8 {
			r[i%8] += a[i]
		}
		sum, a = ((r[0]+r[1])+(r[2]+r[3]))+((r[4]+r[5])+(r[6]+r[7])), a[n-n%8:]
	}
	for _, v := range a {
		sum += v
	}
	return sum
}

// interp is numpy.interp of each x over the points (xp, fp), written into out. xp does not ascend where a record before
// the interval has a negative weight; then the result is what numpy's search from its last result finds.
func interp(out, x, xp, fp []float64) {
	last, j := len(xp)-1, 0
	for i, v := range x {
		switch j = search(v, xp, j); {
		case j < 0:
			out[i] = fp[0]
		case j >= last:
			out[i] = fp[last]
		case xp[j] == v:
			out[i] = fp[j]
		default:
			slope := (fp[j+1] - fp[j]) / (xp[j+1] - xp[j])
			out[i] = float64(slope*(v-xp[j])) + fp[j]
		}
	}
}

// search returns the last j with a[j] <= key, -1 below all and len(a) above all, for five elements or more.
func search(key float64, a []float64, guess int) int {
	const near = 8
	lo, hi := 0, len(a)
	guess = max(min(guess, hi-3), 1)
	switch {
	case key > a[hi-1]:
		return hi
	case key < a[0]:
		return -1
	case key < min(a[guess-1], a[guess]):
		hi = guess - 1
		if guess > near && key >= a[guess-near] {
			lo = guess - near
		}
	case key < a[guess]:
		return guess - 1
	case key < a[guess+1]:
		return guess
	case key < a[guess+2]:
		return guess + 1
	default:
		lo = guess + 2
		if guess < hi-near-1 && key < a[guess+near] {
			hi = guess + near
		}
	}
	return lo + sort.Search(hi-lo, func(i int) bool { return key < a[lo+i] }) - 1
}
