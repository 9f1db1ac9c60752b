package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiolog"
)

// floor is what percentiles cost at least: the same parser and histograms, but each log is opened once, its windows end
// at its stamps, and nothing is checked, restored or put right.
func floor(b *bench, dir string) contender {
	return contender{name: "a parser and histograms alone", runs: 1, args: []string{b.self, "floor", dir},
		after: atLeastLines(2)}
}

// floorTool is the subcommand that prints percentiles by second and direction of the logs in a directory.
func floorTool(_ context.Context, args []string) error {
	logs, err := filepath.Glob(filepath.Join(args[0], "*_clat_hist.*"))
	if err != nil {
		return err
	}
	const workers = 2
	type cell struct {
		second int64
		dir    fio.Direction
	}
	var geometry fiohist.Geometry
	sums := make([]map[cell]*fiohist.Hist, workers)
	var g errgroup.Group
	for w := range workers {
		sums[w] = map[cell]*fiohist.Hist{}
		g.Go(func() error {
			var r *fiolog.Reader
			for i := w; i < len(logs); i += workers {
				f, err := os.Open(logs[i])
				if err != nil {
					return err
				}
				if r == nil {
					r = fiolog.NewReader(f, logs[i], fiolog.ReaderOptions{Block: 64 << 10})
				} else {
					r.Reset(f, logs[i])
				}
				var last [fio.Directions]int64
				for {
					rec, err := r.Next()
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						return err
					}
					from, to := last[rec.Dir], max(rec.Time, last[rec.Dir]+1)
					last[rec.Dir] = to
					for q, before := from/1000, 0.0; q*1000 < to; q++ {
						at := cell{q, rec.Dir}
						if sums[w][at] == nil {
							sums[w][at] = new(fiohist.Hist)
						}
						upTo := float64(min((q+1)*1000, to)-from) / float64(to-from)
						sums[w][at].AddShare(rec.Index, rec.Count, 0, before, upTo)
						before = upTo
					}
				}
				if err := f.Close(); err != nil {
					return err
				}
			}
			if r != nil && w == 0 {
				geometry, _ = r.Geometry()
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	var order []cell
	for _, more := range sums[1:] {
		for at, h := range more {
			if sums[0][at] == nil {
				sums[0][at] = new(fiohist.Hist)
			}
			sums[0][at].AddHist(h)
		}
	}
	for at := range sums[0] {
		order = append(order, at)
	}
	slices.SortFunc(order, func(a, b cell) int {
		return cmp.Or(cmp.Compare(a.second, b.second), cmp.Compare(a.dir, b.dir))
	})
	out := bufio.NewWriter(os.Stdout)
	wanted := []float64{50, 90, 99, 99.9, 99.99}
	for _, at := range order {
		s := sums[0][at].Stats(geometry, wanted, fiohist.Limits{})
		fmt.Fprintln(out, at.second, at.dir, s.Samples, strings.Trim(fmt.Sprint(s.Percentiles), "[]"))
	}
	return out.Flush()
}
