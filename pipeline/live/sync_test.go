package live

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/internal/testkit"
	"fiolat/pipeline"
)

// TestLiveSyncs: the differences of real streams add up to the syncs of fio's last document, per job and bucket, as
// rows of no other direction; and the p99 is within a bucket of fio's own.
func TestLiveSyncs(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"3.33", "3.42"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			text := stream(t, "sync/fio-"+version)
			want, p99 := syncsOf(t, text)
			settings := liveSettings()
			settings.Kind, settings.Percentiles = fio.Sync, []float64{99}
			settings.SLA = testkit.Rules(t, "sync p99 < 1us", "sync p50 < 1h")
			_, c := follow(t, Config{Settings: settings, Host: "h", Of: &pipeline.Run{ID: "r", Start: 1}}, text)
			sameSums(t, liveSums(c), want)
			if c.Run.ID != "r" || c.Run.Start != 1 || c.Sum.Account.Missing != 0 || !c.Sum.Account.CountedKnown {
				t.Errorf("run %s from %d, account %+v", c.Run.ID, c.Run.Start, c.Sum.Account)
			}
			jobs := 0
			for _, r := range c.Sum.Total {
				if r.Dims.Direction != "sync" {
					t.Errorf("a row of %s %s", r.Scope, r.Dims.Direction)
				}
				if r.Scope != "job" {
					continue
				}
				jobs++
				got, fio := r.Stats.Percentiles[0], p99[r.Dims.Job]
				if d := fiohist.Fio3.Index(int64(got)) - fiohist.Fio3.Index(fio); d < -1 || d > 1 {
					t.Errorf("%s: p99 %v, fio's is %d", r.Dims.Job, got, fio)
				}
			}
			if jobs != 2 {
				t.Errorf("%d jobs", jobs)
			}
			for i, wanted := range []string{"broken", "ok"} {
				if o := c.Sum.SLA[i]; string(o.Status()) != wanted || o.Dims.Direction != "sync" || o.Scope != "run" {
					t.Errorf("%s is %s in %s %s", o.Rule.Text, o.Status(), o.Scope, o.Dims.Direction)
				}
			}
		})
	}
}

// syncsOf are fio's own counts of the last document by job and bucket, and its p99, read without any code of ours.
func syncsOf(t *testing.T, text []byte) (counts map[string]float64, p99 map[string]int64) {
	t.Helper()
	var last struct {
		Jobs []struct {
			Jobname string
			Sync    struct {
				Lat struct {
					N          float64
					Bins       map[string]float64
					Percentile map[string]int64
				} `json:"lat_ns"`
			}
		}
	}
	docs := bytes.SplitAfter(text, []byte("\n}\n"))
	for _, doc := range docs {
		if at := bytes.IndexByte(doc, '{'); at >= 0 {
			last.Jobs = nil
			if err := json.Unmarshal(doc[at:], &last); err != nil {
				t.Fatal(err)
			}
		}
	}
	counts, p99 = map[string]float64{}, map[string]int64{}
	for _, j := range last.Jobs {
		sum := 0.0
		for ns, n := range j.Sync.Lat.Bins {
			at, err := strconv.ParseInt(ns, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			counts[fmt.Sprint(j.Jobname, "sync", fiohist.Fio3.Index(at))] += n
			sum += n
		}
		if sum != j.Sync.Lat.N || sum == 0 {
			t.Fatalf("%s: %v of %v syncs in bins", j.Jobname, sum, j.Sync.Lat.N)
		}
		p99[j.Jobname] = j.Sync.Lat.Percentile["99.000000"]
	}
	return counts, p99
}

// TestLiveNeverSums: a run of reads and writes has none of its jobs' syncs in it.
func TestLiveNeverSums(t *testing.T) {
	t.Parallel()
	text := stream(t, "sync/fio-3.42")
	_, c := follow(t, Config{Settings: liveSettings(), Host: "h"}, text)
	sameSums(t, liveSums(c), countedBy(t, text, fio.Clat))
}
