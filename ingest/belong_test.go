package ingest

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fiolat/fio/fiohist"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
)

// TestFacts: a stronger fact beats all weaker ones, and facts that two documents share leave both.
func TestFacts(t *testing.T) {
	job := func(name, log, host string) fiojson.Entry {
		return fiojson.Entry{JobName: name, Host: host, Options: jobfile.Options{"write_hist_log": log}}
	}
	for name, c := range map[string]struct {
		place
		log  string
		docs []*fiojson.Document
		want []string
		why  facts
	}{
		"path before host": {above, "run/deep/h_clat_hist.1.log.n1", []*fiojson.Document{
			doc("run/n1.json", job("a", "h", "n1")), doc("run/x.json", job("a", "deep/h", "n1"))},
			[]string{"run/x.json"}, writesPath},
		"host before folder": {above, "run/a/h_clat_hist.1.log.n1", []*fiojson.Document{
			doc("run/a.json", job("a", "h", "")), doc("run/x.json", job("b", "h", "n1.example.com"))},
			[]string{"run/x.json"}, ofHost},
		"folder before name": {above, "run/a/h_clat_hist.1.log", []*fiojson.Document{
			doc("run/x.json", job("b", "h", "")), doc("run/y.json", job("a", "h", ""))},
			[]string{"run/y.json"}, ofFolder},
		"a folder without the name is none": {above, "run/a/h_clat_hist.1.log", []*fiojson.Document{
			doc("run/x.json", job("b", "h", "")), doc("run/y.json", job("a", "k", ""))},
			[]string{"run/x.json"}, writesName},
		"name before the file's": {within, "h_clat_hist.1.log", []*fiojson.Document{
			doc("json_h.json", job("a", "k", "")), doc("x.json", job("b", "h", ""))}, []string{"x.json"}, writesName},
		"the file's name decides between equals": {within, "output.0_clat_hist.1.log.n1", []*fiojson.Document{
			doc("output.0.n1", job("a", "output.0", "")), doc("output.1.n1", job("a", "output.0", ""))},
			[]string{"output.0.n1"}, ofHost},
		"equal": {within, "h_clat_hist.1.log", []*fiojson.Document{doc("x.json", job("a", "h", "")),
			doc("y.json", job("b", "h", ""))}, []string{"x.json", "y.json"}, writesName},
		"no host, a file without a name": {within, "h_clat_hist.1.log", []*fiojson.Document{
			doc(".json", job("a", "h", "")), doc("x.json", job("b", "h", ""))}, []string{".json", "x.json"},
			writesName},
		"the only one": {within, "h_clat_hist.1.log", []*fiojson.Document{doc("x.json", job("a", "k", ""))},
			[]string{"x.json"}, 0},
		"the only one above": {above, "a/h_clat_hist.1.log", []*fiojson.Document{doc("x.json", job("a", "k", ""))},
			nil, 0},
		"above, of another host": {above, "a/h_clat_hist.1.log.n1", []*fiojson.Document{
			doc("x.json", job("a", "h", "n2"))}, nil, 0},
		"beside other logs only by its path": {aboveLogs, "a/h_clat_hist.1.log", []*fiojson.Document{
			doc("x.json", job("a", "h", "")), doc("y.json", job("a", "a/h", ""))}, []string{"y.json"}, writesPath},
		"beyond the path, a host without its own": {beyond, "a/h_clat_hist.1.log.n1", []*fiojson.Document{
			doc("x.json", job("a", "h", ""))}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			l := input(c.log).Logs[0]
			fit, why := newShelf(c.place, "", c.docs).find(l, l.Host)
			if got := paths(fit); fmt.Sprint(got) != fmt.Sprint(c.want) || why != c.why {
				t.Errorf("%v by %b, want %v by %b", got, why, c.want, c.why)
			}
		})
	}
}

// TestReadOnce: what was counted of a log is kept, but not for a part of it.
func TestReadOnce(t *testing.T) {
	l := &Log{Source: &Source{Path: "testdata/accounted/none"}}
	if _, err := l.sums(); err == nil {
		t.Fatal("read")
	}
	kept := l.Source.counts
	if _, err := l.sums(); err == nil || l.Source.counts != kept {
		t.Error("read twice")
	}
}

