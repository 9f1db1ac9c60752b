package fiojson

import (
	"errors"
	"iter"
)

// rounds takes apart the one document that fio --client makes with --status-interval: each server's reports, one
// after the other, every one of which has all of its jobs with cumulative counts. Each round has the next report of
// every server, or its last one. A document without repetitions is its own only round.
func (m *Document) rounds() []*Document {
	if !m.ClientServer {
		return []*Document{m}
	}
	var hosts []server
	entries := map[server][]Entry{}
	for _, e := range m.Entries {
		at := server{e.Host, e.Port}
		if entries[at] == nil {
			hosts = append(hosts, at)
		}
		entries[at] = append(entries[at], e)
	}
	most := 1
	jobs := map[server]int{}
	for _, h := range hosts {
		jobs[h] = period(entries[h])
		most = max(most, len(entries[h])/jobs[h])
	}
	if most == 1 {
		return []*Document{m}
	}
	var out []*Document
	for round := range most {
		r := *m
		r.Entries = nil
		for _, h := range hosts {
			all, n := entries[h], jobs[h]
			at := min(round*n, len(all)-n)
			r.Entries = append(r.Entries, all[at:at+n]...)
		}
		out = append(out, &r)
	}
	return out
}

// server is where entries of fio --client come from.
type server struct {
	host string
	port int
}

// apart is the least difference of runtime, in ms, between two status reports. Two jobs of one name that run side by
// side differ by less.
const apart = 100

// period returns the number of jobs of a host that has these entries: the smallest number after which they repeat
// with counts that never fall.
func period(all []Entry) int {
	for n := 1; n <= len(all)/2; n++ {
		if len(all)%n == 0 && repeats(all, n) {
			return n
		}
	}
	return len(all)
}

func repeats(all []Entry, n int) bool {
	for at := n; at < len(all); at += n {
		moved := at > n && at+n == len(all) // the last report may come at any time after the one before
		for i := at; i < at+n; i++ {
			before, e := &all[i-n], &all[i]
			if before.JobName != e.JobName || before.GroupID != e.GroupID || e.LongestMS < before.LongestMS ||
				e.StartMS != before.StartMS && min(e.StartMS, before.StartMS) > 0 {
				return false
			}
			moved = moved || e.LongestMS-before.LongestMS >= apart
			for d := range e.Dirs {
				for k := range e.Dirs[d].Kind {
					if falls(&before.Dirs[d].Kind[k], &e.Dirs[d].Kind[k]) {
						return false
					}
				}
			}
		}
		if !moved {
			return false
		}
	}
	return true
}

// falls reports whether a later count is smaller, in all or in a bucket. It is true if bins cannot be read again.
func falls(before, t *Totals) bool {
	if t.N < before.N {
		return true
	}
	later, stop := iter.Pull2(t.Bins.All())
	defer stop()
	now, err, ok := later()
	for b, failed := range before.Bins.All() {
		for ok && err == nil && now.NS < b.NS {
			now, err, ok = later()
		}
		if !ok || errors.Join(failed, err) != nil || now.NS != b.NS || now.Count < b.Count {
			return true
		}
	}
	return false
}
