package shell

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/fio"
	"fiolat/internal/like"
	"fiolat/internal/render"
)

var (
	tableJSON  = []string{"table", "json"}
	tables     = []string{"table", "markdown", "csv", "json"}
	fixedUnits = []string{"us", "ns", "ms"}
	kinds      = fio.KindNames()
	everyKind  = append(slices.Clone(kinds), "all")
)

// equals returns the values as KEY=VALUE.
func equals(key string, values []string) (out []string) {
	for _, v := range values {
		out = append(out, key+"="+v)
	}
	return out
}

// words are the values that flags take, for all commands or for one. The first is the default.
var words = map[string][]string{
	"--align":              {"overlap", "inflight"},
	"--axis":               {"iops", "mib", "concurrency"},
	"--by":                 {"direction", "host", "job", "log"},
	"--direction":          fio.MetricDirections(),
	"--grid":               {"run", "epoch"},
	"--kind":               kinds,
	"ingest --kind":        everyKind,
	"percentiles --kind":   everyKind,
	"report --kind":        everyKind,
	"merge --kind":         {"clat", "slat", "lat", "sync"},
	"--log-format":         {"text", "json"},
	"--record-time":        {"end", "start"},
	"--format":             tables,
	"compare --format":     {"table", "markdown", "json"},
	"diagnose --format":    tableJSON,
	"inspect --format":     tableJSON,
	"live --format":        {"ndjson"},
	"percentiles --format": {"table", "csv", "json", "ndjson"},
	"summary --format":     {"table", "markdown", "csv", "json", "ndjson"},
	"--unit":               render.Units,
	"diagnose --unit":      fixedUnits,
	"history --unit":       fixedUnits,

	// These take other values, too.
	"--interval":             {"auto"},
	"percentiles --interval": {"auto", "run"},
	"probe --interval":       nil,
	"rollup --interval":      nil,
	"--like":                 like.Programs,
	"--only":                 append(equals("direction", fio.DirectionNames()), "host=", "job="),
	"--start":                {"mtime"},
	"--wide":                 append([]string{"p50", "p99", "p99.9"}, render.Figures...),
}

// Words returns the values that a command's flag takes. The first is the default.
func Words(command, flag string) []string {
	if of, ok := words[command+" --"+flag]; ok {
		return of
	}
	return words["--"+flag]
}

// lists are the flags that take a comma-separated list of words.
var lists = []string{"by", "kind"}

// values returns the words for a flag's value, after the part of a list that is already there.
func values(command string, f cli.DocGenerationFlag, begun string) (found []string) {
	flag, before := f.(cli.Flag).Names()[0], ""
	words, list := Words(command, flag), slices.Contains(lists, flag)
	if g, ok := f.(*cli.GenericFlag); ok {
		words, list = g.Value.(interface{ Words() ([]string, bool) }).Words()
	}
	if i := strings.LastIndexByte(begun, ',') + 1; list {
		before = begun[:i]
	}
	for _, w := range words {
		if !slices.Contains(strings.Split(before, ","), w) {
			found = append(found, before+w)
		}
	}
	return found
}
