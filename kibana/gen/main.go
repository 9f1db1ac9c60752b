// Program gen makes the bundle that package kibana embeds: saved objects for Kibana 8.12 to 9.x. Its arguments are
// the prefix of indices, the file to write, and the list of all objects that any version had, to which it adds.
//
// The output is deterministic. Objects have the oldest format that Kibana 8.12 reads; later versions migrate it on
// import. The type versions are therefore constants and do not depend on the Kibana at hand.
//
// No panel averages percentiles, except that a point of the load curve is the geometric mean of the runs of a setting.
// Percentile documents are exact: a panel over them selects one scope, and where a point covers several intervals it
// shows the worst of them and says so. Percentiles over any selection of hosts, jobs and times come from the histogram
// field, always with HDR, because T-Digest can be far off on multimodal latencies.
package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: gen PREFIX BUNDLE.ndjson.gz SHIPPED.txt")
		os.Exit(2)
	}
	if err := generate(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func generate(prefix, file, shipped string) error {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err = Write(w, prefix); err != nil {
		return err
	}
	if err = w.Close(); err != nil {
		return err
	}
	if err = os.WriteFile(file, packed.Bytes(), 0o644); err != nil {
		return err
	}
	listed, err := os.ReadFile(shipped)
	if err != nil {
		return err
	}
	lines := slices.Collect(strings.Lines(string(listed)))
	for _, o := range Bundle(prefix) {
		lines = append(lines, o.Type+" "+strings.TrimPrefix(o.ID, prefix)+"\n")
	}
	slices.Sort(lines)
	return os.WriteFile(shipped, []byte(strings.Join(slices.Compact(lines), "")), 0o644)
}
