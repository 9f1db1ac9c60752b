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
		Action: func(c *cli.Context) error { return reportRun(c.Context, u, c) },
	}
}

func reportRun(ctx context.Context, u *ui, c *cli.Context) error {
	var bad faults
	cfg, k, err := u.configKinds(c)
	bad.add(err)
	args, err := paths(c)
	bad.add(err)
	_, err = addresses(c)
	bad.add(err)
	bad.add(esmodel.CheckPrefix(c.String("index-prefix")))
	es, docs, err := whence(c, args)
	bad.add(err)
	if err = bad.err(); err != nil {
		return err
	}
	var sources []kindSource
	if es || docs {
		if !c.IsSet("kind") {
			k = everyKind // what is stored
		}
		var client *esmodel.Client
		if es {
			if client, err = u.client(c); err != nil {
				return err
			}
			defer client.Close() //nolint:errcheck // it was only read
		}
		sources, err = storedKinds(ctx, c, client, args[0], cfg, k)
	} else {
		var plans []*pipeline.Plan
		plans, err = u.oneRun(ctx, c, args, cfg, k, "a page is of one")
		defer closePlans(plans)
		defer u.progressDone()
		for _, p := range plans {
			sources = append(sources, kindSource{p.Run, p.Process})
		}
	}
	if err != nil {
		return err
	}
	file := newPage(c.String("output"), c.Bool("dry-run"), len(sources))
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
	if c.Bool("dry-run") {
		u.say("info", "dry run: %d bytes would be written", file.size)
	} else {
		u.say("info", "page       %s, %d bytes", ingest.Printable(file.path), file.size)
	}
	return failOnSLA(c, sums[0])
}

// kindSource is one kind of a run, from logs or stored.
type kindSource struct {
	run     *pipeline.Run
	process func(context.Context, pipeline.Sink) (*pipeline.Summary, error)
}

// storedKinds are the kinds of latency of which a run is stored: in Elasticsearch, or with
// no client in a directory.
func storedKinds(ctx context.Context, c *cli.Context, client *esmodel.Client, name string, cfg pipeline.Config, k kinds) (out []kindSource, err error) {
	prefix, runID := c.String("index-prefix"), c.String("run-id")
	var there []ingest.Kind
	if client != nil {
		there, err = esmodel.StoredKinds(ctx, client, prefix, name)
	} else {
		there, err = esmodel.StoredKindsDir(name, runID)
	}
	if err != nil {
		return nil, err
	}
	o := pipeline.ReplayOptions{Workers: cfg.Workers}
	if c.IsSet("percentiles") {
		o.Percentiles = cfg.Settings.Percentiles
	}
	for _, kind := range k.list {
		if !slices.Contains(there, kind) && len(there) > 0 {
			if k.all {
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
		if o.Percentiles == nil { // of all kinds those of the first
			o.Percentiles = r.Run.Percentiles
		}
		out = append(out, kindSource{r.Run, func(ctx context.Context, sink pipeline.Sink) (*pipeline.Summary, error) {
			return r.Process(ctx, o, sink)
		}})
	}
	return out, nil
}

// whence is where the run is stored that the arguments name: in Elasticsearch, if --es
// is given or nothing of that name is here; in a directory of documents; or nowhere.
func whence(c *cli.Context, args []string) (es, docs bool, err error) {
	es = c.IsSet("es")
	if !es && len(args) == 1 {
		_, statErr := os.Stat(args[0])
		es = errors.Is(statErr, fs.ErrNotExist) && args[0] != "-" && !strings.ContainsAny(args[0], "*?[/") && os.Getenv("ELASTICSEARCH_URL") != ""
		files, globErr := filepath.Glob(filepath.Join(args[0], "*-run.*.ndjson"))
		docs = globErr == nil && len(files) > 0
	}
	if es && len(args) != 1 {
		return false, false, usagef("fiolat report --es: name one run, its run.id")
	}
	for _, f := range logFlags("") {
		name := f.Names()[0]
		if name == "percentiles" || name == "workers" || name == "dry-run" || name == "fail-on-sla" || name == "kind" || name == "run-id" && docs {
			continue
		}
		if (es || docs) && c.IsSet(name) {
			return false, false, usagef("--%s: this run is stored already, and was made with settings of its own", name)
		}
	}
	return es, docs, nil
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
