package matrix

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// A groundTruth is what is known of a run without fiolat: fio's totals, the recorded starts of jobs, the logs' counts.
type groundTruth struct {
	Version string `json:"version"`
	Mode    mode   `json:"mode"`
	Kind    kind   `json:"kind"`
	Case    string `json:"case"`
	About   string `json:"about,omitempty"`
	// Entries are those of fio's JSON, without the sum of all clients.
	Entries []entry `json:"entries"`
	// Starts of jobs in ns since 1970, as date(1) printed them right before each job started.
	Starts map[string]int64 `json:"starts"`
	// Logged I/Os per direction, repaired where fio --client damaged the logs; nil if unknown.
	Logged map[string]int64 `json:"logged,omitempty"`
	// Fullest sums the largest records of a direction over the logs: at most so much is missing at the end.
	Fullest map[string]int64 `json:"fullest,omitempty"`
	// Logs are the names of the logs.
	Logs []string `json:"logs"`
	// Note says why Logged is unknown.
	Note string `json:"note,omitempty"`
	// Records of histogram logs per direction, sorted by time: ms since the start of the run's first job, and I/Os.
	Records map[string][][2]int64 `json:"records,omitempty"`
	// Singles are the I/Os by kind and direction in fio's JSON, for logs of single I/Os.
	Singles map[string]map[string]int64 `json:"singles,omitempty"`
	// Lines are the I/Os in logs of single I/Os, by kind and direction.
	Lines map[string]map[string]int64 `json:"lines,omitempty"`
	// Averages is set if the logs hold one value for several I/Os.
	Averages bool `json:"averages,omitempty"`
	// NoJSON is set if fio wrote no JSON.
	NoJSON bool `json:"no_json,omitempty"`
	// Random is set if the case was drawn at random.
	Random bool `json:"random,omitempty"`
	// Grouped is set if one entry of fio's JSON stands for several jobs.
	Grouped bool `json:"grouped,omitempty"`
}

type entry struct {
	Job    string           `json:"job"`
	Host   string           `json:"host,omitempty"`
	Port   int              `json:"port,omitempty"`
	Group  int              `json:"group"`
	N      map[string]int64 `json:"n"`      // clat_ns.N per direction
	Issued map[string]int64 `json:"issued"` // total_ios per direction
	// Slat and Lat are slat_ns.N and lat_ns.N.
	Slat map[string]int64 `json:"slat"`
	Lat  map[string]int64 `json:"lat"`
	// Start is fio's job_start, in ms since 1970, which fio has from 3.36 on.
	Start int64 `json:"start,omitempty"`
}

var directions = []string{"read", "write", "trim"}

type document struct {
	Jobs   []json.RawMessage `json:"jobs"`
	Client []json.RawMessage `json:"client_stats"`
}

var errNoJSON = errors.New("fio.json: no object")

// lastDocument returns the last of fio's JSON documents in a text with other output.
func lastDocument(raw []byte) (last document, ok bool) {
	for {
		at := bytes.Index(raw, []byte("{\n"))
		if at < 0 {
			return last, ok
		}
		raw = raw[at:]
		decoder := json.NewDecoder(bytes.NewReader(raw))
		var doc document
		if err := decoder.Decode(&doc); err != nil {
			raw = raw[1:]
			continue
		}
		raw = raw[decoder.InputOffset():]
		if doc.Jobs != nil || doc.Client != nil {
			last, ok = doc, true
		}
	}
}

