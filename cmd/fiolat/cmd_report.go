package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/esmodel"
	"fiolat/ingest"
	"fiolat/internal/report"
	"fiolat/pipeline"
)

func reportCommand(u *ui) *cli.Command {
	return &cli.Command{
		Name:      "report",
		Usage:     "one self-contained HTML page of a run",
		ArgsUsage: "PATH...|DIR|RUN",
		Description: "fiolat report -o today.html runs/today\n" +
			"fiolat report -o today.html --by direction,host,job --percentiles 50,99,99.99 runs/today\n" +
			"fiolat report -o today.html --kind all runs/today                  slat, clat and lat side by side, and whether they add up\n" +
			"fiolat report -o today.html today.docs                              what an ingest --output wrote; of several runs --run-id says which\n" +
			"fiolat report -o today.html --es http://localhost:9200 RUN          a run in Elasticsearch, by its run.id\n\n" +
			"PATH is a log, a directory that is searched, a glob, or - for standard input. Of a stored run only --percentiles and --kind can be chosen anew; without --kind it has all kinds of latency that are stored. " +
			"The page has percentiles over time, a heat map, the percentile spectrum, tables of all of them, and where the numbers come from. It loads nothing from anywhere.",
		Flags: append(append(severalKinds(logFlags("direction,host,job")), esFlags()...),
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "report.html", Usage: "`FILE` for the page"},
		),
		Action: action(u, readReportOptions, reportRun),
	}
}

// reportOptions are what fiolat report is asked for.
type reportOptions struct {
	Logs          Logs // or, in Paths, what is stored
	Elasticsearch Elasticsearch
	// InElasticsearch and InDirectory say that the run is stored: Paths has its run.id, or the directory.
	InElasticsearch, InDirectory bool
	Percentiles                  []float64 // of a stored run; none: those that it has
	File                         string    // for the page
}

func readReportOptions(c *cli.Context) (o reportOptions, err error) {
	var bad faults
	o.Logs, err = logOptions(c)
	bad.add(err)
	bad.add(needPaths(o.Logs))
	o.Elasticsearch, err = esOptions(c)
	bad.add(err)
	o.InElasticsearch, o.InDirectory, err = whence(o.Logs.Paths, c.IsSet)
	bad.add(err)
	if !c.IsSet("kind") && (o.InElasticsearch || o.InDirectory) {
		o.Logs.Kinds = everyKind // what is stored
	}
	if c.IsSet("percentiles") {
		o.Percentiles = o.Logs.Config.Settings.Percentiles
	}
	o.File = c.String("output")
	return o, bad.err()
}

// whence is where the run is stored that the arguments name: in Elasticsearch, if --es
// is given or nothing of that name is here; in a directory of documents; or nowhere. given tells
// whether a flag is on the command line.
func whence(args []string, given func(flag string) bool) (es, docs bool, err error) {
	es = given("es")
	if !es && len(args) == 1 {
		_, statErr := os.Stat(args[0])
		es = errors.Is(statErr, fs.ErrNotExist) && args[0] != "-" && !strings.ContainsAny(args[0], "*?[/") &&
			os.Getenv("ELASTICSEARCH_URL") != ""
		files, globErr := filepath.Glob(filepath.Join(args[0], "*-run.*.ndjson"))
		docs = globErr == nil && len(files) > 0
	}
	if es && len(args) != 1 {
		return false, false, usagef("fiolat report --es: name one run, its run.id")
	}
	for _, f := range logFlags("") {
		name := f.Names()[0]
		if name == "percentiles" || name == "workers" || name == "dry-run" || name == "fail-on-sla" || name == "kind" ||
			name == "run-id" && docs {
			continue
		}
		if (es || docs) && given(name) {
			return false, false, usagef("--%s: this run is stored already, and was made with settings of its own", name)
		}
	}
	return es, docs, nil
}

func reportRun(ctx context.Context, o reportOptions, u *ui) error {
	var sources []kindSource
	var err error
	if o.InElasticsearch || o.InDirectory {
		var client *esmodel.Client
		if o.InElasticsearch {
			if client, err = o.Elasticsearch.Connect(u); err != nil {
				return err
			}
			defer client.Close() //nolint:errcheck // it was only read
		}
		sources, err = o.storedKinds(ctx, client)
	} else {
		var plans []*pipeline.Plan
		plans, err = o.Logs.oneRun(ctx, u, o.Logs.pipeline(u), "a page is of one")
		defer closePlans(plans)
		defer u.progressDone()
		for _, p := range plans {
			sources = append(sources, kindSource{p.Run, p.Process})
		}
	}
	if err != nil {
		return err
	}
	file := newPage(o.File, o.Logs.DryRun, len(sources))
	defer file.discard()
	var sums []*pipeline.Summary
	for i, s := range sources {
		var sum *pipeline.Summary
		if sum, err = s.process(ctx, file.kind(i)); err != nil {
			return err
		}
		sums = append(sums, sum)
	}
	u.progressDone()
	if err = file.publish(); err != nil {
		return err
	}
	for i, s := range sums {
		u.kindAccount(sources[i].run, s, len(sums))
	}
	if o.Logs.DryRun {
		u.say("info", "dry run: %d bytes would be written", file.size)
	} else {
		u.say("info", "page       %s, %d bytes", ingest.Printable(file.path), file.size)
	}
	return failOnSLA(o.Logs.FailOnSLA, sums[0])
}

