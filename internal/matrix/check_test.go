package matrix

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// A verdict classifies an answer.
type verdict string

const (
	right       verdict = "right"
	named       verdict = "named"   // something is missing or unknown, and a warning says so
	refused     verdict = "refused" // with an error, for a good reason
	overcareful verdict = "refused although readable"
	wrong       verdict = "silently wrong"
)

// An answer is fiolat's result for a folder, of which it got the logs and, depending on Given, fio's JSON and job file.
type answer struct {
	Folder  string   `json:"folder"`
	Given   string   `json:"given"` // "json+job", "json", "job", "none"
	Verdict verdict  `json:"verdict"`
	Reason  string   `json:"reason,omitempty"`
	Said    []string `json:"said,omitempty"` // warnings, or the error
	Shape   string   `json:"shape,omitempty"`
	truth   *groundTruth
	shape   *shape
	number  int // index among all answers
	// options are the fio options that inspect names as causes.
	options []string
}

// inputSets lists the ways to pass a folder to fiolat.
var inputSets = []string{"json+job", "json", "job", "none"}

// askEvery is how many questions there are for each that is asked.
var askEvery = 1

func check(ctx context.Context, fiolat, out, only string, parallel int) ([]*answer, error) {
	dirs, err := filepath.Glob(filepath.Join(out, "*", "truth.json"))
	if err != nil {
		return nil, err
	}
	dirs = slices.DeleteFunc(dirs, func(d string) bool { return !strings.Contains(d, only) })
	var answers []*answer
	for _, file := range dirs {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		t := &groundTruth{}
		if err := json.Unmarshal(text, t); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		name := filepath.Base(filepath.Dir(file))
		for _, g := range inputSets {
			if t.NoJSON && strings.Contains(g, "json") {
				continue
			}
			answers = append(answers, &answer{Folder: name, Given: g, truth: t})
		}
		for _, s := range shapes {
			if !s.applies(t, name) {
				continue
			}
			answers = append(answers, &answer{Folder: name, Given: "json", Shape: s.name, truth: t, shape: &s})
			if s.bare {
				answers = append(answers, &answer{Folder: name, Given: "none", Shape: s.name, truth: t, shape: &s})
			}
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, a := range answers {
		if a.number = i; i%askEvery != 0 {
			continue
		}
		group.Go(func() error { return a.ask(ctx, fiolat, filepath.Join(out, a.Folder)) })
	}
	failed := group.Wait()
	return slices.DeleteFunc(answers, func(a *answer) bool { return a.Verdict == "" }), failed
}

// ask runs fiolat on a copy of a folder and sets the verdict.
func (a *answer) ask(ctx context.Context, fiolat, dir string) error {
	scratch, err := os.MkdirTemp("", "fiolat-matrix-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	copied := slices.Clone(a.truth.Logs)
	if strings.Contains(a.Given, "json") {
		copied = append(copied, "fio.json")
	}
	if strings.Contains(a.Given, "job") {
		copied = append(copied, "job.fio")
		if _, err = os.Stat(filepath.Join(dir, included)); err == nil {
			copied = append(copied, included)
		}
	}
	for _, name := range copied {
		if err = copyFile(filepath.Join(dir, name), filepath.Join(scratch, name)); err != nil {
			return err
		}
	}
	if a.shape != nil {
		if err = a.shape.make(scratch, a.truth, dir); errors.Is(err, errNotHere) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s, %s: %w", a.Folder, a.Shape, err)
		}
	}
	limited, cancel := context.WithTimeout(ctx, 30*time.Minute)
	defer cancel()
	var diff string
	if err = a.percentiles(limited, fiolat, scratch); err == nil {
		diff, err = a.checkAccount(limited, fiolat, scratch)
	}
	if limited.Err() != nil && ctx.Err() == nil {
		diff, err = "no answer within 30 minutes", nil
	}
	if diff != "" {
		a.Verdict, a.Reason = wrong, strings.TrimPrefix(a.Reason+"; "+strings.ReplaceAll(diff, scratch+"/", ""), "; ")
	}
	return err
}

// percentiles runs fiolat percentiles and sets the verdict.
func (a *answer) percentiles(ctx context.Context, fiolat, scratch string) error {
	args := strings.Fields("percentiles --format ndjson --by direction,job --interval 500ms --percentiles 50")
	if a.truth.Kind == single {
		args = append(args, "--kind", "all")
	}
	data, stderr, code, err := command(ctx, fiolat, append(args, scratch)...)
	if err != nil {
		return err
	}
	for line := range strings.Lines(stderr) {
		line = strings.ReplaceAll(strings.TrimSpace(line), scratch+"/", "")
		line = strings.ReplaceAll(line, scratch, "RUN")
		line = strings.ReplaceAll(line, filepath.Base(scratch), "RUN")
		if strings.Contains(line, "warning:") || code != 0 && strings.HasPrefix(line, "fiolat:") {
			a.Said = append(a.Said, strings.Split(line, "; also: ")...)
		}
	}
	if code != 0 {
		switch {
		case code != 3 && code != 2:
			a.Verdict, a.Reason = wrong, fmt.Sprintf("exit %d", code)
		case len(a.Said) == 0:
			a.Verdict, a.Reason = wrong, "refused without a reason: "+stderr
		case (a.shape == nil || a.shape.readable) && a.truth.readable():
			a.Verdict = overcareful
		default:
			a.Verdict = refused
		}
		return nil
	}
	rows, err := readRows(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%s: %w", a.Folder, err)
	}
	counted := strings.Contains(a.Given, "json") && (a.shape == nil || !a.shape.noTotals)
	sums, times := a.truth.judge(rows, counted)
	a.Verdict = right
	said := a.Said
	if a.shape != nil && a.shape.loses {
		// A warning of a repair does not report the loss.
		said = slices.DeleteFunc(slices.Clone(said), func(s string) bool {
			return strings.Contains(s, "repaired (fio --client")
		})
	}
	warnings := strings.Join(said, "\n")
	switch {
	case a.shape == nil:
	case a.shape.loses && sums == "":
		sums = "as good as whole, though I/Os or totals are missing"
	case a.shape.twice:
		sums, times = "", "two runs are one"
	}
	for _, p := range []struct {
		text  string
		cause *regexp.Regexp
	}{{sums, sumNamed}, {times, timeNamed}} {
		switch {
		case p.text == "":
			continue
		case a.Verdict == named: // wrong numbers make wrong times
		case p.cause.MatchString(warnings):
			if a.Verdict == right {
				a.Verdict = named
			}
		default:
			a.Verdict = wrong
		}
		a.Reason = strings.TrimPrefix(a.Reason+"; "+p.text, "; ")
	}
	return nil
}

// sumNamed and timeNamed match warnings about I/Os and about time.
var (
	sumNamed = regexp.MustCompile(`missing|lost|damaged|belong|counted|averages|cut|mixed|empty|not placed|` +
		`log_hist_msec|very run|servers|breaks off|clat_percentiles|disable|overwrit|no I/O|no latencies|log whole|` +
		`repaired`)
	timeNamed = regexp.MustCompile(`start|clock|time zero|one after the other|began after|log whole`)
)

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

// A row is a row of the output of percentiles: an interval of a scope.
type row struct {
	Offset    float64 `json:"offset_ms"`
	Scope     string  `json:"scope"`
	Direction string  `json:"direction"`
	Job       string  `json:"job"`
	Kind      string  `json:"kind"`
	Samples   float64 `json:"samples"`
}

func readRows(r io.Reader) ([]row, error) {
	var rows []row
	decoder := json.NewDecoder(r)
	for {
		var one row
		switch err := decoder.Decode(&one); {
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return nil, err
		}
		rows = append(rows, one)
	}
}

// readable reports whether the logs are intact and hold all I/Os that fio counted, except for each log's last window.
func (t *groundTruth) readable() bool {
	if t.Kind == single {
		any := false
		for _, counts := range t.Singles {
			for _, n := range counts {
				any = any || n > 0
			}
		}
		return any && len(t.Logs) > 0 && !t.Averages && t.Mode != ports && t.Note == ""
	}
	if t.Logged == nil || t.Note != "" || t.NoJSON && t.Mode != alone {
		return false
	}
	n, _ := t.totals()
	any := false
	if n["mixed"] > 0 && n["read"]+n["write"]+n["trim"] == 0 {
		return true
	}
	for _, d := range directions {
		any = any || t.Logged[d] > 0
		if t.Logged[d] > n[d] || n[d]-t.Logged[d] > t.Fullest[d]*3/2+3 {
			return false
		}
	}
	return any
}

// judge compares an answer with fio's counts and returns how I/Os and times differ, "" if they do not.
func (t *groundTruth) judge(rows []row, withJSON bool) (sums, times string) {
	var problems []string
	if t.Kind == single {
		for _, k := range []string{"clat", "slat", "lat"} {
			got := map[string]float64{}
			any := false
			for _, r := range rows {
				if r.Kind == k && r.Scope == "direction" {
					got[r.Direction] += r.Samples
					any = any || r.Samples > 0
				}
			}
			if want := t.Singles[k]["mixed"]; want > 0 {
				if total := got["read"] + got["write"] + got["trim"]; any && math.Abs(total-float64(want)) > 0.5 {
					problems = append(problems, fmt.Sprintf("%s: fio %d, given %.0f", k, want, total))
				}
				continue
			}
			for _, d := range directions {
				want := t.Singles[k][d]
				if !any && want > 0 && k == "slat" {
					continue // synchronous engines count slat but do not log it
				}
				if !withJSON && (t.Mode == ports || t.Case == "lat-per-job-logs") {
					want = t.Lines[k][d] // the log of one server or thread overwrote that of another
				}
				if math.Abs(got[d]-float64(want)) > 0.5 {
					problems = append(problems, fmt.Sprintf("%s %s: fio %d, given %.0f", k, d, want, got[d]))
				}
			}
		}
		if t.Averages && len(rows) > 0 {
			problems = append(problems, "averages taken for single I/Os")
		}
		return strings.Join(problems, ", "), ""
	}

	got, perJob := map[string]float64{}, map[string]map[string]float64{}
	var total float64
	for _, r := range rows {
		switch r.Scope {
		case "direction":
			got[r.Direction] += r.Samples
			total += r.Samples
		case "job+direction":
			if perJob[r.Job] == nil {
				perJob[r.Job] = map[string]float64{}
			}
			perJob[r.Job][r.Direction] += r.Samples
		}
	}
	n, issued := t.totals()
	var all, allIssued, logged int64
	for _, d := range directions {
		all, allIssued, logged = all+n[d], allIssued+issued[d], logged+t.Logged[d]
	}
	switch {
	case n["mixed"] > 0 && all == 0 && withJSON:
		if math.Abs(total-float64(n["mixed"])) > 0.5 {
			problems = append(problems, fmt.Sprintf("all: fio %d, given %.0f", n["mixed"], total))
		}
	case all == 0 && logged == 0:
		if total > 0.5 {
			problems = append(problems, fmt.Sprintf("fio counted no latency of %d I/Os, given %.0f", allIssued, total))
		} else {
			problems = append(problems, fmt.Sprintf("no latency of %d I/Os", allIssued))
		}
	default:
		for _, d := range directions {
			lowest, highest := float64(n[d]), float64(n[d])
			if all == 0 { // the I/Os are only in the logs, or the JSON has one sum of all directions
				lowest, highest = float64(t.Logged[d]), float64(t.Logged[d])
			} else if !withJSON {
				// Without JSON the last window, an overwritten log of another server and a burst shorter than a
				// window are unknown: the counts of the logs are right.
				lowest = float64(n[d] - t.Fullest[d]*3/2 - 3)
				known := float64(t.Logged[d]) >= lowest || t.Mode == alone || t.Mode == ports && t.Note == ""
				if t.Logged != nil && known && t.Logged[d] <= n[d] {
					lowest, highest = float64(t.Logged[d]), float64(t.Logged[d])
				}
			}
			if got[d] < lowest-0.5 || got[d] > highest+0.5 {
				want := fmt.Sprintf("%.0f", highest)
				if lowest != highest {
					want = fmt.Sprintf("%.0f to %.0f", lowest, highest)
				}
				problems = append(problems, fmt.Sprintf("%s: fio %s, given %.0f", d, want, got[d]))
			}
		}
		if withJSON && len(problems) == 0 && all > 0 && !t.Grouped {
			want := map[string]map[string]int64{}
			for _, e := range t.Entries {
				if want[e.Job] == nil {
					want[e.Job] = map[string]int64{}
				}
				for d, c := range e.N {
					want[e.Job][d] += c
				}
			}
			for job, counts := range want {
				for _, d := range directions {
					if g := perJob[job][d]; math.Abs(g-float64(counts[d])) > 0.5 {
						problems = append(problems, fmt.Sprintf("job %s %s: fio %d, given %.0f", job, d, counts[d], g))
					}
				}
			}
			slices.Sort(problems)
		}
	}
	return strings.Join(problems, ", "), t.judgeTimes(rows)
}

// jitter is the maximum error, in ms, of the recorded start of a job on a busy machine.
const jitter = 200

// judgeTimes compares fiolat's cumulative I/Os of a direction at the end of each interval with the logs' records:
// records with earlier timestamps have completed, and of the later ones only part of the next record of each log.
func (t *groundTruth) judgeTimes(rows []row) string {
	const interval = 500
	n, _ := t.totals()
	for _, d := range directions {
		records := t.Records[d]
		if len(records) == 0 || records[0][0] < 0 {
			continue
		}
		var sum float64
		for _, r := range rows {
			if r.Scope != "direction" || r.Direction != d {
				continue
			}
			sum += r.Samples
			var lowest, highest int64
			end := int64(r.Offset) + interval
			for _, p := range records {
				if p[0] <= end-jitter {
					lowest += p[1]
				}
				if p[0] <= end+jitter {
					highest += p[1]
				}
			}
			highest += t.Fullest[d] + max(0, n[d]-t.Logged[d])
			if records[len(records)-1][0] <= end+jitter {
				highest = max(highest, n[d])
			}
			if sum < float64(lowest)*0.98-2 || sum > float64(highest)*1.02+2 {
				return fmt.Sprintf("%s by %d ms: %d to %d, given %.0f", d, end, lowest, highest, sum)
			}
		}
	}
	return ""
}

func (a *answer) given() string {
	if a.Shape == "" {
		return a.Given
	}
	return a.Given + ", " + a.Shape
}
