package ingest_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"fiolat/ingest"
	"fiolat/internal/fiohist"
	"fiolat/internal/testlog"
)

// BenchmarkReader reads logs of 1200 records that are in memory, without and with
// the copy into the Reader's block. The files: randrw, cluster and trim are made of
// fio's own records of that name, dense has every bucket of 5 groups filled with
// counts of up to five digits, coarse is at log_hist_coarseness 6 (29 columns), and
// spaced is randrw without the space behind the commas, which fio does not write
// and scanLine leaves to parseLine.
//
//	go test -run '^$' -bench BenchmarkReader -count 10 ./ingest
//
// Compare a file with itself only: bytes per second depend on how many of them are
// zeros.
func BenchmarkReader(b *testing.B) {
	real := func(path string) []byte {
		raw, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		log, err := testlog.Resample(raw, 1, time.Second, 600)
		if err != nil {
			b.Fatal(err)
		}
		return log
	}
	randrw := real("../testdata/fio/randrw/randrw_clat_hist.1.log")
	var dense []byte
	for n := range 1200 {
		rec := ingest.Record{Time: int64(n)}
		for i := range 5 * 64 {
			rec.Index = append(rec.Index, uint16(700+i))
			rec.Count = append(rec.Count, float64(1+(i*i*i+n*n*n)*2654435761>>7%99999))
		}
		dense = ingest.AppendRecord(dense, &rec, 1856)
	}
	coarse := testlog.Config{Duration: 600 * time.Second, Rate: 300, Dirs: []ingest.Direction{ingest.Read, ingest.Write},
		Geometry: fiohist.Geometry{Groups: fiohist.GroupsV3, Coarseness: 6, Unit: 1}}.Log()
	for _, f := range []struct {
		name string
		log  []byte
	}{
		{"randrw", randrw},
		{"cluster", real("../testdata/fio/cluster/cluster_clat_hist.1.log.127.0.0.1")},
		{"trim", real("../testdata/fio/trim/trim_clat_hist.1.log")},
		{"dense", dense},
		{"coarse", coarse},
		{"spaced", bytes.ReplaceAll(randrw, []byte(", "), []byte(","))},
	} {
		lines := bytes.Count(f.log, []byte("\n"))
		read := func(b *testing.B, r *ingest.Reader) {
			n, sum := 0, uint64(0)
			for {
				rec, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					b.Fatal(err)
				}
				n++
				sum += rec.IOs
			}
			if n != lines || sum == 0 {
				b.Fatalf("%d records with %d I/Os, want %d records", n, sum, lines)
			}
		}
		b.Run("file="+f.name+"/from=memory", func(b *testing.B) {
			b.SetBytes(int64(len(f.log)))
			b.ReportAllocs()
			for b.Loop() {
				read(b, ingest.NewBytesReader(f.log, f.name, ingest.ReaderOptions{}))
			}
		})
		b.Run("file="+f.name+"/from=stream", func(b *testing.B) {
			b.SetBytes(int64(len(f.log)))
			b.ReportAllocs()
			in := bytes.NewReader(nil)
			r := ingest.NewReader(in, f.name, ingest.ReaderOptions{})
			for b.Loop() {
				in.Reset(f.log)
				r.Reset(in, f.name)
				read(b, r)
			}
		})
	}
}

// BenchmarkAppendRecord writes the records that BenchmarkReader reads.
func BenchmarkAppendRecord(b *testing.B) {
	raw, err := os.ReadFile("../testdata/fio/randrw/randrw_clat_hist.1.log")
	if err != nil {
		b.Fatal(err)
	}
	rec, err := ingest.NewBytesReader(raw, "randrw", ingest.ReaderOptions{}).Next()
	if err != nil {
		b.Fatal(err)
	}
	dst := ingest.AppendRecord(nil, rec, 1856)
	b.SetBytes(int64(len(dst)))
	b.ReportAllocs()
	for b.Loop() {
		dst = ingest.AppendRecord(dst[:0], rec, 1856)
	}
}

// BenchmarkOpen reads a compressed log, decompressing it.
func BenchmarkOpen(b *testing.B) {
	raw, err := os.ReadFile("../testdata/fio/randrw/randrw_clat_hist.1.log")
	if err != nil {
		b.Fatal(err)
	}
	log, err := testlog.Resample(raw, 1, time.Second, 600)
	if err != nil {
		b.Fatal(err)
	}
	for _, format := range []string{"plain", "gzip", "zstd", "xz"} {
		b.Run("format="+format, func(b *testing.B) {
			packed := pack(b, format, log)
			b.SetBytes(int64(len(log)))
			b.ReportAllocs()
			for b.Loop() {
				in, err := ingest.Open("-", bytes.NewReader(packed))
				if err != nil {
					b.Fatal(err)
				}
				n, err := io.Copy(io.Discard, in)
				if err != nil || n != int64(len(log)) {
					b.Fatalf("%d bytes, want %d: %v", n, len(log), err)
				}
				if err := in.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
