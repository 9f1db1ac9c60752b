package matrix

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ingestEvery makes only every nth answer run ingest, which takes as long as all else; 0 is each.
var ingestEvery int

// An account is the account of I/Os that inspect and ingest print.
type account struct {
	Logged    float64  `json:"ios_logged"`
	Counted   float64  `json:"ios_in_fio_totals"`
	Known     bool     `json:"fio_totals_known"`
	Missing   float64  `json:"ios_missing"`
	Excess    float64  `json:"ios_excess"`
	Restored  float64  `json:"ios_restored"`
	NotPlaced float64  `json:"ios_not_placed"`
	Placed    float64  `json:"ios_placed"`
	Warnings  []string `json:"warnings"`
	Jobs      []struct {
		Job       string  `json:"job"`
		Host      string  `json:"host"`
		Direction string  `json:"direction"`
		Logged    float64 `json:"ios_logged"`
		Counted   float64 `json:"ios_in_fio_totals"`
		Missing   float64 `json:"ios_missing"`
		Restored  float64 `json:"ios_restored"`
		NotPlaced float64 `json:"ios_not_placed"`
		Excess    float64 `json:"ios_excess"`
	} `json:"jobs"`
}

// A use is inspect's statement about a log.
type use struct {
	Path    string   `json:"path"`
	Use     string   `json:"use"`
	Why     []string `json:"why"`
	Options []string `json:"fio_options"`
}

// kind returns the kind of latency to inspect: that of the first log.
func (a *answer) kind() string {
	if a.truth.Kind == single {
		if m := singleName.FindStringSubmatch(a.truth.Logs[0]); m != nil {
			return m[1]
		}
	}
	return "clat"
}

// checkAccount runs inspect and ingest on the folder that percentiles has read, and returns what does not add up in
// their accounts.
func (a *answer) checkAccount(ctx context.Context, fiolat, scratch string) (string, error) {
	withIngest := a.truth.Random || a.Given == a.ingestInputs()
	if len(a.truth.Logs) == 0 || !withIngest && a.Verdict == right && a.Given != "none" {
		return "", nil
	}
	out, stderr, code, err := command(ctx, fiolat, "inspect", "--format", "json", "--kind", a.kind(), scratch)
	if err != nil {
		return "", err
	}
	couldNot := a.Verdict == refused || a.Verdict == overcareful
	if a.shape != nil && a.shape.twice {
		return "", nil // inspect does not judge two runs
	}
	timeless := strings.Contains(strings.Join(a.Said, " "), "which has no times")
	if couldNot && code == 0 && a.truth.Kind == hist && !timeless {
		return "inspect: exit 0 where percentiles refuses", nil
	}
	if len(out) == 0 {
		if couldNot && code == 3 && len(stderr) > 0 {
			return "", nil
		}
		return fmt.Sprintf("inspect: exit %d, and nothing about the logs: %s", code, stderr), nil
	}
	if !couldNot && code != 0 {
		return fmt.Sprintf("inspect: exit %d where percentiles reads", code), nil
	}
	var inspected account
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var doc struct {
			Use     []use    `json:"use"`
			NotUsed []string `json:"not_used"`
			Account account  `json:"account"`
		}
		if err := decoder.Decode(&doc); err != nil {
			return "", fmt.Errorf("inspect: %w", err)
		}
		inspected = doc.Account
		if text := a.checkUses(doc.Use, doc.NotUsed, doc.Account.Warnings, scratch); text != "" {
			return "inspect: " + text, nil
		}
		if text := inspected.checkSums(); text != "" {
			return "inspect: " + text, nil
		}
	}
	if text := a.checkJobs(inspected); text != "" {
		return "inspect: " + text, nil
	}
	if couldNot || !withIngest || a.number%max(ingestEvery, 1) != 0 {
		return "", nil
	}
	return a.ingest(ctx, fiolat, scratch, inspected)
}

// ingestInputs returns the one way to pass a folder in which ingest runs as well: for every fourth folder without JSON.
func (a *answer) ingestInputs() string {
	h := fnv.New32a()
	_, _ = io.WriteString(h, a.Folder)
	switch {
	case a.shape != nil:
		return "json"
	case a.truth.NoJSON, h.Sum32()%4 == 0:
		return "none"
	}
	return "json+job"
}

// checkUses checks that inspect mentions each log, with a reason if it is not used or used with a warning.
func (a *answer) checkUses(uses []use, notUsed, warnings []string, scratch string) string {
	said := map[string]bool{}
	warned := false
	for _, u := range uses {
		said[u.Path] = true
		a.options = append(a.options, u.Options...)
		switch u.Use {
		case "used":
		case "used with a warning", "not used":
			warned = true
			if len(u.Why) == 0 {
				return fmt.Sprintf("%s: %s, without a reason", u.Path, u.Use)
			}
		default:
			return fmt.Sprintf("%s: %q", u.Path, u.Use)
		}
	}
	text := strings.Join(notUsed, "\n")
	for _, name := range a.truth.Logs {
		if a.shape == nil && !said[filepath.Join(scratch, name)] && !strings.Contains(text, name) {
			return name + ": not a word about it"
		}
	}
	// A warning may be about a missing log.
	if a.Verdict == named && !warned && len(warnings) == 0 && len(notUsed) == 0 && a.truth.Kind == hist {
		return "no log has a warning, though percentiles warns"
	}
	return ""
}