// kindSource is one kind of a run, from logs or stored.
type kindSource struct {
	run     *pipeline.Run
	process func(context.Context, pipeline.Sink) (*pipeline.Summary, error)
}

// storedKinds are the kinds of latency of which a run is stored: in Elasticsearch, or with
// no client in a directory.
func (o *reportOptions) storedKinds(ctx context.Context, client *esmodel.Client) (out []kindSource, err error) {
	name, prefix, runID := o.Logs.Paths[0], o.Elasticsearch.Prefix, o.Logs.Config.RunID
	var there []ingest.Kind
	if client != nil {
		there, err = esmodel.StoredKinds(ctx, client, prefix, name)
	} else {
		there, err = esmodel.StoredKindsDir(name, runID)
	}
	if err != nil {
		return nil, err
	}
	replay := pipeline.ReplayOptions{Workers: o.Logs.Config.Workers, Percentiles: o.Percentiles}
	for _, kind := range o.Logs.Kinds.list {
		if !slices.Contains(there, kind) && len(there) > 0 {
			if o.Logs.Kinds.all {
				continue
			}
			return nil, &ingest.ParseError{File: name, Msg: fmt.Sprintf("no %v latencies are stored, but %v", kind, there[0]), Hint: "--kind all takes those that are there"}
		}
		var r *pipeline.Replay
		if client != nil {
			r, err = esmodel.OpenStored(ctx, client, prefix, name, kind)
		} else {
			r, err = esmodel.OpenStoredDir(name, runID, kind)
		}
		if err != nil {
			return nil, err
		}
		if len(out) > 0 && r.Run.ID != out[0].run.ID {
			return nil, usagef("%s holds the runs %q and %q; say which with --run-id", ingest.Printable(name), out[0].run.ID, r.Run.ID)
		}
		if replay.Percentiles == nil { // of all kinds those of the first
			replay.Percentiles = r.Run.Percentiles
		}
		out = append(out, kindSource{r.Run, func(ctx context.Context, sink pipeline.Sink) (*pipeline.Summary, error) {
			return r.Process(ctx, replay, sink)
		}})
	}
	return out, nil
}

// page is a report on its way to a file, which appears only when it is whole.
type page struct {
	kinds []*report.Sink
	path  string
	temp  *os.File
	size  counter
	dry   bool
}

// newPage makes a page of so many kinds of latency.
func newPage(path string, dry bool, kinds int) *page {
	p := &page{path: path, dry: dry}
	p.kinds = report.NewKinds(p, kinds, report.Options{Generator: "fiolat " + version()})
	return p
}

// kind is where the nth kind of latency goes.
func (p *page) kind(n int) pipeline.Sink { return pageSink{p.kinds[n], p} }

type pageSink struct {
	*report.Sink
	page *page
}

// Begin makes a new file beside the one that it will replace, for us alone: a long run
// must not end with the news that it cannot be written.
func (s pageSink) Begin(ctx context.Context, run *pipeline.Run) (err error) {
	p := s.page
	if p.dry || p.temp != nil {
		return s.Sink.Begin(ctx, run)
	}
	if st, statErr := os.Lstat(p.path); statErr == nil && !st.Mode().IsRegular() {
		return usagef("--output %s: there is something that is not a file", ingest.Printable(p.path))
	}
	if p.temp, err = os.CreateTemp(filepath.Dir(p.path), "."+filepath.Base(p.path)+".*.tmp"); err != nil {
		return usagef("--output %s: %v", ingest.Printable(p.path), err)
	}
	return s.Sink.Begin(ctx, run)
}

func (p *page) Write(b []byte) (n int, err error) {
	if n, err = p.size.Write(b); p.dry {
		return n, err
	}
	return p.temp.Write(b)
}

// publish gives the file its name.
func (p *page) publish() error {
	if p.temp == nil {
		return nil
	}
	if err := p.temp.Close(); err != nil {
		return err
	}
	if err := os.Rename(p.temp.Name(), p.path); err != nil {
		return err
	}
	p.temp = nil
	return nil
}

// discard removes what was not published.
func (p *page) discard() {
	if p.temp != nil {
		p.temp.Close()           //nolint:errcheck // it goes
		os.Remove(p.temp.Name()) //nolint:errcheck // a hidden file stays behind
	}
}

// tee hands a run to several sinks.
type tee []pipeline.Sink

func (t tee) Begin(ctx context.Context, run *pipeline.Run) error {
	for _, s := range t {
		if err := s.Begin(ctx, run); err != nil {
			return err
		}
	}
	return nil
}

func (t tee) Quantum(ctx context.Context, q *pipeline.Quantum) error {
	for _, s := range t {
		if err := s.Quantum(ctx, q); err != nil {
			return err
		}
	}
	return nil
}

func (t tee) End(ctx context.Context, sum *pipeline.Summary) error {
	for _, s := range t {
		if err := s.End(ctx, sum); err != nil {
			return err
		}
	}
	return nil
}