// TestCountsDecide: of runs that wrote logs of one name, each has those that its counts fit, whatever files and folders
// are called.
func TestCountsDecide(t *testing.T) {
	g := fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}
	for name, c := range map[string]struct {
		docs []string       // files of the first run's JSON, and of the second's
		logs map[string]int // folders of logs, and the run that wrote them
	}{
		"appended above": {[]string{"all.json", "all.json"},
			map[string]int{"run1": 0, "run2": 1}},
		"overwritten, named after the first": {[]string{"h.json", "h-2.json"}, map[string]int{".": 1}},
		"above, named after the first":       {[]string{"h.json", "h-2.json"}, map[string]int{"logs": 1}},
		"in a folder below that is named after a first": {[]string{"first.json", "second.json"},
			map[string]int{"first": 1}},
		"in a folder that is named after a first": {[]string{"a/a.json", "a/b.json"}, map[string]int{"a": 1}},
		"in a folder beside that above the logs": {[]string{"results/run1.json", "results/run2.json"},
			map[string]int{"logs/run1": 0, "logs/run2": 1}},
		"not overwritten": {[]string{"h.json", "h-2.json"}, map[string]int{".": 0}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, docs := t.TempDir(), map[string]string{}
			for i, path := range c.docs {
				docs[path] += fmt.Sprintf(`{
					"fio version":"fio-3.36",
					"timestamp_ms":1700%[1]d00000000,"jobs":[{"jobname":"h",
					"job options":{"write_hist_log":"h"},"job_runtime":1000,
					"read":{"runtime":1000,"total_ios":%[2]d,"clat_ns":{"N":%[2]d,"bins":{"%[3]d":%[2]d}}}}]}
`, i, 2-i, []int{129, 502}[i])
			}
			for path, text := range docs {
				write(t, dir, path, text)
			}
			for path, i := range c.logs {
				counts := slices.Repeat([]string{"0"}, g.Columns())
				counts[g.Index([]int64{129, 502}[i])] = strconv.Itoa(2 - i)
				write(t, dir, path+"/h_clat_hist.1.log", "1000, 0, 4096, "+strings.Join(counts, ", ")+"\n")
			}
			ins, err := Discover([]string{dir}, DiscoverOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int{}
			for _, in := range ins {
				for _, run := range in.Split() {
					logs, _, err := Match(run)
					if err != nil {
						t.Fatal(err)
					}
					for _, l := range logs {
						folder, _ := filepath.Rel(dir, filepath.Dir(l.Source.Path))
						if l.Meta != nil {
							got[folder] = int(l.Meta.TimestampMS / 1e8 % 10)
						}
					}
				}
			}
			if !maps.Equal(got, c.logs) {
				t.Errorf("runs of the logs: %v, want %v", got, c.logs)
			}
		})
	}
}

// TestShelves: documents that were named are put on one shelf for the logs of all folders.
func TestShelves(t *testing.T) {
	in := input("a/h_clat_hist.1.log b/h_clat_hist.1.log", doc("a/x.json"),
		doc("b/y.json", fiojson.Entry{JobName: "b"}))
	in.metasGiven = true
	shelf := (&matcher{in: in}).shelves()
	if a := shelf("a", true); a == nil || a != shelf("b", true) || len(a.docs) != 2 {
		t.Errorf("%+v", a)
	}
	if own := shelf("a", false); own == nil || len(own.docs) != 1 || shelf("c", false) != nil {
		t.Errorf("%+v", own)
	}
}