// readJSON decodes the last of fio's JSON documents in a folder's fio.json.
func readJSON(dir string) ([]entry, error) {
	raw, err := os.ReadFile(filepath.Join(dir, "fio.json"))
	if err != nil {
		return nil, err
	}
	type count struct {
		N int64 `json:"N"`
	}
	type dirStats struct {
		Total int64 `json:"total_ios"`
		Slat  count `json:"slat_ns"`
		Clat  count `json:"clat_ns"`
		Lat   count `json:"lat_ns"`
	}
	doc, ok := lastDocument(raw)
	if !ok {
		return nil, errNoJSON
	}
	list := doc.Jobs
	if doc.Client != nil {
		list = doc.Client
	}
	var entries []entry
	for _, text := range list {
		var head struct {
			Job   string `json:"jobname"`
			Host  string `json:"hostname"`
			Port  int    `json:"port"`
			Group int    `json:"groupid"`
			Start int64  `json:"job_start"`
		}
		var stats map[string]json.RawMessage
		if err := errors.Join(json.Unmarshal(text, &head), json.Unmarshal(text, &stats)); err != nil {
			return nil, fmt.Errorf("fio.json: %w", err)
		}
		head.Job = cmp.Or(head.Job, "unnamed") // fiolat's name for such jobs
		e := entry{Job: head.Job, Host: head.Host, Port: head.Port, Group: head.Group, Start: head.Start,
			N: map[string]int64{}, Issued: map[string]int64{}, Slat: map[string]int64{}, Lat: map[string]int64{}}
		for _, d := range append(slices.Clone(directions), "mixed") {
			var s dirStats
			if stats[d] == nil {
				continue
			}
			if err := json.Unmarshal(stats[d], &s); err != nil {
				return nil, fmt.Errorf("fio.json: %s: %w", d, err)
			}
			if s.Total > 0 || s.Clat.N > 0 {
				e.N[d], e.Issued[d], e.Slat[d], e.Lat[d] = s.Clat.N, s.Total, s.Slat.N, s.Lat.N
			}
		}
		entries = append(entries, e)
	}
	if n := len(entries) - 1; doc.Client != nil && n > 0 && entries[n].Job == "All clients" &&
		entries[n].isSum(entries[:n]) {
		entries = entries[:n]
	}
	return entries, nil
}

// isSum reports whether an entry is the sum of others.
func (e entry) isSum(others []entry) bool {
	for d, n := range e.Issued {
		for _, o := range others {
			n -= o.Issued[d]
		}
		if n != 0 {
			return false
		}
	}
	return true
}

// A histLine is one record of a histogram log.
type histLine struct {
	stamp     int64
	direction int
	bins      []int64
}

// binCounts are the numbers of bins that fio 3 writes.
var binCounts = []int{1856, 928, 464, 232, 116, 58, 29}

func readHist(path string) ([]histLine, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var lines []histLine
	for i, text := range strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n") {
		if text == "" {
			continue
		}
		fields := strings.Split(text, ",")
		numbers := make([]int64, len(fields))
		for j, f := range fields {
			n, err := strconv.ParseInt(strings.TrimSpace(f), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
			}
			numbers[j] = n
		}
		if len(numbers) < 4 || !slices.Contains(binCounts, len(numbers)-3) || numbers[1] < 0 || numbers[1] > 2 {
			return nil, fmt.Errorf("%s:%d: %d fields", path, i+1, len(fields))
		}
		lines = append(lines, histLine{numbers[0], int(numbers[1]), numbers[3:]})
	}
	return lines, nil
}

func sum(bins []int64) (n int64) {
	for _, b := range bins {
		n += b
	}
	return n
}

// A point is the timestamp of a record in ms and its I/Os.
type point = [2]int64

// points returns a log's records per direction. viaClient repairs logs of fio --client, which subtracts records in
// place. ok is false if a count is negative.
func points(lines []histLine, viaClient bool) (all [3][]point, ok bool) {
	var before [3][][]int64
	for _, l := range lines {
		bins := slices.Clone(l.bins)
		d := l.direction
		if n := len(before[d]); viaClient && n >= 2 {
			for i, b := range before[d][n-2] {
				bins[i] -= b
			}
		}
		before[d] = append(before[d], l.bins)
		if slices.Min(bins) < 0 {
			return all, false
		}
		all[d] = append(all[d], point{l.stamp, sum(bins)})
	}
	return all, true
}

var (
	histName   = regexp.MustCompile(`_clat_hist(\.[0-9]+)?\.log`)
	singleName = regexp.MustCompile(`_(clat|slat|lat)(\.[0-9]+)?\.log`)
)

