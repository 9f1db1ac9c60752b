package logs

import (
	"strconv"

	"fiolat/fio"
	"fiolat/fio/fiohist"
)

// bursts place the I/Os of a job that pauses for its thinktime after each thinktime_blocks of them. I/O number i, from
// 0, is in burst i div size, and a record's stamp is the completion of its last I/O. What the pauses leave of the time
// between two stamps, the record's I/Os share evenly.
type bursts struct {
	think int64 // ns between two of them
	size  int64 // I/Os

	at          int64 // end of what is placed, ns on the log's clock
	done        int64 // I/Os
	busy, timed int64 // ns that I/Os took, but for those of a first burst, and their number
	part        fiohist.Sparse
}

// bursts returns those of a direction, from the start of the job on; nil if the job has none, or if something blurs
// their phase.
func (l *State) bursts(dir fio.Direction) *bursts {
	const least = 100 * msec
	blocks, ok := l.job.Option("thinktime_blocks")
	if !ok {
		return nil
	}
	size, _ := strconv.ParseInt(blocks, 10, 64)
	kind, _ := l.job.Option("thinktime_blocks_type")
	_, blurred := l.job.Set("ramp_time", "thinktime_iotime", "verify")
	think, e := l.job.Think(), l.Entry
	if size < 2 || think < least || kind == "issue" || blurred || !l.job.Sure || e == nil || l.Absolute ||
		l.began == farPast || e.Error != 0 || e.Errors != 0 ||
		l.cfg.Settings.RecordTime == fio.RecordTimeStart {
		return nil
	}
	for d := range e.Dirs {
		if fio.Direction(d) != dir && e.Dirs[d].TotalIOs > 0 {
			return nil
		}
	}
	b := &bursts{think: think, size: size, at: l.began}
	of := &e.Dirs[dir]
	pauses := b.pauses(int64(of.Kind[fio.Clat].N))
	if l.Members == 1 && b.over(pauses, of.RuntimeMS*msec-pauses*think) {
		return nil
	}
	return b
}

// pauses returns how many pauses lie between what is placed and the last of the next ios I/Os.
func (b *bursts) pauses(ios int64) int64 { return (b.done+ios-1)/b.size - max(b.done-1, 0)/b.size }

// over reports whether pauses do not fit: they leave so much less than no time.
func (b *bursts) over(pauses, left int64) bool { return left < -3*msec*(pauses+1) }

// fits reports whether the pauses fit between the stamps of records.
func (b bursts) fits(records []stamped) bool {
	for i := range records {
		r := &records[i]
		pauses := b.pauses(int64(r.ios))
		if b.over(pauses, r.time-b.at-pauses*b.think) {
			return false
		}
		b.done, b.at = b.done+int64(r.ios), r.time
	}
	return true
}

// place places a record with that stamp. It returns false, and places nothing, if the pauses do not fit.
func (b *bursts) place(stamp int64, c *fiohist.Sparse, emit func(portion)) bool {
	ios := int64(c.Sum())
	pauses := b.pauses(ios)
	left := stamp - b.at - pauses*b.think
	if b.over(pauses, left) {
		return false
	}
	left = max(left, 0)
	if b.done+pauses > 0 {
		b.busy, b.timed = b.busy+left, b.timed+ios
	}
	for from, to := b.done, b.done+ios; b.done < to; {
		if b.done > 0 && b.done%b.size == 0 {
			b.at += b.think
		}
		n := min(b.size-b.done%b.size, to-b.done)
		took := int64(float64(left) * float64(n) / float64(ios))
		start := min(b.at, stamp-msec)
		b.part.Share(c, float64(b.done-from)/float64(ios), float64(b.done+n-from)/float64(ios))
		emit(portion{start: start, end: min(max(b.at+took, start+msec), max(stamp, b.at+msec)), counts: &b.part})
		b.at, b.done = b.at+took, b.done+n
	}
	b.at = stamp
	return true
}

// next returns when the next ios I/Os are done, at the pace of those before.
func (b *bursts) next(ios int64) int64 {
	return b.at + b.pauses(ios)*b.think + int64(float64(ios)*float64(b.busy)/float64(max(b.timed, 1)))
}
