package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"fiolat/internal/testlog"
)

// A run whose hosts are ingested in parts, all at once.
const (
	mergeParts   = 10
	mergeHosts   = 10 // per part
	mergeSeconds = 60
)

// merge compares fiolat merge of a run of 100 hosts with the ingest of its parts.
func merge(ctx context.Context, b *bench) (all []result, err error) {
	p := &posting{b: b}
	down, err := p.up(ctx)
	if err != nil {
		return nil, err
	}
	defer down()
	dir := filepath.Join(b.dir, "parts")
	if _, err = output(ctx, b.self, "make-parts", dir); err != nil {
		return nil, err
	}
	if _, err = output(ctx, b.fiolat, "setup", "--es", p.url); err != nil {
		return nil, err
	}
	for _, coarseness := range []string{"0", "3"} {
		ingest := []string{b.self, "ingest-parts", dir, b.fiolat, "ingest", "--es", p.url, "--run-id", "merge",
			"--start", "2026-03-01T11:59:57.5Z", "--interval", "1s", "--coarseness", coarseness}
		suffix := " of 100 hosts x 60 s, reads and writes, coarseness " + coarseness
		results, err := b.race(ctx,
			contender{name: "merge" + suffix, args: []string{b.fiolat, "merge", "--es", p.url, "merge"},
				before: func(ctx context.Context) error {
					if err := p.empty(ctx); err != nil {
						return err
					}
					_, err := output(ctx, ingest...)
					return err
				}, after: p.complete(mergeParts + 1)},
			contender{name: "ingest of ten parts at once" + suffix, args: ingest, before: p.empty,
				after: p.complete(mergeParts),
				want:  func(r result, _ []result) (string, bool) { return "at least 2 times", r.ratio >= 2 }})
		if err != nil {
			return nil, err
		}
		all = append(all, results...)
	}
	return all, nil
}

// complete returns a check that exactly want documents of runs and parts are complete.
func (p *posting) complete(want int) func(string) error {
	return func(string) error {
		var count struct{ Count int }
		err := p.call(context.Background(), http.MethodGet, "/fio-run/_count?q=run.status:complete", &count)
		if err == nil && count.Count != want {
			err = fmt.Errorf("%d runs and parts are complete, want %d", count.Count, want)
		}
		return err
	}
}

// makePartsTool is the subcommand that writes the logs of all parts, with similar hosts.
func makePartsTool(_ context.Context, args []string) error {
	source, err := realLogs()
	if err != nil {
		return err
	}
	for host := range mergeParts * mergeHosts {
		log, err := testlog.Resample(source[0], uint64(host), time.Second, mergeSeconds)
		if err != nil {
			return err
		}
		part := filepath.Join(args[0], strconv.Itoa(host%mergeParts))
		if err = os.MkdirAll(part, 0o700); err != nil {
			return err
		}
		if err = writeSynced(filepath.Join(part, streamName(host, true)), log); err != nil {
			return err
		}
	}
	return nil
}

// ingestPartsTool is the subcommand that ingests all parts at once. Its arguments are their folder and the command.
func ingestPartsTool(ctx context.Context, args []string) error {
	g, ctx := errgroup.WithContext(ctx)
	for part := range mergeParts {
		name := strconv.Itoa(part)
		command := append(args[1:len(args):len(args)], "--part", name, filepath.Join(args[0], name))
		g.Go(func() error {
			_, err := output(ctx, command...)
			return err
		})
	}
	return g.Wait()
}