// TestFarther: JSON in a folder beside that above the logs is theirs only where its counts are theirs but for the last
// window, whatever write_hist_log and its name say.
func TestFarther(t *testing.T) {
	t.Parallel()
	g := fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}
	entry := func(n, ns int, more string) string {
		return fmt.Sprintf(`{"jobname":"a","job options":{"write_hist_log":"logs/r/h"%s},"job_runtime":3000,`+
			`"read":{"runtime":3000,"total_ios":%[2]d,"clat_ns":{"N":%[2]d,"bins":{"%[3]d":%[2]d}}},"write":%[4]s}`,
			more, n, ns, `{"runtime":0}`)
	}
	fio := func(at int, entries ...string) string {
		return fmt.Sprintf(`{"fio version":"fio-3.36","timestamp_ms":170000%d000000,"jobs":[%s]}`, at,
			strings.Join(entries, ","))
	}
	writes := func(s string) string {
		return strings.Replace(s, `{"runtime":0}`,
			`{"runtime":3000,"total_ios":50,"clat_ns":{"N":50,"bins":{"129":50}}}`, 1)
	}
	for name, c := range map[string]struct {
		log, json string
		reads     int // in the log, of 129 ns
		owned     bool
		earlier   int // documents of other runs in the file
	}{
		"all but the last window":      {"h_clat_hist.1.log", fio(1, entry(50, 129, "")), 40, true, 0},
		"of a longer run":              {"h_clat_hist.1.log", fio(1, entry(500, 129, "")), 40, false, 0},
		"other latencies":              {"h_clat_hist.1.log", fio(1, entry(50, 502, "")), 40, false, 0},
		"too few":                      {"h_clat_hist.1.log", fio(1, entry(30, 129, "")), 40, false, 0},
		"a direction that is not here": {"h_clat_hist.1.log", fio(1, writes(entry(50, 129, ""))), 40, false, 0},
		"reads that verify": {"h_clat_hist.1.log", fio(1, strings.NewReplacer(`"read":`, `"write":`, `"write":`,
			`"read":`).Replace(writes(entry(50, 129, `,"verify":"crc32c"`)))), 0, true, 0},
		"two threads in one file": {"h_clat_hist.log", fio(1, entry(30, 129, ""), entry(30, 129, "")), 40, true, 0},
		"two threads with too few": {"h_clat_hist.log", fio(1, entry(15, 129, ""), entry(15, 129, "")), 40, false,
			0},
		"a second run in the file": {"h_clat_hist.1.log", fio(1, entry(50, 129, "")) + "\n" + strings.Replace(
			fio(2, entry(50, 502, "")), `"a"`, `"b"`, 1), 40,
			true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "results/r.json", c.json)
			counts, line := slices.Repeat([]string{"0"}, g.Columns()), "1000, 0, 4096, "
			counts[g.Index(129)] = strconv.Itoa(c.reads)
			if c.reads == 0 {
				counts[g.Index(129)], line = "40", "1000, 1, 4096, "
			}
			write(t, dir, "logs/r/"+c.log, line+strings.Join(counts, ", ")+"\n")
			ins, err := Discover([]string{dir}, DiscoverOptions{LogsOnly: true})
			if err != nil || len(ins) != 1 {
				t.Fatal(len(ins), err)
			}
			if owned := len(ins[0].Metas) > 0; owned != c.owned || len(ins[0].overwritten) != c.earlier {
				t.Errorf("owned %t, %d earlier; want %t, %d", owned, len(ins[0].overwritten), c.owned, c.earlier)
			}
		})
	}
}

// lines are records of reads of one latency: the stamp and the number of each.
func lines(ns int, records ...[2]int) string {
	g, out := fiohist.Geometry{Groups: fiohist.GroupsV3, Unit: 1}, ""
	for _, r := range records {
		counts := slices.Repeat([]string{"0"}, g.Columns())
		counts[g.Index(int64(ns))] = strconv.Itoa(r[1])
		out += fmt.Sprintf("%d, 0, 4096, %s\n", r[0], strings.Join(counts, ", "))
	}
	return out
}

