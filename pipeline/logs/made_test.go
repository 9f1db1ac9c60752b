package logs_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest"
	"fiolat/ingest/fiolog"
	"fiolat/pipeline/pipelinetest"
	"fiolat/pipeline/plan"
)

// A job is what fio's JSON has of a job, or of a group of them.
type job struct {
	options string // NAME=VALUE, by spaces
	counts  string // I/Os of each direction, as in a record: "r 10*1ms 2*5s; w 3*1ms"
	ms      int64  // runtime of each direction
	bytes   int64  // of all its I/Os; 0: 4096 each
	host    string // of a server of fio --client
	errno   int
}

// counted returns the I/Os in words such as 10*1ms by bucket.
func counted(words []string) (c fiohist.Sparse) {
	at := map[int]float64{}
	for _, w := range words {
		n, each, _ := strings.Cut(w, "*")
		took, err := time.ParseDuration(each)
		ios := 0.0
		if _, bad := fmt.Sscan(n, &ios); err != nil || bad != nil {
			panic(w)
		}
		at[fiohist.Fio3.Index(int64(took))] += ios
	}
	for b := range fiohist.Fio3.Columns() {
		if at[b] > 0 {
			c.Add(uint16(b), at[b])
		}
	}
	return c
}

// parts returns the words of each part of a text.
func parts(text string) (out [][]string) {
	for part := range strings.SplitSeq(text, ";") {
		if words := strings.Fields(part); len(words) > 0 {
			out = append(out, words)
		}
	}
	return out
}

