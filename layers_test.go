package fiolat_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// floors lists the packages of the program from the ground up. A package imports only those on floors below its own.
// A name that ends in "/..." stands for what is below it and not named elsewhere.
var floors = []string{
	"internal/alert cmd/fiolat/descriptors analysis/like" +
		" internal/secret internal/tempfile report/charts",
	"fio",
	"fio/fiohist ingest/jobfile ingest/source report/page report/picture internal/ui kibana",
	"ingest/fiolog analysis/history internal/probe fio/sla",
	"ingest/fiojson",
	"ingest",
	"pipeline",
	"analysis/figures",
	"pipeline/quanta analysis/compare analysis/diagnose internal/metrics report/render report",
	"pipeline/logs pipeline/live pipeline/replay analysis/curve",
	"pipeline/plan",
	"esmodel",
	"esmodel/client",
	"esmodel/claim esmodel/indices",
	"esmodel/delivery esmodel/stored",
	"internal/runsource",
	"cmd/fiolat/...",
	"cmd/fiolat",
}

// only names the packages that may import a module.
var only = map[string]string{
	"github.com/parquet-go":               "report/render",
	"github.com/urfave/cli":               "cmd/fiolat",
	"github.com/elastic/go-elasticsearch": "esmodel/client",
	"github.com/prometheus":               "internal/metrics",
	"github.com/schollz/progressbar":      "internal/ui",
	"gonum.org/v1/plot":                   "report/picture",
	"go.yaml.in/yaml":                     "fio/sla",
	"testing":                             "none",
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
	out, err := exec.Command("go", "list", "-deps", "-f",
		"{{.ImportPath}}{{range .Imports}} {{.}}{{end}}", "./cmd/fiolat").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		imports := strings.Fields(line)
		name, ours := strings.CutPrefix(imports[0], "fiolat/")
		if !ours {
			continue
		}
		at := floor(name)
		if at < 0 {
			t.Errorf("%s: on none of the floors in layers_test.go", name)
		}
		for _, path := range imports[1:] {
			if below, ours := strings.CutPrefix(path, "fiolat/"); ours && floor(below) >= at {
				t.Errorf("%s imports %s, which is not below it", name, below)
			}
			for module, user := range only {
				if (path == module || strings.HasPrefix(path, module+"/")) && name != user &&
					!strings.HasPrefix(name, user+"/") {
					t.Errorf("%s imports %s, which is for %s", name, path, user)
				}
			}
		}
	}
}
