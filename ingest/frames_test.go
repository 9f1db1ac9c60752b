package ingest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// unpacked is all that comes out of packed data with so many workers, how it ends,
// and how many packed bytes these workers had.
func unpacked(t testing.TB, packed []byte, workers int) (data []byte, end string, byWorkers int64) {
	t.Helper()
	in, err := Decompress(bytes.NewReader(packed), "a.log", nil)
	if err != nil {
		t.Fatal(err)
	}
	in.Parallel(workers)
	f := in.frames
	data, err = io.ReadAll(in)
	if err != nil {
		end = err.Error()
	}
	if f != nil {
		byWorkers = f.at
	}
	if err = in.Close(); err != nil {
		t.Fatal(err)
	}
	return data, end, byWorkers
}

// gzipReads are the bytes that a decompressor of gzip had read when it found damage:
// it reads blocks, and where these lie depends on where it began.
var gzipReads = regexp.MustCompile(`(damaged gzip data within) \d+ bytes`)

// sameAsStream compares with the slow twin, the one decompressor for all, and returns
// how many packed bytes the workers had.
func sameAsStream(t testing.TB, packed []byte) (byWorkers int) {
	t.Helper()
	want, wantEnd, _ := unpacked(t, packed, 0)
	got, gotEnd, n := unpacked(t, packed, 3)
	if !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, want the same %d", len(got), len(want))
	}
	if gzipReads.ReplaceAllString(gotEnd, "$1") != gzipReads.ReplaceAllString(wantEnd, "$1") {
		t.Fatalf("after %d bytes: %q, want %q", len(got), gotEnd, wantEnd)
	}
	return int(n)
}