// fioJSON returns what fio prints of jobs with --output-format=json+.
func fioJSON(t *testing.T, jobs []job) string {
	t.Helper()
	var all []map[string]any
	client := false
	for i, j := range jobs {
		options := map[string]string{"write_hist_log": "x", "log_hist_msec": "1000"}
		for o := range strings.FieldsSeq(j.options) {
			name, value, _ := strings.Cut(o, "=")
			if options[name] = value; value == "" {
				delete(options, name)
			}
		}
		e := map[string]any{"jobname": fmt.Sprintf("j%d", i+1), "job options": options, "error": j.errno,
			"job_runtime": j.ms, "elapsed": j.ms/1000 + 1}
		if options["verify"] != "" {
			e["job_runtime"] = j.ms * int64(len(parts(j.counts)))
		}
		if client = client || j.host != ""; j.host != "" {
			e["hostname"], e["port"] = j.host, 8765
		}
		for _, part := range parts(j.counts) {
			c, bins := counted(part[1:]), map[string]float64{}
			for k, b := range c.Index {
				bins[fmt.Sprint(int64(fiohist.Fio3.Middle(int(b))))] = c.Count[k]
			}
			n, last := int64(c.Sum()), int(c.Index[len(c.Index)-1])
			e[map[string]string{"r": "read", "w": "write", "t": "trim"}[part[0]]] = map[string]any{"runtime": j.ms,
				"total_ios": n, "io_bytes": cmp.Or(j.bytes, 4096*n), "clat_ns": map[string]any{"N": n, "bins": bins,
					"min": fiohist.Fio3.Lower(int(c.Index[0])), "max": fiohist.Fio3.Upper(last) - 1}}
		}
		all = append(all, e)
	}
	doc := map[string]any{"fio version": "fio-3.35", "timestamp_ms": 1795225577000, "jobs": all}
	if client {
		doc["client_stats"] = doc["jobs"]
		delete(doc, "jobs")
	}
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// logText returns a log by its records, "1000 r 10*1ms; 2000 w 5*100us", or that of single I/Os. Other lines stay.
func logText(records string, hist bool) (out []byte) {
	for _, part := range parts(records) {
		var r fiolog.Record
		if _, err := fmt.Sscan(part[0], &r.Time); err != nil || len(part[1]) != 1 {
			out = append(out, strings.Join(part, " ")+"\n"...)
			continue
		}
		c := counted(part[2:])
		r.Dir, r.Index, r.Count = fio.Direction(strings.Index("rwt", part[1])), c.Index, c.Count
		if hist {
			out = fiolog.AppendRecord(out, &r, fiohist.Fio3.Columns())
			continue
		}
		out = fmt.Appendf(out, "%d, %.0f, %d, 4096, 0\n", r.Time, fiohist.Fio3.Middle(int(c.Index[0])), r.Dir)
	}
	return out
}

// whole is what became of logs.
type whole struct {
	pipelinetest.Collect
	plan *plan.Plan
	said string // warnings, and the error that ended it
}

// read reads the logs of a run, "NAME: RECORDS" between bars: 1 stands for x_clat_hist.1.log, s1 for x_clat.1.log. They
// are read in rounds of an interval, of which no I/O may come later. flags are settings in words.
func read(t *testing.T, logs string, jobs []job, flags string) (w *whole) {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for part := range strings.SplitSeq(logs, "|") {
		name, records, _ := strings.Cut(strings.TrimSpace(part), ":")
		number, host, _ := strings.Cut(strings.TrimPrefix(name, "s"), "@")
		kind := map[bool]string{true: "x_clat.", false: "x_clat_hist."}[name[0] == 's']
		write(strings.TrimSuffix(kind+number+".log."+host, "."), logText(records, name[0] != 's'))
	}
	if jobs != nil {
		write("fio.json", []byte(fioJSON(t, jobs)))
	}
	ins, err := ingest.Discover([]string{dir}, ingest.DiscoverOptions{})
	if err != nil || len(ins) != 1 {
		t.Fatal(len(ins), err)
	}
	var said []string
	w = new(whole)
	w.plan, err = plan.Prepare(t.Context(), ins[0], plan.Config{Settings: settings(t, flags), Workers: 1, Hold: -1,
		Pauses: true, Warn: func(text string) { said = append(said, text) }})
	if err == nil {
		_, err = w.plan.Process(t.Context(), w)
		w.plan.Close()
	}
	if err != nil {
		said = append(said, err.Error())
	}
	w.said = strings.ReplaceAll(strings.Join(said, "\n"), dir+"/", "")
	return w
}

// settings are those of a run by log and direction in seconds, but for what the flags say.
func settings(t *testing.T, flags string) fio.Settings {
	t.Helper()
	s := fio.Defaults()
	s.Interval, s.By = time.Second, []string{fio.ByDirection, fio.ByLog}
	for flag := range strings.FieldsSeq(flags) {
		name, value, _ := strings.Cut(flag, "=")
		var err error
		switch name {
		case "interval":
			s.Interval, err = time.ParseDuration(value)
		case "log-hist-msec":
			s.LogHistMsec, err = strconv.ParseInt(value, 10, 64)
		case "skip-bad":
			s.SkipBad = true
		case "no-restore":
			s.Restore = false
		case "record-time":
			s.RecordTime = value
		case "align":
			s.Align = value
		case "repair":
			s.Repair = value
		default:
			t.Fatal(flag)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// ios returns the I/Os of each log and direction by interval, to 0.1, up to the last that has some.
func (w *whole) ios() string {
	var order []string
	at := map[string][]float64{}
	for i, r := range w.Rows {
		if r.Scope != fio.Scope([]string{fio.ByLog, fio.ByDirection}) {
			continue
		}
		_, name, _ := strings.Cut(strings.Replace(r.Dims.Log, ".log", "", 1), ".")
		name += r.Dims.Direction[:1]
		if at[name] == nil {
			order = append(order, name)
		}
		q := int(w.Offsets[i] / w.Run.Interval)
		at[name] = append(at[name], make([]float64, max(0, q+1-len(at[name])))...)
		at[name][q] = math.Round(10*r.Stats.Samples) / 10
	}
	for i, name := range order {
		ios := at[name]
		for len(ios) > 0 && ios[len(ios)-1] == 0 {
			ios = ios[:len(ios)-1]
		}
		order[i] += strings.Trim(fmt.Sprint(" ", ios), "]")
	}
	slices.Sort(order)
	return strings.ReplaceAll(strings.Join(order, "; "), "[", "")
}