func makeTruth(dir string, f folder, starts map[string]int64) (*groundTruth, error) {
	t := &groundTruth{Version: f.ver, Mode: f.mode, Kind: f.c.Kind, Case: f.c.Name, About: f.c.About, Starts: starts,
		Random: f.c.Random}
	var err error
	switch t.Entries, err = readJSON(dir); {
	case errors.Is(err, errNoJSON) && f.c.Kind == hist:
		t.NoJSON = true
	case err != nil:
		return nil, err
	case len(t.Entries) == 0:
		return nil, errors.New("no job ran")
	}
	t.Grouped = f.c.has("group_reporting") || slices.Contains(f.c.Output, "--group_reporting") ||
		slices.ContainsFunc(f.c.Jobs, func(j []string) bool { return slices.Contains(j, "group_reporting=1") })
	t.Entries = slices.DeleteFunc(t.Entries, func(e entry) bool { return !f.c.logs(e.Job) })
	names, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	pattern := histName
	if f.c.Kind == single {
		pattern = singleName
	}
	for _, item := range names {
		if pattern.MatchString(item.Name()) {
			t.Logs = append(t.Logs, item.Name())
		}
	}
	if f.c.Kind == single {
		t.Averages = f.c.has("log_avg_msec")
		var back string
		if t.Lines, back, err = countLines(dir, t.Logs); err != nil {
			t.Note = strings.ReplaceAll(err.Error(), dir+"/", "")
		} else if back != "" && f.c.has("latency_target") && !f.c.has("per_job_logs") {
			t.Note = back // fio reset the clock during the run
		}
		t.Singles = map[string]map[string]int64{"clat": {}, "slat": {}, "lat": {}}
		for _, e := range t.Entries {
			for d := range e.N {
				t.Singles["clat"][d] += e.N[d]
				t.Singles["slat"][d] += e.Slat[d]
				t.Singles["lat"][d] += e.Lat[d]
			}
		}
		return t, nil
	}
	t.Logged, t.Fullest, t.Records = map[string]int64{}, map[string]int64{}, map[string][][2]int64{}
	threads := f.c.threads()
	started := t.started(threads)
	zero := int64(math.MaxInt64)
	for _, at := range started {
		zero = min(zero, at)
	}
	for _, name := range t.Logs {
		lines, err := readHist(filepath.Join(dir, name))
		if err != nil {
			t.Logged, t.Records, t.Note = nil, nil, strings.ReplaceAll(err.Error(), dir+"/", "")
			return t, nil
		}
		all, ok := points(lines, f.mode != alone)
		if !ok {
			t.Logged, t.Records, t.Note = nil, nil, name+": falls at lag 2"
			return t, nil
		}
		shift := int64(-1)
		if m := histName.FindStringSubmatch(name); m[1] != "" {
			if n, _ := strconv.Atoi(m[1][1:]); n >= 1 && n <= len(threads) {
				host := ""
				if f.mode == hosts || f.mode == client {
					_, host, _ = strings.Cut(name, ".log.")
				}
				if at, ok := started[[2]string{threads[n-1].job, host}]; ok {
					shift = at - zero
				}
			}
		}
		for i, d := range directions {
			fullest, before := int64(0), int64(-1)
			for _, p := range all[i] {
				t.Logged[d] += p[1]
				fullest = max(fullest, p[1])
				if p[0] < before {
					t.Note = name + ": time runs backwards"
				}
				before = p[0]
				if shift < 0 || t.Records == nil {
					t.Records = nil
					continue
				}
				at := p[0] + shift
				switch {
				case p[0] > 1e12: // since 1970
					at = p[0] - zero
				case p[0] > 1e5: // since boot
					at = -1
				}
				t.Records[d] = append(t.Records[d], point{at, p[1]})
			}
			t.Fullest[d] += fullest
		}
	}
	if t.NoJSON {
		t.Entries = []entry{{N: t.Logged, Issued: t.Logged}}
	}
	n, _ := t.totals()
	for d := range t.Records {
		if t.Logged[d] > n[d] && n["mixed"] == 0 { // fio --client left garbage in a record
			delete(t.Records, d)
		}
	}
	for _, list := range t.Records {
		sort.Slice(list, func(i, j int) bool { return list[i][0] < list[j][0] })
	}
	return t, nil
}

