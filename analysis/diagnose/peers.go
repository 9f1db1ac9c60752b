package diagnose

import (
	"math"
	"slices"
	"strings"

	"fiolat/analysis/figures"
	"fiolat/fio"
	"fiolat/ingest/fiojson"
)

// work returns what a job of a host does in a direction, by its options. If these are unknown, it is the job's name
// without digits: jobs that do the same are usually numbered.
func (w *Watch) work(direction, host, job string) string {
	key := [3]string{direction, host, job}
	work, ok := w.works[key]
	if ok {
		return work
	}
	var own []*fiojson.Document // hosts that ran apart may have different jobs of one name
	for _, l := range w.run.Logs {
		if l.Log != nil && l.Host == host && l.Job == job && l.Meta != nil && !slices.Contains(own, l.Meta) {
			own = append(own, l.Meta)
		}
	}
	if own == nil {
		own = w.run.Metas
	}
	work = fiojson.Work(figures.Options(own, w.run.Logs, direction, host, job))
	if work == "" {
		work = strings.Map(func(r rune) rune {
			if '0' <= r && r <= '9' {
				return -1
			}
			return r
		}, job)
	}
	if w.works == nil {
		w.works = map[[3]string]string{}
	}
	w.works[key] = work
	return work
}

// part is what members of a group are compared in.
type part struct {
	blocks [][]member // as in group
	work   string     // "" if it is all that the members do
	class  []int      // by member: those of one class are peers; -1: not in this part
	peers  [][]int    // by class: its members
}

// like is what of a hit's members is compared with the same of others, if that is not all: some of their logs, and the
// jobs of these where members are hosts.
type like struct {
	logs  map[string]bool
	jobs  []string
	peers []int // of jobs and logs: those that are compared
}

// compares reports whether a member is one of those that are compared.
func (l *like) compares(v int) bool { return l == nil || l.peers == nil || slices.Contains(l.peers, v) }

// logsOf returns the group of logs of a direction.
func (b *board) logsOf(direction string) *group {
	return b.group(direction, slices.Index(dimensions, fio.ByLog))
}

// parts returns how the members of a group are compared. Jobs and logs that do different work are no peers. Hosts are
// compared work by work, if their jobs differ.
func (w *Watch) parts(g *group) []part {
	logs := w.board.logsOf(g.direction)
	works := make([][]string, len(g.names)) // by member, each once
	var all []string
	for _, by := range logs.parents {
		work := w.work(g.direction, by[0], by[1])
		if v, ok := g.index[by[g.dimension]]; ok && !slices.Contains(works[v], work) {
			works[v] = append(works[v], work)
		}
		if !slices.Contains(all, work) {
			all = append(all, work)
		}
	}
	if len(all) < 2 || dimensions[g.dimension] != fio.ByHost {
		p, classes := part{blocks: g.blocks}, map[string]int{}
		for v := range g.names {
			slices.Sort(works[v])
			key := strings.Join(works[v], "\n")
			c, ok := classes[key]
			if !ok {
				c = len(classes)
				classes[key] = c
			}
			p.add(c)
		}
		return []part{p}
	}
	parts := make([]part, len(all))
	for i, work := range all {
		p := &parts[i]
		p.work, p.blocks = work, make([][]member, len(logs.blocks))
		for v := range g.names {
			p.add(min(slices.Index(works[v], work), 0))
		}
		for l, by := range logs.parents {
			v, ok := g.index[by[g.dimension]]
			if !ok || w.work(g.direction, by[0], by[1]) != work {
				continue
			}
			for t, block := range logs.blocks {
				if l < len(block) {
					p.blocks[t] = addMember(p.blocks[t], v, block[l])
				}
			}
		}
	}
	return parts
}

// add adds the class of the next member.
func (p *part) add(class int) {
	if class == len(p.peers) {
		p.peers = append(p.peers, nil)
	}
	if class >= 0 {
		p.peers[class] = append(p.peers[class], len(p.class))
	}
	p.class = append(p.class, class)
}

