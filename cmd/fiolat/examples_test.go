package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"fiolat/esmodel/esmodeltest"
	"fiolat/internal/testkit"
)

// workers is a cluster of workers on which an example of examples/ runs: a shared folder of logs of three hosts, an
// Elasticsearch, and a fiolat that notes its arguments.
type workers struct {
	dir, es string
	text    string // the example, with these
}

const exampleHosts = 3

func newWorkers(t *testing.T, example string) *workers {
	t.Helper()
	w := &workers{dir: t.TempDir(), es: esmodeltest.New(t, esmodeltest.Options{}).URL}
	self, _ := programAndLogs(t)
	for i := range exampleHosts {
		host := fmt.Sprintf("n%d", i+1)
		dir := filepath.Join(w.dir, "logs", host)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		copyFile(t, fmt.Sprintf("%s/randrw/randrw_clat_hist.%d.log", real, i+1),
			filepath.Join(dir, "randrw_clat_hist.1.log"))
	}
	note := fmt.Sprintf("#!/bin/sh\necho \"$*\" >>%s/calls\nexec %s \"$@\"\n", w.dir, self)
	text, err := os.ReadFile(filepath.Join("../../examples", example))
	if err == nil {
		err = os.WriteFile(filepath.Join(w.dir, "fiolat"), []byte(note), 0o700) //nolint:gosec // it is a program
	}
	if err != nil {
		t.Fatal(err)
	}
	w.text = strings.NewReplacer("http://es:9200", w.es, "/shared/logs", w.dir+"/logs").Replace(string(text))
	return w
}

// run runs a worker, which must succeed.
func (w *workers) run(t *testing.T, env string, command ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "PATH="+w.dir+":"+os.Getenv("PATH"), "HOME="+w.dir, asProgram+"=1", env)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", env, command, err, out)
	}
}

// check checks the arguments that fiolat got, in whatever order, and that all of the run is merged.
func (w *workers) check(t *testing.T) {
	t.Helper()
	calls, err := os.ReadFile(filepath.Join(w.dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range exampleHosts {
		want = append(want, fmt.Sprintf("ingest --es %s --run-id R --part n%d --start 2026-08-01T12:00:00Z "+
			"--interval 10s %s/logs/n%d", w.es, i+1, w.dir, i+1))
	}
	for i := range 8 {
		want = append(want, fmt.Sprintf("merge --es %s --parts %d --slice %d/8 R", w.es, exampleHosts, i+1))
	}
	got := slices.Sorted(strings.Lines(strings.ReplaceAll(string(calls), "/\n", "\n")))
	if wanted := strings.Join(want, "\n") + "\n"; strings.Join(got, "") != wanted {
		t.Errorf("fiolat was called with\n%s\nwant\n%s", strings.Join(got, ""), wanted)
	}
	must(t, "ingest", "--es", w.es, "--index-prefix", "whole", "--run-id", "R", "--start", "2026-08-01T12:00:00Z",
		"--grid", "epoch", "--interval", "10s", "--hosts-by", "folder", w.dir+"/logs")
	sameDocuments(t, acrossHosts(t, w.es, "fio", "R"), acrossHosts(t, w.es, "whole", "R"))
}

// TestExampleSlurm runs examples/merge.slurm as each task of its job array.
func TestExampleSlurm(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	w := newWorkers(t, "merge.slurm")
	if !strings.Contains(w.text, "\n#SBATCH --array=1-8\n") {
		t.Error("not an array of 8")
	}
	for _, step := range []string{"ingest", "merge"} {
		for i := range 8 {
			w.run(t, fmt.Sprintf("SLURM_ARRAY_TASK_ID=%d", i+1), "bash", "-c", w.text, "merge.slurm", step)
		}
	}
	w.check(t)
}

// TestExampleJob runs the commands of examples/merge-job.yaml as each pod of its Jobs.
func TestExampleJob(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	w := newWorkers(t, "merge-job.yaml")
	const hosts = 40
	w.text = strings.ReplaceAll(w.text, fmt.Sprintf("--parts %d ", hosts), fmt.Sprintf("--parts %d ", exampleHosts))
	decoder := yaml.NewDecoder(strings.NewReader(w.text))
	for _, step := range []struct {
		name      string
		pods, run int
	}{{"ingest", hosts, exampleHosts}, {"merge", 8, 8}} {
		var job struct {
			Kind     string
			Metadata struct{ Labels map[string]string }
			Spec     struct {
				CompletionMode string `yaml:"completionMode"`
				Completions    int
				Template       struct {
					Spec struct{ Containers []struct{ Command []string } }
				}
			}
		}
		if err := decoder.Decode(&job); err != nil {
			t.Fatal(err)
		}
		if job.Kind != "Job" || job.Metadata.Labels["step"] != step.name || job.Spec.CompletionMode != "Indexed" ||
			job.Spec.Completions != step.pods || len(job.Spec.Template.Spec.Containers) != 1 {
			t.Fatalf("%s: %+v", step.name, job)
		}
		command := job.Spec.Template.Spec.Containers[0].Command
		// Kubernetes would replace these before the shell sees them.
		if regexp.MustCompile(`\$\$|\$\([-._a-zA-Z0-9]+\)`).MatchString(strings.Join(command, " ")) {
			t.Errorf("%s: Kubernetes changes %q", step.name, command)
		}
		for i := range step.run {
			w.run(t, fmt.Sprintf("JOB_COMPLETION_INDEX=%d", i), command...)
		}
	}
	w.check(t)
}