// zstdFrame is one frame; sized says that it tells how much comes out.
func zstdFrame(t testing.TB, data []byte, sized bool, options ...zstd.EOption) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, append(options, zstd.WithEncoderConcurrency(1))...)
	if err != nil {
		t.Fatal(err)
	}
	if sized {
		return z.EncodeAll(data, nil)
	}
	half := len(data) / 2
	_, err = z.Write(data[:half])
	err = errors.Join(err, z.Flush()) // so that it does not know the size when it begins
	_, err2 := z.Write(data[half:])
	if err = errors.Join(err, err2, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// skippableFrame is one that holds something else.
func skippableFrame(id byte, data string) []byte {
	frame := []byte{0x50 | id, 0x2A, 0x4D, 0x18}
	return append(binary.LittleEndian.AppendUint32(frame, uint32(len(data))), data...)
}

// gzipMember is one as gzip writes it.
func gzipMember(t testing.TB, data, extra []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Extra = extra
	_, err := z.Write(data)
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// bgzipMember is one as bgzip writes it, with fields before its own.
func bgzipMember(t testing.TB, data []byte, fields string) []byte {
	t.Helper()
	member := gzipMember(t, data, []byte(fields+"BC\x02\x00__"))
	binary.LittleEndian.PutUint16(member[12+len(fields)+4:], uint16(len(member)-1))
	return member
}

// pieces cuts data into pieces of size bytes, each made what pack returns.
func pieces(data []byte, size int, pack func([]byte) []byte) (all []byte) {
	for len(data) > 0 {
		n := min(size, len(data))
		all = append(all, pack(data[:n])...)
		data = data[n:]
	}
	return all
}

// packedFile is a file as some program packs it in pieces.
type packedFile struct {
	name   string
	packed []byte
	left   int // bytes that are for the one decompressor
}

func packedFiles(t testing.TB, data []byte) []packedFile {
	t.Helper()
	size := max(len(data)/7, 1)
	zst := func(sized bool, options ...zstd.EOption) func([]byte) []byte {
		return func(p []byte) []byte { return zstdFrame(t, p, sized, options...) }
	}
	gz := func(p []byte) []byte { return gzipMember(t, p, nil) }
	bgzip := func(p []byte) []byte { return bgzipMember(t, p, "") }
	nothing := zstdFrame(t, nil, true, zstd.WithZeroFrames(true))
	zsts, bgzips := pieces(data, size, zst(true)), pieces(data, size, bgzip)
	lying := func(by int) []byte { // about where the first member ends
		all := bytes.Clone(bgzips)
		binary.LittleEndian.PutUint16(all[16:], uint16(int(binary.LittleEndian.Uint16(all[16:]))+by))
		return all
	}
	with := func(all []byte, end string) []byte { return append(bytes.Clone(all), end...) }
	return []packedFile{
		{"zstd, one frame", zstdFrame(t, data, false), 0},
		{"zstd, one that tells its size", zstdFrame(t, data, true), 0},
		{"zstd, no data", nothing, 0},
		{"zstd, parts", pieces(data, size, zst(false)), 0},
		{"zstd, no checksum", pieces(data, size, zst(true, zstd.WithEncoderCRC(false))), 0},
		{"pzstd", pieces(data, size, func(p []byte) []byte {
			frame := zstdFrame(t, p, false)
			return append(skippableFrame(0, string(binary.LittleEndian.AppendUint32(nil, uint32(len(frame))))), frame...)
		}), 0},
		{"zstd, seekable", append(bytes.Clone(zsts), skippableFrame(14, "a table of where the frames begin")...), 0},
		{"zstd, only to skip", bytes.Repeat(skippableFrame(3, "no data"), 3), 0},
		{"zstd, empty frames", pieces(data, size, func(p []byte) []byte { return append(bytes.Clone(nothing), zstdFrame(t, p, true)...) }), 0},
		{"zstd, then garbage", with(zsts, "garbage"), 7},
		{"zstd, then gzip", with(zsts, string(gz(data))), len(gz(data))},
		{"zstd, then half a magic", with(zsts, "\x28\xB5"), 2},
		{"gzip", gz(data), len(gz(data))},
		{"gzip, parts", pieces(data, size, gz), len(pieces(data, size, gz))},
		{"bgzip", with(bgzips, string(bgzip(nil))), 0},
		{"bgzip, more fields", pieces(data, size, func(p []byte) []byte { return bgzipMember(t, p, "XY\x03\x00abc") }), 0},
		{"bgzip, then gzip", with(bgzips, string(gz(data))), len(gz(data))},
		{"bgzip, then garbage", with(bgzips, "garbage"), 7},
		{"bgzip, then zeros", with(bgzips, string(make([]byte, 700))), 700},
		{"bgzip, a size too small", lying(-5), len(bgzips)},
		{"bgzip, a size too large", lying(5), len(bgzips)},
	}
}

// TestParallel: what was packed in pieces comes out as from the one decompressor, and
// the workers had all of it that they can have.
func TestParallel(t *testing.T) {
	t.Parallel()
	log := realLog(t)
	for _, f := range packedFiles(t, log) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			if n := sameAsStream(t, f.packed); n != len(f.packed)-f.left {
				t.Errorf("the workers had %d of %d bytes, want all but %d", n, len(f.packed), f.left)
			}
		})
	}
	// Several pieces of 1 MiB and more at a time.
	long := bytes.Repeat(log, 400_000/len(log))
	for _, f := range packedFiles(t, long) {
		t.Run(f.name+", long", func(t *testing.T) {
			t.Parallel()
			sameAsStream(t, bytes.Repeat(f.packed, 12))
		})
	}
}

// TestParallel_Damaged cuts small files after each byte, and bends each byte.
func TestParallel_Damaged(t *testing.T) {
	t.Parallel()
	log := realLog(t)[:4000]
	for _, f := range packedFiles(t, log) {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			for at := range f.packed {
				sameAsStream(t, f.packed[:at])
				bent := bytes.Clone(f.packed)
				for _, bit := range []byte{0x01, 0x80, 0xFF} {
					bent[at] = f.packed[at] ^ bit
					sameAsStream(t, bent)
				}
			}
		})
	}
}