// fewestPeers is the least number of members of which one can stand out.
const fewestPeers = 3

// offsets adds to off, by member, how far each is from the median of its peers in a block, where that is known, and
// counts in n to how many that is. unknown reports whether a member's value must not be used.
func (p *part) offsets(q, t int, unknown func(v int) bool, off, n []float64) {
	if t >= len(p.blocks) {
		return
	}
	var values, known []float64
	for _, peers := range p.peers {
		if len(peers) < fewestPeers {
			continue
		}
		values, known = values[:0], known[:0]
		for _, v := range peers {
			x := math.NaN()
			if v < len(p.blocks[t]) && !unknown(v) {
				x = p.blocks[t][v].value(q)
			}
			values = append(values, x)
			if !math.IsNaN(x) {
				known = append(known, x)
			}
		}
		if len(known) < 2 || 2*len(known) < len(peers) {
			continue
		}
		slices.Sort(known)
		for i, v := range peers {
			if x := values[i]; !math.IsNaN(x) {
				off[v], n[v] = off[v]+x-othersMedian(known, x), n[v]+1
			}
		}
	}
}

// class is the class of a member's peers. Hosts that are compared work by work are all peers.
func (f *field) class(v int) int {
	if len(f.parts) > 1 {
		return 0
	}
	return f.parts[0].class[v]
}

// peers is how many members a member is compared with, and itself.
func (f *field) peers(v int) int {
	if len(f.parts) > 1 {
		return len(f.names)
	}
	return len(f.parts[0].peers[f.class(v)])
}

// like sets what of a hit's members is compared: of hosts the work in which they are as far off as in all together, of
// jobs and logs those that are peers of the one that is furthest off.
func (w *Watch) like(h *hit, f *field) {
	work, first, most := "", h.members[0], math.Inf(-1)
	switch {
	case len(f.parts) > 1:
		off, n := make([]float64, len(f.names)), make([]float64, len(f.names))
		nearest := math.Inf(1)
		for i := range f.parts {
			clear(off)
			clear(n)
			for t := h.from; t < h.to; t++ {
				f.parts[i].offsets(h.measure, t, func(int) bool { return false }, off, n)
			}
			sum, all := 0.0, 0.0
			for _, v := range h.members {
				sum, all = sum+off[v], all+n[v]
			}
			if apart := math.Abs(sum/all - h.size); apart < nearest {
				work, nearest = f.parts[i].work, apart
			}
		}
	case len(f.parts[0].peers) == 1:
		return
	default:
		for _, v := range h.members {
			if size := f.mean(h.measure, v, h.window); size > most {
				first, most = v, size
			}
		}
	}
	h.like = &like{logs: map[string]bool{}}
	if work == "" {
		h.like.peers = f.parts[0].peers[f.class(first)]
	}
	logs := w.board.logsOf(f.direction)
	for l, by := range logs.parents {
		v, ok := f.index[by[f.dimension]]
		if !ok || f.class(v) != f.class(first) || work != "" && w.work(f.direction, by[0], by[1]) != work {
			continue
		}
		h.like.logs[logs.names[l]] = true
		if work != "" && slices.Contains(h.members, v) && !slices.Contains(h.like.jobs, by[1]) {
			h.like.jobs = append(h.like.jobs, by[1])
		}
	}
}

