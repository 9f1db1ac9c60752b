package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"fiolat/ingest/fiolog"
	"fiolat/internal/testlog"
)

// realLogsGlob matches the logs from whose records all others are made.
const realLogsGlob = "testdata/fio/randrw/randrw_clat_hist.*.log"

// The size of the set of logs, to which the targets refer.
const (
	setLogs    = 32
	setRecords = 600 // in each direction, one per second
)

// logSet are the logs on disk.
type logSet struct {
	dir   string // of the plain logs
	plain []string
	// mixed has as many records, no two the same: the branch predictor learns repeated records, which flatters every
	// parser.
	mixed   []string
	gz, zst []string
	bytes   int64 // of plain
	sparse  int64 // of mixed
}

func makeSet(ctx context.Context, b *bench) (s logSet, err error) {
	fmt.Fprintln(os.Stderr, "making the set of logs")
	s.dir = filepath.Join(b.dir, "plain")
	if _, err = output(ctx, b.self, "make-set", b.dir); err != nil {
		return s, err
	}
	for _, f := range []struct {
		files *[]string
		glob  string
	}{{&s.plain, "plain/*"}, {&s.mixed, "mixed/*"}, {&s.gz, "gz/*"}, {&s.zst, "zst/*"}} {
		*f.files, _ = filepath.Glob(filepath.Join(b.dir, f.glob)) // a pattern that is right
		if len(*f.files) != setLogs {
			return s, fmt.Errorf("%d files %s, want %d", len(*f.files), f.glob, setLogs)
		}
	}
	s.bytes = size(s.plain)
	s.sparse = size(s.mixed)
	return s, nil
}

func size(files []string) (n int64) {
	for _, name := range files {
		if info, err := os.Stat(name); err == nil {
			n += info.Size()
		}
	}
	return n
}

func realLogs() (logs [][]byte, err error) {
	names, err := filepath.Glob(realLogsGlob)
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no logs %s: run this at the top of the project", realLogsGlob)
	}
	for _, name := range names {
		log, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		logs = append(logs, log)
	}
	return logs, nil
}

// logTemplate returns a template for logs like the real ones with a coarseness.
func logTemplate(coarseness int) (*testlog.Template, error) {
	source, err := realLogs()
	if err != nil {
		return nil, err
	}
	for n := range source {
		if source[n], err = coarser(source[n], coarseness); err != nil {
			return nil, err
		}
	}
	return testlog.NewTemplate(bytes.Join(source, nil))
}