// TestFartherCounts: what a log holds is compared with what fio's JSON counts of it.
func TestFartherCounts(t *testing.T) {
	t.Parallel()
	entry := func(n int, more string) string {
		return fmt.Sprintf(`{"jobname":"a","job options":{"write_hist_log":"logs/r/h"%s},"job_runtime":3000,
			"read":{"runtime":3000,"total_ios":%[2]d,"clat_ns":{"N":%[2]d,"bins":{"129":%[2]d}}}}`, more, n)
	}
	mixed := func(n int) string { return strings.Replace(entry(n, ""), "read", "mixed", 1) }
	remote := func(n int) string {
		e := strings.Replace(entry(n, ""), `"jobname"`, `"hostname":"h1","port":8765,"jobname"`, 1)
		return e + "," + strings.NewReplacer(`"a"`, `"b"`, "read", "write").Replace(e)
	}
	const clock = `,"log_alternate_epoch":"1","log_alternate_epoch_clock_id":"1"`
	one, late := lines(129, [2]int{1000, 40}), lines(129, [2]int{5_000_000, 20}, [2]int{5_001_000, 20})
	// Over --client a record holds that two before it, too: these are 20 + 15 I/Os of each.
	reads := lines(129, [2]int{250, 5}, [2]int{500, 5}, [2]int{750, 10}, [2]int{1000, 10}, [2]int{1250, 15},
		[2]int{1500, 15}, [2]int{1750, 20})
	twice := reads + strings.ReplaceAll(reads, ", 0, 4096,", ", 1, 4096,")
	for name, c := range map[string]struct {
		log, text, jobs string
		owned           bool
	}{
		"all directions together":                   {"h_clat_hist.1.log", one, mixed(50), true},
		"all directions together, too few":          {"h_clat_hist.1.log", one, mixed(30), false},
		"all directions together, of a longer run":  {"h_clat_hist.1.log", one, mixed(500), false},
		"another clock":                             {"h_clat_hist.1.log", late, entry(50, clock), true},
		"another clock, too few":                    {"h_clat_hist.1.log", late, entry(30, clock), false},
		"stamps behind the end":                     {"h_clat_hist.1.log", late, entry(50, ""), false},
		"threads of a client in one file":           {"h_clat_hist.log.h1", twice, remote(38), true},
		"threads of a client in one file, too few":  {"h_clat_hist.log.h1", twice, remote(34), false},
		"threads of a client in one file, a longer": {"h_clat_hist.log.h1", twice, remote(400), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "logs/r/"+c.log, c.text)
			jobs := "jobs"
			if strings.Contains(c.jobs, "hostname") {
				jobs = "client_stats"
			}
			write(t, dir, "results/r.json", fmt.Sprintf(
				`{"fio version":"fio-3.42","timestamp_ms":1700000000000,%q:[%s]}`, jobs, c.jobs))
			ins, err := Discover([]string{dir}, DiscoverOptions{LogsOnly: true})
			if err != nil || len(ins) != 1 {
				t.Fatal(len(ins), err)
			}
			if owned := len(ins[0].Metas) > 0; owned != c.owned {
				t.Errorf("owned %t, want %t", owned, c.owned)
			}
		})
	}
}