// lone returns the hits of jobs that have no peers: what they do over time, while jobs that do other work run. found
// are the hits of members.
func (w *Watch) lone(direction string, t *times, found []hit, fields []*field) (out []hit) {
	jobs := w.board.group(direction, slices.Index(dimensions, fio.ByJob))
	p := w.parts(jobs)[0]
	if len(p.peers) < 2 {
		return nil
	}
	for _, members := range p.peers {
		names := make([]string, len(members))
		for i, v := range members {
			names[i] = jobs.names[v]
		}
		others := func(k int) bool {
			return slices.ContainsFunc(jobs.running(k), func(v int) bool { return !slices.Contains(members, v) })
		}
		sum := func(k int) member { return jobs.sum(k, members) }
		for _, c := range w.courses(direction, t.of(names), sum) {
			if !others((c.from + c.to) / 2) {
				continue
			}
			c.tries = len(p.peers)
			for _, h := range c.find() {
				if h.to-h.from < shortest || is[drift](&h) { // p99 of a single job's block may be one I/O
					continue
				}
				h.who, h.direction = who{group: jobs, members: members, alone: true}, direction
				if !explained(&h, found, fields) {
					out = append(out, h)
				}
			}
		}
	}
	return out
}

// running returns the members with I/O in a block.
func (g *group) running(k int) (out []int) {
	for v := range g.names {
		if k < len(g.blocks) && v < len(g.blocks[k]) && g.blocks[k][v].n > 0 {
			out = append(out, v)
		}
	}
	return out
}

// sum adds up members in a block.
func (g *group) sum(k int, members []int) member {
	var sum []member
	for _, v := range members {
		if k < len(g.blocks) && v < len(g.blocks[k]) {
			sum = addMember(sum, 0, g.blocks[k][v])
		}
	}
	if sum == nil {
		return member{}
	}
	return sum[0]
}

// of returns the times of some jobs.
func (t *times) of(jobs []string) *times {
	out := &times{}
	for i, l := range t.logs {
		if slices.Contains(jobs, l.Job) {
			out.add(l, t.whole[i], t.stalled[i], t.loads[i])
		}
	}
	out.setLoad = len(out.logs) > 0 && !slices.Contains(out.loads, false)
	return out
}

// explains reports whether lone hits explain a hit of all: only these jobs, not most, have it. Otherwise the hit of all
// says it, and lone gets rid of those of its time.
func (w *Watch) explains(all *hit, lone []hit) (left []hit, ok bool) {
	jobs := w.board.group(all.direction, slices.Index(dimensions, fio.ByJob))
	var now []hit
	named := 0
	for i := range lone {
		if o := &lone[i]; o.mostlyShorter(all.window) {
			now, named = append(now, *o), named+len(o.members)
		} else {
			left = append(left, *o)
		}
	}
	if len(now) == 0 {
		return lone, false
	}
	if 2*named <= len(jobs.running((all.from+all.to)/2)) && explained(all, now, []*field{{group: jobs}}) {
		return lone, true
	}
	return left, false
}

// rates returns a member's I/Os per second inside and outside a lone hit; block is the length of a block in seconds.
func (h *hit) rates(block float64) *beforeAfter {
	var n, sums [2]float64
	for t := h.outside.from; t < h.outside.to; t++ {
		k := btoi(!h.inside(t))
		n[k], sums[k] = n[k]+block, sums[k]+float64(h.group.sum(t, h.members).n)
	}
	return &beforeAfter{sums[0] / max(n[0], block), sums[1] / max(n[1], block)}
}

// subject returns who a hit of members is about. The logs of a job of one of several hosts are that job.
func (h *hit) subject(f *Finding) (subject string, plural bool) {
	if f.Dimension == fio.ByLog {
		of, n, several := h.group.parents[h.members[0]], 0, false
		for _, by := range h.group.parents {
			several = several || by[0] != of[0]
			n += btoi(by[0] == of[0] && by[1] == of[1])
		}
		others := slices.ContainsFunc(h.members, func(v int) bool {
			by := h.group.parents[v]
			return by[0] != of[0] || by[1] != of[1]
		})
		if several && !others && n == len(h.members) && of[0] != "" && of[1] != "" {
			return "Job " + of[1] + " of host " + of[0], false
		}
	}
	return named(f.Dimension, f.Who, h.group.names)
}
