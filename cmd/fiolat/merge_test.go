package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
	"fiolat/pipeline/pipelinetest"
)

// documentsIn returns the documents of an index that are of a run, by id.
func documentsIn(t *testing.T, es, index, run string) map[string]map[string]any {
	t.Helper()
	c, err := client.New(client.Config{Addresses: []string{es}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// Documents of runs are found a second after they were written, or at once:
	if err := c.Call(t.Context(), client.Request{Op: "refresh", Method: "POST", Path: "/" + index + "/_refresh"},
		nil); err != nil {
		t.Fatal(err)
	}
	docs := map[string]map[string]any{}
	_, err = client.Search(t.Context(), c, client.SearchRequest{Index: index,
		Query: map[string]any{"term": map[string]any{"run.id": run}}}, func(h client.Hit) error {
		var doc map[string]any
		docs[h.ID] = doc
		err := json.Unmarshal(h.Source, &doc)
		docs[h.ID] = doc
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func object(doc map[string]any, name string) map[string]any {
	o, _ := doc[name].(map[string]any)
	return o
}

// acrossHosts are the percentile documents that a merge is to make, by what they
// are of, without what names the run.
func acrossHosts(t *testing.T, es, prefix, run string) map[string]map[string]any {
	t.Helper()
	out := map[string]map[string]any{}
	for _, doc := range documentsIn(t, es, prefix+"-percentiles-*", run) {
		scope := fmt.Sprint(doc["scope"])
		if strings.Contains(scope, "host") {
			continue
		}
		if object(doc, "run")["part"] != nil {
			t.Fatalf("a part has the scope %s", scope)
		}
		delete(doc, "run")
		out[fmt.Sprint(doc["@timestamp"], scope, object(doc, "fio"))] = doc
	}
	return out
}

// ownDocument is the document of a run, without what names the run and what is
// about documents and warnings, of which parts have their own.
func ownDocument(t *testing.T, es, prefix, run string) map[string]any {
	t.Helper()
	for _, doc := range documentsIn(t, es, prefix+"-run", run) {
		r := object(doc, "run")
		if r["part"] != nil {
			continue
		}
		delete(r, "id")
		delete(r, "generation")
		delete(doc, "parts")
		delete(object(doc, "account"), "documents")
		delete(object(doc, "account"), "warnings")
		// What is stored does not tell the iodepth of each log.
		diagnosis := object(doc, "diagnosis")
		diagnosis["more"] = slices.DeleteFunc(diagnosis["more"].([]any), func(f any) bool {
			return f.(map[string]any)["about"] == "concurrency"
		})
		return doc
	}
	t.Fatalf("run %s has no document", run)
	return nil
}

func sameDocuments(t *testing.T, got, want map[string]map[string]any) {
	t.Helper()
	if len(got) != len(want) || len(want) == 0 {
		t.Errorf("%d documents, want %d", len(got), len(want))
	}
	for key, doc := range want {
		if !reflect.DeepEqual(got[key], doc) {
			t.Fatalf("%s:\n%v\nwant\n%v", key, got[key], doc)
		}
	}
}

// parted are folders of logs for each part, and one of all of them.
type parted struct {
	parts map[string]string
	whole string
	flags []string
}

func copyFile(t *testing.T, from string, to ...string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range to {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, b, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// partedRuns are real runs in two disjoint halves: one of fio --client, damaged
// logs and a JSON that tells of both hosts; one of logs whose names are given
// hosts, with their own lengths, jobs and directions; one of slow and hung devices,
// whose last windows are restored from each host's JSON, with rows until their jobs end; one in which a host of
// each half stood still at the same time; and one of logs that name no host.
func partedRuns(t *testing.T) map[string]parted {
	cluster := parted{parts: map[string]string{}, whole: real + "/cluster"}
	for _, host := range []string{"127.0.0.1", "127.0.0.2"} {
		dir := t.TempDir()
		cluster.parts[host] = dir
		copyFile(t, real+"/cluster/fio.json", dir+"/fio.json")
		for n := 1; n <= 2; n++ {
			name := fmt.Sprintf("cluster_clat_hist.%d.log.%s", n, host)
			copyFile(t, real+"/cluster/"+name, dir+"/"+name)
		}
	}
	renamed := parted{parts: map[string]string{}, whole: t.TempDir(), flags: []string{"--by", "direction,host,job",
		"--interval", "2s", "--percentiles", "1,50,99.99"}}
	for log, host := range map[string]string{
		"randrw/randrw_clat_hist.1.log": "n3", "randrw/randrw_clat_hist.2.log": "n1",
		"randrw/randrw_clat_hist.3.log": "n4",
		"slow/slow_clat_hist.1.log":     "n2", "exact/exact_clat_hist.1.log": "n1", "exact/exact_clat_hist.2.log": "n3",
		"trim/trim_clat_hist.1.log": "n4",
	} {
		part := map[string]string{"n1": "left", "n3": "left", "n2": "right", "n4": "right"}[host]
		if renamed.parts[part] == "" {
			renamed.parts[part] = t.TempDir()
		}
		name := filepath.Base(log) + "." + host
		copyFile(t, real+"/"+log, renamed.parts[part]+"/"+name, renamed.whole+"/"+name)
	}
	slow := parted{parts: map[string]string{}, whole: t.TempDir()}
	for host, name := range map[string]string{"n1": "01-false-head-late", "n2": "23-group-tail-shares"} {
		dir := t.TempDir()
		slow.parts[host] = dir
		json, err := pipelinetest.Unpacked(cases + name + "/fio.json.gz")
		if err != nil {
			t.Fatal(err)
		}
		json = regexp.MustCompile(`"timestamp_ms" : \d+`).ReplaceAll(json, []byte(`"timestamp_ms" : 1790000000000`))
		logs, err := filepath.Glob(cases + name + "/*.log.gz")
		if err != nil || len(logs) == 0 {
			t.Fatal(logs, err)
		}
		for _, to := range []string{dir, slow.whole} {
			if err := os.WriteFile(filepath.Join(to, "fio."+host+".json"), json, 0o600); err != nil {
				t.Fatal(err)
			}
			for _, log := range logs {
				base := strings.TrimSuffix(filepath.Base(log), ".gz")
				copyFile(t, log, filepath.Join(to, base+"."+host+".gz"))
			}
		}
	}
	stopped := parted{parts: map[string]string{"a": t.TempDir(), "b": t.TempDir()}, whole: t.TempDir()}
	for host, part := range map[string]string{"osd1": "a", "osd2": "a", "osd3": "b", "osd11": "b"} {
		name := "s_clat_hist.1.log." + host + ".zst"
		copyFile(t, "../../analysis/diagnose/testdata/three-stopped/"+name, filepath.Join(stopped.parts[part], name),
			filepath.Join(stopped.whole, name))
	}
	plain := parted{parts: map[string]string{}, whole: t.TempDir(), flags: []string{"--hosts-by", "folder",
		"--log-hist-msec", "1000"}}
	for host, log := range map[string]string{"n1": "cluster/cluster_clat_hist.1.log.127.0.0.1",
		"n2": "cluster/cluster_clat_hist.2.log.127.0.0.2"} {
		plain.parts[host] = t.TempDir()
		copyFile(t, real+"/"+log, plain.parts[host]+"/a_clat_hist.1.log", plain.whole+"/"+host+"/a_clat_hist.1.log")
	}
	return map[string]parted{"cluster": cluster, "renamed": renamed, "slow": slow, "stopped": stopped, "plain": plain}
}

// cases are the logs of slow devices.
const cases = "../../pipeline/plan/testdata/cases/"

// must runs fiolat and wants it to succeed.
func must(t *testing.T, args ...string) {
	t.Helper()
	if code, _, stderr := fiolat(t, nil, args...); code != exitOK {
		t.Fatalf("fiolat %q: exit %d\n%s", args, code, stderr)
	}
}

// refused runs fiolat and wants it to say why not.
func refused(t *testing.T, code int, want []string, args ...string) {
	t.Helper()
	got, _, stderr := fiolat(t, nil, args...)
	for _, w := range want {
		if got != code || !strings.Contains(stderr, w) {
			t.Errorf("fiolat %q: exit %d, want %d and %q in\n%s", args, got, code, w, stderr)
		}
	}
}

// mergeParts is what merge guarantees, against any Elasticsearch.
func mergeParts(t *testing.T, es, prefix string, run parted) {
	common := []string{"--es", es, "--index-prefix", prefix}
	ingest := func(id, part, dir string, more ...string) []string {
		args := append([]string{"ingest", "--start", "2026-10-31T23:59:50Z", "--grid", "epoch", "--sla",
			"all p50 < 300us", "--sla", "read p90 < 1ms for 2 intervals", "--run-name", "n", "--run-id", id, "--part",
			part}, run.flags...)
		return append(append(append(args, more...), common...), dir)
	}
	merge := append([]string{"merge", "R"}, common...)
	refused(t, exitInput, []string{`run "R"`, "there is no such run"}, merge...)

	names := slices.Sorted(maps.Keys(run.parts))
	must(t, ingest("R", names[0], run.parts[names[0]])...)
	refused(t, exitInput, []string{"1 complete parts", "--parts wants 2", names[0]}, append(merge, "--parts", "2")...)
	must(t, merge...)
	half := acrossHosts(t, es, prefix, "R")

	// All of it, at the same time, and again what is there already.
	var all sync.WaitGroup
	jobs := [][]string{ingest("W", "", run.whole)}
	for name, dir := range run.parts {
		jobs = append(jobs, ingest("R", name, dir))
	}
	for _, args := range jobs {
		all.Go(func() {
			if code, _, stderr := fiolat(t, nil, args...); code != exitOK {
				t.Errorf("fiolat %q: exit %d\n%s", args, code, stderr)
			}
		})
	}
	all.Wait()
	must(t, append(merge, "--parts", "2")...)
	merged := acrossHosts(t, es, prefix, "R")
	rounded := func(id string) map[string]map[string]any {
		docs := acrossHosts(t, es, prefix, id)
		for _, doc := range docs {
			exactOnly(doc)
		}
		docs["run"] = ownDocument(t, es, prefix, id)
		delete(object(docs["run"], "run"), "title") // has the id
		return docs
	}
	nearDocs(t, rounded("R"), rounded("W"))
	if len(half) == 0 || reflect.DeepEqual(half, merged) {
		t.Errorf("the first half alone is %d documents, all are %d", len(half), len(merged))
	}

	// Again: not a byte changes.
	before := [2]any{documentsIn(t, es, prefix+"-percentiles-*", "R"), documentsIn(t, es, prefix+"-run", "R")}
	must(t, append(merge, "--workers", "1")...)
	if after := [2]any{documentsIn(t, es, prefix+"-percentiles-*", "R"), documentsIn(t, es, prefix+"-run",
		"R")}; !reflect.DeepEqual(before, after) {
		t.Error("the second merge changed documents")
	}

	// Other percentiles are another generation, and only that stays.
	must(t, append(merge, "--percentiles", "75")...)
	other := acrossHosts(t, es, prefix, "R")
	if len(other) != len(merged) {
		t.Errorf("%d documents with other percentiles, want %d", len(other), len(merged))
	}
	for key, doc := range other {
		if l := object(doc, "latency"); l != nil && (l["p75"] == nil || l["p50"] != nil) {
			t.Fatalf("%s: %v", key, l)
		}
	}

	// A part that was ingested again with other settings does not fit; merged as it
	// was before, the rest stands.
	must(t, ingest("R", names[1], run.parts[names[1]], "--interval", "3s")...)
	refused(t, exitInput, []string{fmt.Sprintf("part %q", names[1]), "3000 ms", "--interval"}, merge...)
	sameDocuments(t, acrossHosts(t, es, prefix, "R"), other)
	must(t, ingest("R", names[1], run.parts[names[1]])...)
	for _, command := range []string{"runs", "summary"} {
		args := append([]string{command}, common...)
		if command == "summary" {
			args = append(args, "R")
		}
		refused(t, exitOK, []string{"merge it again"}, args...)
		must(t, merge...)
		if code, _, stderr := fiolat(t, nil, args...); code != exitOK || strings.Contains(stderr, "merge it again") {
			t.Errorf("%s after the merge: exit %d\n%s", command, code, stderr)
		}
		must(t, ingest("R", names[1], run.parts[names[1]])...)
	}
	must(t, merge...)
	sameDocuments(t, acrossHosts(t, es, prefix, "R"), merged)

	// A host must not count twice.
	must(t, ingest("R", "again", run.parts[names[1]])...)
	refused(t, exitInput, []string{"host", "in part", "again", names[1]}, merge...)
	refused(t, exitInput, []string{"ingested as a whole"}, append([]string{"merge", "W"}, common...)...)
}

// mergeSyncs compares the syncs of two hosts that were followed apart and merged with those of both followed at once.
func mergeSyncs(t *testing.T, es, prefix string) {
	t.Helper()
	stream, err := pipelinetest.Unpacked("../../pipeline/live/testdata/sync/fio-3.42.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	of := func(jobs []byte, host string) string {
		return strings.ReplaceAll(string(jobs), `"jobname"`, `"hostname" : "`+host+`", "jobname"`)
	}
	streams := map[string]func(jobs []byte) string{
		"h1": func(jobs []byte) string { return of(jobs, "h1") },
		"h2": func(jobs []byte) string { // has but the first job
			first, _, _ := bytes.Cut(jobs, []byte("\n    },"))
			return of(first, "h2") + "\n    }"
		},
	}
	streams[""] = func(jobs []byte) string { return streams["h1"](jobs) + "," + streams["h2"](jobs) }
	for host, jobs := range streams {
		file := filepath.Join(t.TempDir(), "status.json")
		text := regexp.MustCompile(`(?s)"jobs" : \[.*?\n  \]`).ReplaceAllFunc(stream, func(list []byte) []byte {
			list = bytes.TrimSuffix(bytes.TrimPrefix(list, []byte(`"jobs" : [`)), []byte("\n  ]"))
			return []byte(`"client_stats" : [` + jobs(list) + "\n  ]")
		})
		if err = os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"live", "--es", es, "--index-prefix", prefix, "--interval", "1s", "--by", "direction,host,job"}
		if host == "" {
			must(t, append(args, "--run-id", "W", file)...)
		} else {
			must(t, append(args, "--run-id", "R", "--part", host, file)...)
		}
	}
	merge := []string{"merge", "--es", es, "--index-prefix", prefix, "--parts", "2", "R"}
	must(t, append([]string{merge[0], "--kind", "sync"}, merge[1:]...)...)
	same := func(got, want map[string]map[string]any) {
		t.Helper()
		for _, docs := range []map[string]map[string]any{got, want} {
			for _, doc := range docs {
				exactOnly(doc)
			}
		}
		nearDocs(t, got, want)
	}
	syncs := acrossHosts(t, es, prefix, "W")
	maps.DeleteFunc(syncs, func(_ string, doc map[string]any) bool { return object(doc, "fio")["kind"] != "sync" })
	same(acrossHosts(t, es, prefix, "R"), syncs)
	sum := 0.0
	for _, doc := range syncs {
		if doc["scope"] == "run" {
			sum += doc["samples"].(float64)
		}
	}
	const want = 151 + 149 + 151   // as "N" of the jobs' sync.lat_ns in the last document
	if math.Abs(sum-want) > 0.01 { // each document rounds to 0.001
		t.Errorf("%v syncs in all intervals, fio counts %d", sum, want)
	}
	must(t, merge...)
	same(acrossHosts(t, es, prefix, "R"), acrossHosts(t, es, prefix, "W"))
	accounts := map[string][]any{} // of the runs by kind
	for _, run := range []string{"R", "W"} {
		for _, doc := range documentsIn(t, es, prefix+"-run", run) {
			account := object(doc, "account")
			delete(account, "documents")
			account["ios_placed"] = math.Round(account["ios_placed"].(float64)*1e6) / 1e6
			kind := fmt.Sprint(object(doc, "fio")["kind"])
			if object(doc, "run")["part"] == nil {
				accounts[kind] = append(accounts[kind], account)
			}
			if kind == "sync" && object(doc, "run")["part"] == nil && account["ios_logged"] != float64(want) {
				t.Errorf("run %s has %v syncs, want %d", run, account["ios_logged"], want)
			}
		}
	}
	for _, kind := range []string{"clat", "sync"} {
		if of := accounts[kind]; len(of) != 2 || !reflect.DeepEqual(of[0], of[1]) {
			t.Errorf("%s: accounts of the runs\n%v", kind, of)
		}
	}
}

// peek is the body of a request, which stays to be read.
func peek(r *http.Request) []byte {
	b, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(b))
	return b
}

// A part that another fiolat is writing is not merged, complete or not.
func TestMergeMarked(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	run := partedRuns(t)["renamed"]
	for name, dir := range run.parts {
		must(t, "ingest", "--start", "2026-10-31T23:59:50Z", "--run-id", "R", "--part", name, "--es", s.URL, dir)
	}
	for _, d := range s.Docs("fio-run") {
		if d.Fields["run.part"] == "left" {
			doc := esmodel.WithOwner(d.Source, &esmodel.Owner{ID: "theirs", Host: "far.example", PID: 4711})
			body := fmt.Sprintf("{\"index\":{\"_index\":%q,\"_id\":%q}}\n%s\n", d.Index, d.ID, doc)
			res, err := http.Post(s.URL+"/_bulk?refresh=true", "application/x-ndjson", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
		}
	}
	refused(t, exitInput, []string{`part "left"`, "fiolat on host far.example, process 4711 began to write it"}, "merge",
		"--es", s.URL, "R")
	if n := len(documentsIn(t, s.URL, "fio-run", "R")); n != 2 {
		t.Errorf("%d documents in fio-run, want those of the two parts", n)
	}
	refused(t, exitOK, []string{`left out: part "left"`}, "merge", "--skip-incomplete", "--es", s.URL, "R")
}

// A part that is not complete is left out only if that was asked for, and is named.
func TestMergeIncomplete(t *testing.T) {
	t.Parallel()
	s := esmodeltest.New(t, esmodeltest.Options{Histogram: true})
	run := partedRuns(t)["renamed"]
	for name, dir := range run.parts {
		if name == "right" {
			s.Inject(esmodeltest.Fault{Times: -1, Item: func(index, _ string) (int, string, string) {
				if strings.Contains(index, "-histogram-") {
					return 400, "mapper_parsing_exception", "no"
				}
				return 0, "", ""
			}})
		}
		code, _, _ := fiolat(t, nil, "ingest", "--start", "2026-10-31T23:59:50Z", "--run-id", "R", "--part", name,
			"--es", s.URL, "--output", t.TempDir(), dir)
		if want := map[string]int{"left": exitOK, "right": exitIncomplete}[name]; code != want {
			t.Fatalf("part %s: exit %d, want %d", name, code, want)
		}
		s.Heal()
	}
	refused(t, exitInput, []string{`part "right"`, "partial", "--skip-incomplete"}, "merge", "--es", s.URL, "R")
	refused(t, exitOK, []string{`left out: part "right" is partial`}, "merge", "--skip-incomplete", "--es", s.URL, "R")
	for _, doc := range documentsIn(t, s.URL, "fio-run", "R") {
		if object(doc, "run")["part"] == nil && !strings.Contains(fmt.Sprint(object(doc, "account")["warnings"]),
			`left out: part "right"`) {
			t.Errorf("the run does not say what it lacks: %v", doc["account"])
		}
	}
	refused(t, exitOK, []string{"dry run", "would be written"}, "merge", "--dry-run", "--skip-incomplete", "--es",
		s.URL, "R")
	refused(t, exitUsage, []string{"name one run"}, "merge", "--es", s.URL)
	refused(t, exitUsage, []string{"--percentiles", "--parts -1", "--workers -1"}, "merge", "--es", s.URL,
		"--percentiles", "x", "--parts", "-1", "--workers", "-1", "R")

	// A part that is ingested again while it is read is noticed.
	s.Inject(esmodeltest.Fault{Times: -1, Match: func(r *http.Request) bool {
		return r.URL.Path == "/_search" && bytes.Contains(peek(r), []byte(`"scope"`))
	}, Reply: func(b []byte) []byte {
		return []byte(`{"_shards":{"total":1,"successful":1,"skipped":0,"failed":0},"hits":{"hits":[]}}`)
	}})
	refused(t, exitInput, []string{`part "left"`, "0 leaves are stored", "lifecycle policy"}, "merge",
		"--skip-incomplete", "--es", s.URL, "R")
}