// TestJSONApart: fio's JSON in folders of its own, below one that is searched or given beside that of the logs.
func TestJSONApart(t *testing.T) {
	t.Parallel()
	ran := func(at int, n129, n502 int) string {
		return fmt.Sprintf(`{"fio version":"fio-3.42","timestamp_ms":%d,"jobs":[{"jobname":"a",
			"job options":{"write_hist_log":"h","log_hist_msec":"1000"},"job_runtime":3000,
			"read":{"runtime":3000,"total_ios":%d,
			"clat_ns":{"N":%[2]d,"bins":{"129":%[3]d,"502":%d}}}}]}`, 1_700_000_000_000+at, n129+n502, n129, n502)
	}
	log := func(n129, n502 int) string { return lines(129, [2]int{1000, n129}) + lines(502, [2]int{2000, n502}) }
	const h, together, later = "/h_clat_hist.1.log", 0, 100_000
	for name, c := range map[string]struct {
		files map[string]string
		paths []string
		want  string
	}{
		"given, named after the folder": {map[string]string{"logs/r1" + h: log(40, 20), "logs/r2" + h: log(20, 40),
			"results/r1.json": ran(together, 45, 21), "results/r2.json": ran(later, 22, 44)},
			[]string{"logs", "results"}, "logs/r1: h_clat_hist.1.log json=../../results/r1.json\n" +
				"logs/r2: h_clat_hist.1.log json=../../results/r2.json"},
		"given, in another order": {map[string]string{"logs" + h: log(40, 20), "results/x.json": ran(together, 45, 21)},
			[]string{"results", "logs"}, "logs: h_clat_hist.1.log json=../results/x.json"},
		"given, by counts": {map[string]string{"logs" + h: log(40, 20), "results/x.json": ran(together, 45, 21),
			"results/y.json": ran(later, 20, 45)}, []string{"logs", "results"},
			"logs: h_clat_hist.1.log json=../results/x.json\nresults/y.json: . json=."},
		"given, two may count it": {map[string]string{"logs" + h: log(40, 20), "results/x.json": ran(together, 45, 21),
			"results/y.json": ran(together, 41, 25)}, []string{"logs", "results"},
			"logs: h_clat_hist.1.log not=x.json not=y.json"},
		"given, only one latency": {map[string]string{"logs" + h: log(60, 0), "results/x.json": ran(together, 66, 0)},
			[]string{"logs", "results"}, "logs: h_clat_hist.1.log not=x.json"},
		"given, few I/Os": {map[string]string{"logs" + h: log(10, 5), "results/x.json": ran(together, 11, 5)},
			[]string{"logs", "results"}, "logs: h_clat_hist.1.log not=x.json"},
		"given, of a longer run": {map[string]string{"logs" + h: log(40, 20), "results/x.json": ran(together, 140, 70)},
			[]string{"logs", "results"}, "logs: h_clat_hist.1.log\nresults: x.json json=x.json"},
		"two folders": {map[string]string{"l/p" + h: log(40, 20), "l/q/h_clat_hist.2.log": log(35, 20),
			"r/s/x.json": ran(together, 45, 21)}, []string{"."},
			"l/p: h_clat_hist.1.log not=x.json\nl/q: h_clat_hist.2.log not=x.json"},
		"one of two runs without JSON": {map[string]string{"logs/r1" + h: log(40, 20), "logs/r2" + h: log(38, 19),
			"results/s/r1.json": ran(together, 45, 21)}, []string{"."},
			"logs/r1: h_clat_hist.1.log json=../../results/s/r1.json\nlogs/r2: h_clat_hist.1.log"},
		"given, and a copy": {map[string]string{"logs" + h: log(40, 20), "results/x.json": ran(together, 45, 21),
			"backup/x.json": ran(together, 45, 21)}, []string{"logs", "results", "backup"},
			"logs: h_clat_hist.1.log json=../results/x.json"},
		"clients": {map[string]string{"clients/h1" + h: log(40, 20), "clients/h2" + h: log(20, 40),
			"json/h1.json": ran(together, 45, 21), "json/h2.json": ran(together, 22, 44)}, []string{"."},
			".: clients/h1/h_clat_hist.1.log@h1 clients/h2/h_clat_hist.1.log@h2 json=json/h1.json json=json/h2.json"},
		"clients, another's": {map[string]string{"clients/h1" + h: log(40, 20), "clients/h2" + h: log(20, 40),
			"json/h2.json": ran(together, 45, 21), "json/h1.json": ran(together, 22, 44)}, []string{"."},
			".: clients/h1/h_clat_hist.1.log@h1 clients/h2/h_clat_hist.1.log@h2 not=h1.json not=h2.json"},
		"hosts": {map[string]string{"logs/h1" + h: log(40, 20), "logs/h2" + h: log(20, 40),
			"json/h1.json": ran(together, 45, 21), "json/h2.json": ran(together, 22, 44)}, []string{"."},
			"logs: h1/h_clat_hist.1.log@h1 h2/h_clat_hist.1.log@h2 json=../json/h1.json json=../json/h2.json"},
		"hosts, one with JSON of its own": {map[string]string{"logs/h1" + h: log(40, 20), "logs/h2" + h: log(20, 40),
			"json/h1.json": ran(together, 45, 21), "logs/h2/x.json": ran(together, 22, 44)}, []string{"."},
			"logs: h1/h_clat_hist.1.log@h1 h2/h_clat_hist.1.log@h2 json=../json/h1.json json=h2/x.json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for path, text := range c.files {
				write(t, dir, path, text)
			}
			var paths []string
			for _, path := range c.paths {
				paths = append(paths, filepath.Join(dir, path))
			}
			ins, err := Discover(paths, DiscoverOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var runs []string
			for i, in := range ins {
				text := described(ins[i:i+1], dir)
				for _, m := range in.unused {
					text += " not=" + filepath.Base(m.Path)
				}
				runs = append(runs, text)
			}
			if got := strings.Join(runs, "\n"); got != c.want {
				t.Errorf("%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// TestIsWhole: a document that counts all of a log by itself, and those of which that is not known.
func TestIsWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "h_clat_hist.1.log", lines(129, [2]int{1000, 40})+lines(502, [2]int{2000, 20}))
	const ran = `{"fio version":"fio-3.42","timestamp_ms":1700000000000,"jobs":[{"jobname":"a",
		"job options":{"write_hist_log":"h","log_hist_msec":"1000"},"job_runtime":3000,"read":{"runtime":3000,
		"total_ios":66,"clat_ns":{"N":66,"bins":{"129":45,"502":21}}}}]}`
	for name, c := range map[string]struct {
		edits []string
		want  bool
	}{
		"the last window is missing":   {nil, true},
		"one more I/O than is counted": {[]string{"66", "65", `"502":21`, `"502":20`, `"129":45`, `"129":39`}, false},
		"more than half is missing":    {[]string{"66", "130", `"129":45`, `"129":109`}, false},
		"more than two windows":        {[]string{"3000", "5000"}, false},
		"too many for the last window": {[]string{"3000", "2900", "1000", "100", "66", "75", "45", "54"}, false},
		"of a group":                   {[]string{`"job_runtime":3000`, `"job_runtime":6000`}, false},
		"on a host": {[]string{`"jobname"`, `"hostname":"x","jobname"`, "jobs", "client_stats"},
			false},
		"without bins":            {[]string{`,"bins":{"129":45,"502":21}`, `,"mean":250`}, false},
		"verified":                {[]string{`"log_hist_msec"`, `"verify":"md5","log_hist_msec"`}, false},
		"all directions together": {[]string{`"read"`, `"mixed"`}, false},
		"another log's":           {[]string{`"h"`, `"g"`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := fiojson.Parse(strings.NewReader(strings.NewReplacer(c.edits...).Replace(ran)), dir+"/fio.json")
			if err != nil {
				t.Fatal(err)
			}
			placeJobs(m)
			name, _ := parseName("h_clat_hist.1.log")
			l := &Source{Path: dir + "/h_clat_hist.1.log", Base: "h_clat_hist.1.log", Name: name}
			if got := isWhole(l, m); got != c.want {
				t.Errorf("%t, want %t", got, c.want)
			}
		})
	}
}

// TestTogether: of the folders given, those are searched at once of which one has the JSON of another's logs.
func TestTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := lines(129, [2]int{1000, 40}) + lines(502, [2]int{2000, 20})
	const ran = `{"fio version":"fio-3.42","timestamp_ms":1700000000000,"jobs":[{"jobname":"a",
		"job options":{"write_hist_log":"h","log_hist_msec":"1000"},"job_runtime":3000,
		"read":{"runtime":3000,"total_ios":66,
		"clat_ns":{"N":66,"bins":{"129":45,"502":21}}}}]}`
	for path, text := range map[string]string{"logs/h_clat_hist.1.log": log, "json/a.json": ran, "none/a.json": "{}",
		"other/h_clat_hist.1.log": lines(129, [2]int{1000, 90}),
		"longer/a.json":           strings.NewReplacer("66", "660", "45", "450", "21", "210").Replace(ran)} {
		write(t, dir, path, text)
	}
	for _, c := range [][2]string{
		{"logs json", "logs json"}, {"json logs none", "json logs"}, {"other json", ""}, {"logs longer", ""},
		{"logs other json", "logs json"}, {"logs other", ""}, {"json none", ""},
	} {
		var folders, got []string
		for _, name := range strings.Fields(c[0]) {
			folders = append(folders, filepath.Join(dir, name))
		}
		for _, folder := range Together(folders, DiscoverOptions{LogsOnly: true}) {
			got = append(got, filepath.Base(folder))
		}
		if strings.Join(got, " ") != c[1] {
			t.Errorf("%s: %q, want %q", c[0], got, c[1])
		}
	}
}