// makeSetTool is the subcommand that writes the set.
func makeSetTool(_ context.Context, args []string) error {
	source, err := realLogs()
	if err != nil {
		return err
	}
	template, err := testlog.NewTemplate(bytes.Join(source, nil))
	if err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for n := range setLogs {
		g.Go(func() error {
			plain := template.Log(uint64(n), time.Second, setRecords)
			mixed, err := testlog.Resample(source[n%len(source)], uint64(n), time.Second, setRecords)
			if err != nil {
				return err
			}
			// The levels are the defaults of gzip and zstd.
			var gz, zst bytes.Buffer
			zw, _ := gzip.NewWriterLevel(&gz, 6) // 6 is a valid level
			zw.Write(mixed)                      //nolint:errcheck // into memory
			zw.Close()                           //nolint:errcheck // into memory
			sw, err := zstd.NewWriter(&zst, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(3)))
			if err != nil {
				return err
			}
			sw.Write(mixed) //nolint:errcheck // into memory
			sw.Close()      //nolint:errcheck // into memory
			for _, f := range []struct {
				dir, ending string
				data        []byte
			}{{"plain", "", plain}, {"mixed", "", mixed}, {"gz", ".gz", gz.Bytes()}, {"zst", ".zst", zst.Bytes()}} {
				dir := filepath.Join(args[0], f.dir)
				if err := os.MkdirAll(dir, 0o700); err != nil {
					return err
				}
				if err := writeSynced(filepath.Join(dir, logName(n)+f.ending), f.data); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

func logName(n int) string { return fmt.Sprintf("bench_clat_hist.%d.log", n+1) }

func streamName(n int, hosts bool) string {
	if hosts {
		return fmt.Sprintf("bench_clat_hist.1.log.host%04d", n)
	}
	return logName(n)
}

// writeSynced writes and syncs a file, so that no writeback disturbs later measurements. It stays in the page cache.
func writeSynced(name string, data []byte) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// streams are logs that are generated while they are read from named pipes.
type streams struct {
	logs, seconds, coarseness int
	hosts                     bool  // each log is of another host
	least                     int64 // bytes that must have been read
}

// contender returns a program that reads such logs. The names of the pipes are appended to args.
func (s streams) contender(b *bench, name string, args ...string) contender {
	c := contender{name: name, runs: 1}
	dir := filepath.Join(b.dir, fmt.Sprintf("pipes-%d-%d", s.logs, s.seconds))
	for n := range s.logs {
		args = append(args, filepath.Join(dir, streamName(n, s.hosts)))
	}
	c.args = args
	var maker *exec.Cmd
	var written *bytes.Buffer
	c.before = func(ctx context.Context) error {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		for n := range s.logs {
			if err := syscall.Mkfifo(filepath.Join(dir, streamName(n, s.hosts)), 0o600); err != nil {
				return err
			}
		}
		maker = exec.CommandContext(ctx, b.self, "make-logs", "-logs", strconv.Itoa(s.logs), "-seconds",
			strconv.Itoa(s.seconds),
			"-coarseness", strconv.Itoa(s.coarseness), "-hosts="+strconv.FormatBool(s.hosts), dir)
		written = new(bytes.Buffer)
		maker.Stdout, maker.Stderr = written, os.Stderr
		stopGracefully(maker)
		return maker.Start()
	}
	c.after = func(string) error {
		if err := maker.Wait(); err != nil {
			return err // not everything was read
		}
		n, err := strconv.ParseInt(strings.TrimSpace(written.String()), 10, 64)
		if err == nil && n < s.least {
			err = fmt.Errorf("%d bytes were read, want %d", n, s.least)
		}
		return err
	}
	return c
}

// makeLogsTool is the subcommand that writes logs into named pipes and prints the number of bytes.
func makeLogsTool(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("make-logs", flag.ContinueOnError)
	logs := flags.Int("logs", 1, "how many")
	seconds := flags.Int("seconds", 600, "records in each direction, one a second")
	coarseness := flags.Int("coarseness", 0, "log_hist_coarseness")
	hosts := flags.Bool("hosts", false, "each log is of a host of its own")
	if err := flags.Parse(args); err != nil {
		return err
	}
	template, err := logTemplate(*coarseness)
	if err != nil {
		return err
	}
	var g errgroup.Group
	var written atomic.Int64
	for n := range *logs {
		g.Go(func() error {
			pipe, openErr := openPipe(ctx, filepath.Join(flags.Arg(0), streamName(n, *hosts)))
			if openErr != nil {
				return openErr
			}
			block := make([]byte, 1<<20/min(*logs, 16))
			// The struct hides the file's ReadFrom, which would use a buffer of 32 KiB instead of block.
			sum, copyErr := io.CopyBuffer(struct{ io.Writer }{pipe}, template.Stream(uint64(n), time.Second, *seconds),
				block)
			written.Add(sum)
			return errors.Join(copyErr, pipe.Close())
		})
	}
	err = g.Wait()
	fmt.Println(written.Load())
	return err
}

// openPipe opens a named pipe for writing. It polls for a reader, because a blocking open would occupy a thread.
func openPipe(ctx context.Context, name string) (*os.File, error) {
	for {
		pipe, err := os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if !errors.Is(err, syscall.ENXIO) {
			return pipe, err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// coarser converts a log to a log_hist_coarseness.
func coarser(log []byte, coarseness int) (out []byte, err error) {
	r := fiolog.NewBytesReader(log, "real", fiolog.ReaderOptions{})
	for {
		rec, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		g, _ := r.Geometry()
		var c fiolog.Record
		c.Time, c.Dir = rec.Time, rec.Dir
		for k, i := range rec.Index {
			i >>= coarseness
			if n := len(c.Index); n > 0 && c.Index[n-1] == i {
				c.Count[n-1] += rec.Count[k]
				continue
			}
			c.Index, c.Count = append(c.Index, i), append(c.Count, rec.Count[k])
		}
		out = fiolog.AppendRecord(out, &c, g.Columns()>>coarseness)
	}
}

// decompressTool is the subcommand that decompresses files with the same library as fiolat and discards the output,
// GOMAXPROCS files at a time. With -drop the output is not even copied into a buffer.
func decompressTool(_ context.Context, args []string) error {
	flags := flag.NewFlagSet("decompress", flag.ContinueOnError)
	drop := flags.Bool("drop", false, "what comes out is copied nowhere")
	if err := flags.Parse(args); err != nil {
		return err
	}
	blocks := sync.Pool{New: func() any { return new([1 << 18]byte) }}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, name := range flags.Args() {
		g.Go(func() error {
			f, err := os.Open(name)
			if err != nil {
				return err
			}
			defer f.Close()
			var src io.Reader
			if filepath.Ext(name) == ".gz" {
				src, err = gzip.NewReader(f)
			} else {
				var d *zstd.Decoder
				if d, err = zstd.NewReader(f, zstd.WithDecoderConcurrency(1)); err == nil {
					defer d.Close()
				}
				src = d
			}
			if err != nil {
				return err
			}
			if *drop {
				_, err = io.Copy(io.Discard, src)
			} else {
				block := blocks.Get().(*[1 << 18]byte)
				_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{src}, block[:])
				blocks.Put(block)
			}
			return err
		})
	}
	return g.Wait()
}
