package source_test

import (
	"bytes"
	"io"
	"os"
	"testing"
	"time"

	"fiolat/ingest/source"
	"fiolat/internal/testlog"
)

// BenchmarkOpen reads a compressed log, decompressing it.
func BenchmarkOpen(b *testing.B) {
	raw, err := os.ReadFile("../../testdata/fio/randrw/randrw_clat_hist.1.log")
	if err != nil {
		b.Fatal(err)
	}
	log, err := testlog.Resample(raw, 1, time.Second, 600)
	if err != nil {
		b.Fatal(err)
	}
	for _, format := range []string{"plain", "gzip", "zstd"} {
		b.Run("format="+format, func(b *testing.B) {
			packed := pack(b, format, log)
			b.SetBytes(int64(len(log)))
			b.ReportAllocs()
			for b.Loop() {
				in, err := source.Open("-", bytes.NewReader(packed))
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