func realLog(t testing.TB) []byte {
	t.Helper()
	log, err := os.ReadFile("../testdata/fio/randrw/randrw_clat_hist.1.log")
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// TestParallel_Real: files as the programs leave them, of one log or of one 24 times.
func TestParallel_Real(t *testing.T) {
	t.Parallel()
	log := realLog(t)
	for _, tt := range []struct {
		file string
		want []byte
	}{
		{"pzstd-1.5.4.zst", bytes.Repeat(log, 24)}, // pzstd -1: frames of 2 MiB
		{"bgzip-1.16.gz", log},
	} {
		packed, err := os.ReadFile("testdata/packed/" + tt.file)
		if err != nil {
			t.Fatal(err)
		}
		for _, workers := range []int{0, 1, 2, 16} {
			got, end, n := unpacked(t, packed, workers)
			if end != "" || !bytes.Equal(got, tt.want) {
				t.Errorf("%s, %d workers: %d bytes, want %d; %s", tt.file, workers, len(got), len(tt.want), end)
			}
			if workers > 0 && n != int64(len(packed)) {
				t.Errorf("%s: %d workers had %d of %d bytes", tt.file, workers, n, len(packed))
			}
		}
	}
}

// TestParallel_Memory: of frames that become a hundred times as much, and of those too
// large to be held, there is never more in memory than the bound says.
func TestParallel_Memory(t *testing.T) {
	t.Parallel()
	line := []byte("0, ")
	frame := func(size int) []byte { return zstdFrame(t, bytes.Repeat(line, size/len(line)), true) }
	for _, tt := range []struct {
		name         string
		packed       []byte
		units, bytes int // at least so many, at work or kept for the next
	}{
		{"usual frames of pzstd", bytes.Repeat(frame(8<<20), 30), 4, 30 << 20},
		{"its largest", bytes.Repeat(frame(maxFrame), 5), 2, 60 << 20},
		{"too large", bytes.Repeat(frame(maxFrame+10), 2), 0, 0},
		{"small ones", bytes.Repeat(frame(64<<10), 2000), 16, 16 << 20},
		{"nothing in them", bytes.Repeat(skippableFrame(1, "no"), 400_000), 4, 3 << 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, err := Decompress(bytes.NewReader(tt.packed), "a.log", nil)
			if err != nil {
				t.Fatal(err)
			}
			in.Parallel(16)
			f, block := in.frames, make([]byte, 256<<10)
			packed, out, units, n := 0, 0, 0, 0
			for err == nil {
				n, err = in.Read(block)
				held := append(slices.Clone(f.queue), f.spare...)
				if f.now != nil {
					held = append(held, f.now)
				}
				units = max(units, len(held))
				nowPacked, nowOut := cap(f.buf), 0
				for _, u := range held {
					nowPacked, nowOut = nowPacked+cap(u.packed), nowOut+cap(u.room)
				}
				packed, out = max(packed, nowPacked), max(out, nowOut)
			}
			if !errors.Is(err, io.EOF) {
				t.Fatal(n, err)
			}
			if units < tt.units || max(packed, out) < tt.bytes || max(packed, out) > maxFrames+maxFrame/8 {
				t.Errorf("%d units, want %d at least; %d bytes packed and %d unpacked, want %d at least", units, tt.units, packed, out, tt.bytes)
			}
			if err := in.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestParallel_Close: a file that is not read to its end leaves nothing at work.
func TestParallel_Close(t *testing.T) {
	t.Parallel()
	packed := bytes.Repeat(zstdFrame(t, bytes.Repeat(realLog(t), 10), true), 20)
	in, err := Decompress(bytes.NewReader(packed), "a.log", nil)
	if err != nil {
		t.Fatal(err)
	}
	in.Parallel(4)
	f := in.frames
	if _, err = in.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	if err = in.Close(); err != nil {
		t.Fatal(err)
	}
	if len(f.queue) == 0 {
		t.Fatal("nothing was at work")
	}
	for _, u := range f.queue {
		select {
		case <-u.done:
		default:
			t.Fatal("it is still at work")
		}
	}
	if _, err = in.Read(make([]byte, 10)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("read after the end: %v", err)
	}
}

// TestParallel_InputError: an error of the file comes after all that was before it.
func TestParallel_InputError(t *testing.T) {
	t.Parallel()
	broken := errors.New("the cable is out")
	for _, f := range packedFiles(t, realLog(t)[:20_000]) {
		for _, from := range []int{6, max(6, len(f.packed)/2), max(6, len(f.packed)-f.left)} {
			var got [2][]byte
			for workers := range got {
				in, err := Decompress(io.MultiReader(bytes.NewReader(f.packed[:from]), iotest.ErrReader(broken)), "a.log", nil)
				if err != nil {
					t.Fatal(err)
				}
				in.Parallel(workers)
				got[workers], err = io.ReadAll(in)
				if !errors.Is(err, broken) {
					t.Errorf("%s, %d workers, after %d bytes: %v", f.name, workers, from, err)
				}
				if err = in.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if !bytes.Equal(got[0], got[1]) {
				t.Errorf("%s, after %d bytes: %d bytes, want %d", f.name, from, len(got[1]), len(got[0]))
			}
		}
	}
}

// TestParallel_FileChanges: a file that does not stay what it was is named.
func TestParallel_FileChanges(t *testing.T) {
	t.Parallel()
	packed := bytes.Repeat(zstdFrame(t, bytes.Repeat(realLog(t), 5), true), 200)
	for name, tt := range map[string]struct {
		size int64
		want string
	}{"cut": {int64(len(packed) / 2), "was cut from"}, "longer": {int64(len(packed) + 1), "was extended from"}} {
		for _, workers := range []int{0, 1, 3} {
			path := filepath.Join(t.TempDir(), "a.log")
			if err := os.WriteFile(path, packed, 0o600); err != nil {
				t.Fatal(err)
			}
			file, err := new(Files).Open(path, nil)
			if err != nil {
				t.Fatal(err)
			}
			in, err := Decompress(file, path, file)
			if err != nil {
				t.Fatal(err)
			}
			in.Parallel(workers)
			if _, err = in.Read(make([]byte, 10)); err == nil {
				err = os.Truncate(path, tt.size)
			}
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.ReadAll(in)
			var bad *ParseError
			if !errors.As(err, &bad) || !strings.Contains(bad.Msg, tt.want) || bad.File != path {
				t.Errorf("%s, %d workers: %v", name, workers, err)
			}
			if err = in.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// FuzzParallel: whatever the file, workers change neither what comes out nor the error.
func FuzzParallel(f *testing.F) {
	for _, file := range packedFiles(f, realLog(f)[:3000]) {
		f.Add(file.packed)
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		if len(packed) < 1<<20 {
			sameAsStream(t, packed)
		}
	})
}

// BenchmarkParallel decompresses a log of 26 MB that was packed in pieces: with 0
// workers in the one decompressor.
func BenchmarkParallel(b *testing.B) {
	r := NewBytesReader(realLog(b), "real", ReaderOptions{})
	var real []*Record
	for rec, err := r.Next(); err == nil; rec, err = r.Next() {
		real = append(real, rec.Clone())
	}
	var log []byte
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 4800 {
		rec := real[n%len(real)].Clone()
		rec.Time = int64(n) * 500
		for i := range rec.Count { // no two the same
			rec.Count[i] += float64(rng.Uint64N(1 + uint64(rec.Count[i])/4))
		}
		log = AppendRecord(log, rec, 1856)
	}
	for _, f := range []struct {
		name   string
		packed []byte
	}{
		{"pzstd", pieces(log, 8<<20, func(p []byte) []byte { return zstdFrame(b, p, false) })},
		{"seekable", pieces(log, 1<<20, func(p []byte) []byte { return zstdFrame(b, p, true) })},
		{"bgzip", pieces(log, 0xFF00, func(p []byte) []byte { return bgzipMember(b, p, "") })},
	} {
		for _, workers := range []int{0, 1, 2, 4} {
			b.Run(fmt.Sprintf("file=%s/workers=%d", f.name, workers), func(b *testing.B) {
				block := make([]byte, defaultBlock)
				b.SetBytes(int64(len(log)))
				b.ReportAllocs()
				for b.Loop() {
					in, err := Decompress(bytes.NewReader(f.packed), f.name, nil)
					if err != nil {
						b.Fatal(err)
					}
					in.Parallel(workers)
					n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, in, block)
					if err = errors.Join(err, in.Close()); err != nil || n != int64(len(log)) {
						b.Fatalf("%d bytes, want %d: %v", n, len(log), err)
					}
				}
			})
		}
	}
}
