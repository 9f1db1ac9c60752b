package pipeline

import (
	"strings"

	"fiolat/ingest/fiojson"
	"fiolat/ingest/jobfile"
)

// SetBytes sets the size of the logs' I/Os: those of an entry of fio's JSON are as large as its bytes over its I/Os,
// and where it stands for sections with different block sizes, in proportion to these. entryOf returns nil for a log
// whose entry turned out to belong to another run.
func SetBytes(logs []*Log, entryOf func(*Log) *fiojson.Entry) {
	type direction struct {
		entry *fiojson.Entry
		dir   int
	}
	factor := map[direction][2]float64{} // I/Os, and bytes by block size
	each := func(l *Log, d int) (size float64, of direction, counted bool) {
		size, known := l.blockSize(d)
		e := entryOf(l)
		if e != nil && !known {
			size = 1
		}
		return size, direction{e, d}, e != nil
	}
	for _, l := range logs {
		for d := range l.Dirs {
			if size, of, counted := each(l, d); counted {
				sum := factor[of]
				factor[of] = [2]float64{sum[0] + l.Dirs[d].IOs, sum[1] + l.Dirs[d].IOs*size}
			}
		}
	}
	for _, l := range logs {
		for d := range l.Dirs {
			size, of, counted := each(l, d)
			if l.Dirs[d].Bytes = l.Dirs[d].IOs * size; !counted || l.Dirs[d].IOs == 0 {
				continue
			}
			t := &of.entry.Dirs[d]
			if t.TotalIOs == 0 {
				t = &of.entry.Mixed
			}
			if t.TotalIOs == 0 || t.Bytes == 0 {
				l.Dirs[d].Bytes = 0
				continue
			}
			l.Dirs[d].Bytes *= float64(t.Bytes) / float64(t.TotalIOs) * factor[of][0] / factor[of][1]
		}
	}
}

// blockSize returns the size of a direction's I/Os by the job's options, if all have the same.
func (l *Log) blockSize(d int) (float64, bool) {
	if l.Section == nil {
		return 0, false
	}
	for _, name := range []string{"bssplit", "bsrange", "bs_unaligned"} {
		if _, split := l.Section.Options[name]; split {
			return 0, false
		}
	}
	bs := l.Section.Options["bs"]
	if bs == "" {
		bs = l.Section.Options["blocksize"]
	}
	if bs == "" {
		bs = "4k"
	}
	sizes := strings.Split(bs, ",")
	return jobfile.Size(sizes[min(d, len(sizes)-1)])
}
