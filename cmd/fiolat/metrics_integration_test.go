//go:build integration

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fiolat/internal/testkit"
)

// TestServerPrometheus has Prometheus scrape a live run and a probe, with native histograms and without, and compares
// what it knows with fio's numbers. promtool finds no fault in what they show.
func TestServerPrometheus(t *testing.T) {
	testkit.Nightly(t)
	dir := t.TempDir()
	stream, err := os.ReadFile(real + "/live/fio-status.json")
	if err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "status.json")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	fio, err := os.OpenFile(pipe, os.O_RDWR, 0) // fio goes on as long as it is open
	if err != nil {
		t.Fatal(err)
	}
	defer fio.Close()
	go func() { _, _ = fio.Write(stream) }()
	live, probed := freeAddress(t), freeAddress(t)
	var all []*proc
	begin := func(name string, args ...string) { all = append(all, start(t, dir, name, args...)) }
	begin("fiolat", "live", "--metrics", live, "--output", "docs", "--sla", "read p99 < 5ms", pipe)
	begin("fiolat", "probe", "--metrics", probed, dir)
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "global: {scrape_interval: 1s}\nscrape_configs:\n"+
		"- {job_name: fiolat, static_configs: [{targets: [%q, %q]}]}\n", live, probed), 0o600); err != nil {
		t.Fatal(err)
	}
	native, classic := freeAddress(t), freeAddress(t)
	for address, flag := range map[string]string{native: "--enable-feature=native-histograms",
		classic: "--log.level=warn"} {
		begin("prometheus", flag, "--config.file="+config, "--storage.tsdb.path="+address,
			"--web.listen-address="+address)
	}
	for _, of := range []struct { // fio's last document; the last interval is still open
		server, query string
		want, within  float64
	}{
		{classic, `sum(fiolat_latency_seconds_count)`, 72001, 0.2},
		{native, `sum(histogram_count(fiolat_latency_seconds))`, 72001, 0.2},
		{classic, `sum(fiolat_latency_seconds_sum)`, 2.42, 0.2},
		{native, `sum(histogram_sum(fiolat_latency_seconds))`, 2.42, 0.2},
		{classic, `histogram_quantile(0.99, fiolat_latency_seconds_bucket{direction="read"})`, 136e-6, 1},
		{native, `histogram_quantile(0.99, fiolat_latency_seconds{direction="read"})`, 136e-6, 0.1},
		{classic, `count(histogram_quantile(0.5, fiolat_probe_latency_seconds_bucket) > 0)`, 6, 0},
		{native, `count(histogram_quantile(0.5, fiolat_probe_latency_seconds) > 0)`, 6, 0},
		{native, `fiolat_sla_ok`, 1, 0},
	} {
		t.Log(of.query)
		var got float64
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Second / 4) {
			got = prometheusValue(t, of.server, of.query)
			if math.Abs(got-of.want) <= of.within*of.want {
				break
			}
			if time.Now().After(deadline) {
				for _, p := range all {
					t.Log(p.Args, p.said.String())
				}
				t.Fatalf("%s: %v, want %v", of.query, got, of.want)
			}
		}
	}
	for _, address := range []string{live, probed} {
		_, text := testkit.Request(t, http.MethodGet, "http://"+address+"/metrics", nil)
		check := exec.CommandContext(t.Context(), "promtool", "check", "metrics")
		check.Stdin = bytes.NewReader(text)
		if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("promtool: %v\n%s\n%s", err, out, text)
		}
	}
}

// freeAddress returns an address to listen on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// prometheusValue returns the only value of a query; NaN if there is none yet.
func prometheusValue(t *testing.T, server, query string) float64 {
	t.Helper()
	res, err := http.Get("http://" + server + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return math.NaN() // it starts
	}
	defer res.Body.Close()
	var answer struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	if json.NewDecoder(res.Body).Decode(&answer) != nil || len(answer.Data.Result) != 1 {
		return math.NaN()
	}
	v, err := strconv.ParseFloat(answer.Data.Result[0].Value[1].(string), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
