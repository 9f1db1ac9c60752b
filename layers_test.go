package fiolat_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// floors lists the packages of the program from the ground up, a room on one floor or several that follow each other.
// A package imports only those on floors below its own. A name that ends in "/..." stands for what is below it and not
// named elsewhere.
var floors = []string{
	"internal/again internal/jsonw internal/secret internal/tempfile",
	"internal/alert",

	"fio",
	"fio/fiohist internal/ui",
	"fio/sla internal/probe",

	"ingest/jobfile ingest/source",
	"ingest/fiolog",
	"ingest/fiojson",
	"ingest",

	"pipeline",
	"pipeline/intervals internal/metrics",
	"pipeline/live pipeline/logs pipeline/replay",
	"pipeline/plan",

	"analysis/figures analysis/history analysis/like analysis/outliers",
	"analysis/compare analysis/curve analysis/diagnose",

	"report/charts report/picture report/render",
	"report/page",
	"report",

	"esmodel",
	"esmodel/client",
	"esmodel/indices",
	"esmodel/delivery esmodel/stored",
	"internal/runsource kibana",

	"cmd/fiolat/...",
	"cmd/fiolat",
}

// only names the rooms and packages that may import a room or a module, beside itself.
var only = map[string]string{
	"fiolat/analysis": "report internal/runsource cmd/fiolat",
	"fiolat/report":   "cmd/fiolat",
	"fiolat/esmodel":  "internal/runsource cmd/fiolat",
	"fiolat/kibana":   "cmd/fiolat",

	"github.com/parquet-go":               "report/render",
	"github.com/urfave/cli":               "cmd/fiolat",
	"github.com/elastic/go-elasticsearch": "esmodel",
	"github.com/prometheus":               "internal/metrics",
	"github.com/schollz/progressbar":      "internal/ui",
	"gonum.org/v1/plot":                   "report/picture",
	"go.yaml.in/yaml":                     "fio/sla",
	"testing":                             "",

	"github.com/elastic/elastic-transport-go": "esmodel/client",
}

// floor returns the number of the floor of a package of this module; -1 if it is on none.
func floor(name string) int {
	parent := ""
	for {
		for i, f := range floors {
			if slices.Contains(strings.Fields(f), name+parent) {
				return i
			}
		}
		name = strings.TrimSuffix(name, "/...")
		cut := strings.LastIndex(name, "/")
		if cut < 0 {
			return -1
		}
		name, parent = name[:cut], "/..."
	}
}

// TestLayers checks that all imports of the program go down, and that none of its packages is for tests.
func TestLayers(t *testing.T) {
	out, err := exec.Command("go", "list", "-buildvcs=false", "-deps", "-f",
		"{{.ImportPath}}{{range .Imports}} {{.}}{{end}}", "./cmd/fiolat").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		imports := strings.Fields(line)
		name, isOurs := strings.CutPrefix(imports[0], "fiolat/")
		if !isOurs {
			continue
		}
		at := floor(name)
		if at < 0 {
			t.Errorf("%s: on none of the floors in layers_test.go", name)
		}
		for _, path := range imports[1:] {
			if below, isOurs := strings.CutPrefix(path, "fiolat/"); isOurs && floor(below) >= at {
				t.Errorf("%s imports %s, which is not below it", name, below)
			}
			for room, users := range only {
				users = strings.TrimPrefix(room, "fiolat/") + " " + users
				if under(path, room) && !slices.ContainsFunc(strings.Fields(users), func(user string) bool {
					return under(name, user)
				}) {
					t.Errorf("%s imports %s, which is for %s", name, path, users)
				}
			}
		}
	}
}

// under reports whether a path is that of a folder, or of what is below it.
func under(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }
