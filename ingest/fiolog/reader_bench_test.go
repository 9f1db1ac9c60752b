package fiolog_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"fiolat/fio"
	"fiolat/fio/fiohist"
	"fiolat/ingest/fiolog"
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
	randrw := real("../../testdata/fio/randrw/randrw_clat_hist.1.log")
	var dense []byte
	for n := range 1200 {
		rec := fiolog.Record{Time: int64(n)}
		for i := range 5 * 64 {
			rec.Index = append(rec.Index, uint16(700+i))
			rec.Count = append(rec.Count, float64(1+(i*i*i+n*n*n)*2654435761>>7%99999))
		}
		dense = fiolog.AppendRecord(dense, &rec, 1856)
	}
	coarse := testlog.Config{Duration: 600 * time.Second, Rate: 300, Dirs: []fio.Direction{fio.Read,
		fio.Write},
		Geometry: fiohist.Geometry{Groups: fiohist.GroupsV3, Coarseness: 6, Unit: 1}}.Log()
	for _, f := range []struct {
		name string
		log  []byte
	}{
		{"randrw", randrw},
		{"cluster", real("../../testdata/fio/cluster/cluster_clat_hist.1.log.127.0.0.1")},
		{"trim", real("../../testdata/fio/trim/trim_clat_hist.1.log")},
		{"dense", dense},
		{"coarse", coarse},
		{"spaced", bytes.ReplaceAll(randrw, []byte(", "), []byte(","))},
	} {
		lines := bytes.Count(f.log, []byte("\n"))
		read := func(b *testing.B, r *fiolog.Reader) {
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
				read(b, fiolog.NewBytesReader(f.log, f.name, fiolog.ReaderOptions{}))
			}
		})
		b.Run("file="+f.name+"/from=stream", func(b *testing.B) {
			b.SetBytes(int64(len(f.log)))
			b.ReportAllocs()
			in := bytes.NewReader(nil)
			r := fiolog.NewReader(in, f.name, fiolog.ReaderOptions{})
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
	raw, err := os.ReadFile("../../testdata/fio/randrw/randrw_clat_hist.1.log")
	if err != nil {
		b.Fatal(err)
	}
	rec, err := fiolog.NewBytesReader(raw, "randrw", fiolog.ReaderOptions{}).Next()
	if err != nil {
		b.Fatal(err)
	}
	dst := fiolog.AppendRecord(nil, rec, 1856)
	b.SetBytes(int64(len(dst)))
	b.ReportAllocs()
	for b.Loop() {
		dst = fiolog.AppendRecord(dst[:0], rec, 1856)
	}
}