// checkSums checks that the I/Os read equal those placed and those named as lost.
func (b *account) checkSums() string {
	switch {
	case math.Abs(b.Logged+b.Restored-b.Placed) > 0.5:
		return fmt.Sprintf("%.0f logged + %.0f restored, but %.0f placed", b.Logged, b.Restored, b.Placed)
	case !b.Known:
	case math.Abs(b.Logged+b.Missing-b.Excess-b.Counted) > 0.5:
		return fmt.Sprintf("%.0f logged + %.0f missing - %.0f too many, but %.0f in fio's totals",
			b.Logged, b.Missing, b.Excess, b.Counted)
	case math.Abs(b.Missing-b.Restored-b.NotPlaced) > 0.5 && !sumNamed.MatchString(strings.Join(b.Warnings, "\n")):
		return fmt.Sprintf("%.0f missing, %.0f of them restored, %.0f not placed, and no warning of the others",
			b.Missing, b.Restored, b.NotPlaced)
	}
	for _, j := range b.Jobs {
		if math.Abs(j.Logged+j.Missing-j.Excess-j.Counted) > 0.5 {
			return fmt.Sprintf("job %s, %s: %.0f logged + %.0f missing - %.0f too many, but %.0f in fio's totals",
				j.Job, j.Direction, j.Logged, j.Missing, j.Excess, j.Counted)
		}
	}
	return ""
}

// checkJobs compares the account of each job with what fio counted.
func (a *answer) checkJobs(b account) string {
	if a.truth.Kind != hist || a.shape != nil || len(b.Jobs) == 0 {
		return ""
	}
	want, got := map[string]int64{}, map[string]float64{}
	hosts := map[string]bool{} // those with a log; fiolat warns of the others
	for _, j := range b.Jobs {
		hosts[j.Host] = true
	}
	for _, e := range a.truth.Entries {
		if !hosts[e.Host] {
			continue
		}
		for d, n := range e.N {
			if d == "mixed" {
				d = "all"
			}
			want[e.Job+", "+d] += n
		}
	}
	for _, j := range b.Jobs {
		got[j.Job+", "+j.Direction] += j.Counted
	}
	for key, n := range got {
		if math.Abs(n-float64(want[key])) > 0.5 {
			return fmt.Sprintf("job %s: fio's totals are %.0f, but fio counted %d", key, n, want[key])
		}
	}
	return ""
}

// ingest compares the account in the run's document with that of inspect, and the sum of all histograms with both.
func (a *answer) ingest(ctx context.Context, fiolat, scratch string, want account) (string, error) {
	docs, err := os.MkdirTemp("", "fiolat-matrix-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(docs) }()
	args := []string{"ingest", "--output", docs, "--by", "direction,job", "--interval", "500ms", "--kind", a.kind()}
	if !strings.Contains(a.Given, "json") || a.shape != nil && a.shape.noTotals {
		args = append(args, "--start", "mtime")
	}
	_, stderr, code, err := command(ctx, fiolat, append(args, scratch)...)
	if err != nil {
		return "", err
	}
	if code != 0 {
		return fmt.Sprintf("ingest: exit %d where percentiles reads: %s", code, stderr), nil
	}
	var got account
	if err := documents(filepath.Join(docs, "fio-run*.ndjson"), func(text []byte) error {
		run := struct {
			Account *account `json:"account"`
		}{&got}
		return json.Unmarshal(text, &run)
	}); err != nil {
		return "", err
	}
	far := func(a, b float64) bool { return math.Abs(a-b) > 0.5 }
	if far(got.Logged, want.Logged) || far(got.Placed, want.Placed) || far(got.Missing, want.Missing) ||
		far(got.NotPlaced, want.NotPlaced) || len(got.Jobs) != len(want.Jobs) {
		return fmt.Sprintf("ingest: account %+v, but inspect's is %+v", got, want), nil
	}
	var samples float64
	if err := documents(filepath.Join(docs, "fio-histogram-*.ndjson"), func(text []byte) error {
		var doc struct {
			Samples float64 `json:"samples"`
		}
		err := json.Unmarshal(text, &doc)
		samples += doc.Samples
		return err
	}); err != nil {
		return "", err
	}
	if math.Abs(samples-want.Placed) > 0.5 {
		return fmt.Sprintf("ingest: %.1f I/Os in documents, %.1f placed", samples, want.Placed), nil
	}
	return "", nil
}

// documents calls f with each document of the _bulk files that match a pattern.
func documents(pattern string, f func([]byte) error) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, 64<<20)
		for n := 0; lines.Scan(); n++ {
			if n%2 == 0 {
				continue // the action line
			}
			if err := f(lines.Bytes()); err != nil {
				return fmt.Errorf("%s:%d: %w", file, n+1, err)
			}
		}
		if err := lines.Err(); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// command runs fiolat, mostly without garbage collection, which saves time as many short processes run at once.
func command(ctx context.Context, fiolat string, args ...string) (out []byte, stderr string, code int, err error) {
	cmd := exec.CommandContext(ctx, fiolat, args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=256MiB")
	var data, diagnostics bytes.Buffer
	cmd.Stdout, cmd.Stderr = &data, &diagnostics
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return data.Bytes(), diagnostics.String(), exit.ExitCode(), nil
	}
	return data.Bytes(), diagnostics.String(), 0, err
}