// countLines counts the lines of logs of single I/Os and says where time runs backwards. With log_window_value=both the
// direction is in the column after.
func countLines(dir string, logs []string) (lines map[string]map[string]int64, back string, err error) {
	lines = map[string]map[string]int64{}
	for _, name := range logs {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, "", err
		}
		kind := singleName.FindStringSubmatch(name)[1]
		if lines[kind] == nil {
			lines[kind] = map[string]int64{}
		}
		var before [3]int64
		for text := range strings.Lines(string(raw)) {
			fields := strings.Split(text, ",")
			d := -1
			if len(fields) >= 4 {
				if d, err = strconv.Atoi(strings.TrimSpace(fields[2])); err != nil || d > 2 {
					d, err = strconv.Atoi(strings.TrimSpace(fields[3]))
				}
			}
			if err != nil || d < 0 || d > 2 {
				return nil, "", fmt.Errorf("%s: no line of a log: %.20q", filepath.Join(dir, name), text)
			}
			lines[kind][directions[d]]++
			stamp, err := strconv.ParseInt(strings.TrimSpace(fields[0]), 10, 64)
			if err != nil {
				return nil, "", fmt.Errorf("%s: %w", filepath.Join(dir, name), err)
			}
			if stamp < before[d] {
				back = name + ": time runs backwards"
			}
			before[d] = stamp
		}
	}
	return lines, back, nil
}

// started returns when each host's jobs started, after the ramp, in ms since 1970: from fio's JSON, else from Starts.
func (t *groundTruth) started(threads []thread) map[[2]string]int64 {
	all := map[[2]string]int64{}
	for _, e := range t.Entries {
		for _, thread := range threads {
			key := [2]string{thread.job, e.Host}
			switch {
			case thread.job == e.Job && e.Start > 0:
				all[key] = e.Start
			case e.Start > 0 && thread.ramp > 0: // the entry of another job: this one's start after the ramp is unknown
			case all[key] == 0 && t.Starts[thread.job] > 0:
				all[key] = t.Starts[thread.job]/1e6 + thread.ramp
			}
		}
	}
	return all
}

// truthsAgain rewrites truth.json of all folders below out, keeping the starts recorded when fio ran.
func truthsAgain(out string) error {
	files, err := filepath.Glob(filepath.Join(out, "*", "truth.json"))
	if err != nil {
		return err
	}
	byName := map[string]testCase{}
	for _, c := range cases() {
		byName[string(c.Kind)+c.Name] = c
	}
	for _, file := range files {
		var t groundTruth
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err = json.Unmarshal(text, &t); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		c, ok := byName[string(t.Kind)+t.Case]
		var seed uint64
		var i int
		if n, _ := fmt.Sscanf(t.Case, "random%d-%d", &seed, &i); n == 2 {
			c, ok = randomCases(seed, i+1)[i], true
		}
		if !ok {
			return fmt.Errorf("%s: no case is named %s", file, t.Case)
		}
		err = writeTruth(filepath.Dir(file), folder{c: c, mode: t.Mode, ver: t.Version}, t.Starts)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func writeTruth(dir string, f folder, starts map[string]int64) error {
	t, err := makeTruth(dir, f, starts)
	if err != nil {
		return err
	}
	encoded, err := json.Marshal(t)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "truth.json"), encoded, 0o644)
}

// totals returns fio's numbers of completed and issued I/Os per direction.
func (t *groundTruth) totals() (n, issued map[string]int64) {
	n, issued = map[string]int64{}, map[string]int64{}
	for _, e := range t.Entries {
		for d := range e.N {
			n[d] += e.N[d]
			issued[d] += e.Issued[d]
		}
	}
	return n, issued
}
