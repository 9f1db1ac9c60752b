package ingest

import (
	"fmt"
	"slices"
	"time"
)

// A log counts from the end of its job's startdelay and ramp_time. A job behind a
// stonewall begins when all before it have ended: at the sum over the earlier
// stages of the longest startdelay + ramp_time + runtime.

// job is what starts together: a section of the job file, or an entry of the JSON.
type job struct {
	lead  time.Duration // startdelay + ramp_time
	run   time.Duration // as run, where that is known
	how   string        // what lead is made of
	group int
	stage int
	wall  bool // a stonewall before it is visible
}

// absoluteMS is the job_start from which on it counts from 1970 (1973); with
// job_start_clock_id it can be on another clock.
const absoluteMS = 1e11

// starts finds the start of each log of a set.
func (m *matcher) starts(s *set) {
	var jobs []job
	var how string // the stages were found
	of := map[*Log]int{}
	if s.job != nil {
		jobs, how = m.sectionJobs(s), "stonewall in the job file"
		for _, l := range s.logs {
			if l.Section != nil {
				of[l] = slices.Index(s.job.Sections, l.Section)
			}
		}
	} else {
		for _, e := range s.entries {
			jobs = append(jobs, m.entryJob(s, e))
		}
		how = m.stages(s, jobs)
		for _, l := range s.logs {
			if i, ok := s.index[l]; ok {
				of[l] = i
			}
		}
	}
	begin := stageStarts(jobs)
	if s.meta != nil {
		for _, j := range jobs {
			s.meta.latest = max(s.meta.latest, begin[j.stage]+j.lead+j.run)
		}
	}
	for _, l := range s.logs {
		i, known := of[l]
		switch {
		case known:
			j := jobs[i]
			l.Start = Start{Offset: begin[j.stage] + j.lead, How: j.how}
			if j.stage > 0 {
				l.Start.How = fmt.Sprintf("stage %d (%s)", j.stage+1, how)
				if j.lead > 0 {
					l.Start.How += " + " + j.how
				}
			}
		case s.meta != nil:
			lead, how := m.lead(s.meta.Path, func(name string) (string, bool) { return s.meta.Option(nil, name) })
			l.Start = Start{Offset: lead, How: how + " of all jobs"}
		default:
			l.Start = Start{How: "taken to be fio's own start"}
		}
		if l.Entry != nil && l.Entry.StartMS >= absoluteMS && l.Entry.StartMS <= MaxTime {
			l.Start.Absolute, l.Start.How = l.Entry.StartMS, "job_start"
			if s.job != nil && l.Members > 1 { // it is that of the entry's first thread
				first := s.job.Threads()[slices.Index(s.of, s.index[l])]
				j, f := jobs[i], jobs[slices.Index(s.job.Sections, first)]
				l.Start.Absolute += (begin[j.stage] + j.lead - begin[f.stage] - f.lead).Milliseconds()
			}
		}
	}
}

// lead is startdelay + ramp_time, and in words.
func (m *matcher) lead(where string, option func(string) (string, bool)) (sum time.Duration, how string) {
	for _, name := range []string{"startdelay", "ramp_time"} {
		v, ok := option(name)
		if !ok {
			continue
		}
		t, err := ParseDuration(v)
		if err != nil {
			m.warn("%s: %s: %v; taken as 0", Printable(where), name, err)
			continue
		}
		if t > 0 && sum > 0 {
			how += " + " + name
		} else if t > 0 {
			how = name
		}
		sum += t
	}
	if how == "" {
		how = "fio's start"
	}
	return min(max(sum, 0), maxLead), how
}

// maxLead is the longest time that is believed of a job, so that sums do not
// overflow: a year.
const maxLead = 366 * 24 * time.Hour

func (e *Entry) longest() time.Duration {
	return time.Duration(min(e.LongestMS, maxLead.Milliseconds())) * time.Millisecond
}

// sectionJobs are the sections of the set's job file.
func (m *matcher) sectionJobs(s *set) []job {
	var jobs []job
	entry := map[*Section]*Entry{}
	sections := map[*Entry]int{} // of an entry
	for i, section := range s.job.Threads() {
		if i < len(s.of) && s.of[i] >= 0 && entry[section] == nil {
			entry[section] = s.entries[s.of[i]]
			sections[entry[section]]++
		}
	}
	last := s.job.Sections[len(s.job.Sections)-1].Stage
	unknown := ""
	for _, section := range s.job.Sections {
		where := fmt.Sprintf("%s:%d", s.job.Path, section.Line)
		j := job{group: section.Group, stage: section.Stage}
		j.lead, j.how = m.lead(where, func(name string) (string, bool) { v, ok := section.Options[name]; return v, ok })
		limit, err := ParseDuration(section.Options["runtime"])
		limited := err == nil && limit > 0
		switch e := entry[section]; {
		case e != nil && sections[e] == 1 || e != nil && !limited:
			j.run = e.longest()
		case e != nil:
			j.run = min(limit, e.longest())
		case limited:
			j.run = min(limit, maxLead)
		case section.Stage < last:
			unknown = where
		}
		jobs = append(jobs, j)
	}
	if unknown != "" {
		m.warn("%s: nothing says how long this job ran, and jobs behind a stonewall started after it; pass fio's JSON", Printable(unknown))
	}
	return jobs
}

// entryJob is an entry as a job.
func (m *matcher) entryJob(s *set, e *Entry) job {
	option := func(name string) (string, bool) { return s.meta.Option(e, name) }
	j := job{run: e.longest(), group: e.GroupID}
	j.lead, j.how = m.lead(fmt.Sprintf("%s: job %q", s.meta.Path, e.JobName), option)
	v, ok := option("stonewall")
	j.wall = ok && on(v)
	return j
}

// stageStarts is where each stage begins.
func stageStarts(jobs []job) []time.Duration {
	longest := []time.Duration{0}
	for _, j := range jobs {
		for len(longest) <= j.stage {
			longest = append(longest, 0)
		}
		longest[j.stage] = max(longest[j.stage], j.lead+j.run)
	}
	begin := make([]time.Duration, len(longest))
	for k := 1; k < len(begin); k++ {
		begin[k] = begin[k-1] + longest[k-1]
	}
	return begin
}

// total is the end of the last stage.
func total(jobs []job) (end time.Duration) {
	begin := stageStarts(jobs)
	for _, j := range jobs {
		end = max(end, begin[j.stage]+j.lead+j.run)
	}
	return end
}

const maxGroups = 16 // of which all combinations are tried

// stages finds the stage of each entry, and says how.
//
// fio's JSON does not show a stonewall that was given without a value, only that
// the group id rises, as it does at new_group, too. But it shows how many seconds
// after fio's start it was written: with one stage after the other that is the sum
// of their lengths, rounded up, and a little more for each start.
func (m *matcher) stages(s *set, jobs []job) (how string) {
	if len(jobs) == 0 {
		return ""
	}
	groups := []int{}
	for _, j := range jobs {
		if !slices.Contains(groups, j.group) {
			groups = append(groups, j.group)
		}
	}
	slices.Sort(groups)
	visible := make([]bool, len(groups)) // a stonewall before the group
	open := 0
	for g := 1; g < len(groups); g++ {
		visible[g] = slices.ContainsFunc(jobs, func(j job) bool { return j.group == groups[g] && j.wall })
		if !visible[g] {
			open++
		}
	}
	set := func(walls []bool) {
		stage := 0
		for g, id := range groups {
			if g > 0 && walls[g] {
				stage++
			}
			for i := range jobs {
				if jobs[i].group == id {
					jobs[i].stage = stage
				}
			}
		}
	}
	all := make([]bool, len(groups))
	for g := range all {
		all[g] = g > 0
	}
	if set(all); open == 0 {
		return "stonewall in the JSON"
	}
	var elapsed int64
	for _, e := range s.entries {
		elapsed = max(elapsed, e.Elapsed)
	}
	if elapsed == 0 || elapsed > int64(maxLead/time.Second) {
		m.warn("%s: %d groups of jobs: taken to have run one after the other (stonewall); if it was new_group, pass the job file", Printable(s.meta.Path), len(groups))
		return "stonewall taken for granted"
	}
	fits := func(walls []bool) bool {
		set(walls)
		starts := time.Duration(0)
		for _, w := range walls {
			if w {
				starts++
			}
		}
		rest := time.Duration(elapsed)*time.Second - total(jobs)
		return rest > -100*time.Millisecond && rest < 1300*time.Millisecond+starts*300*time.Millisecond
	}
	inSum, atOnce := fits(all), fits(visible)
	switch {
	case inSum && !atOnce:
		set(all)
		return "stonewall, by the time elapsed"
	case atOnce && !inSum:
		set(visible)
		return "new_group, by the time elapsed"
	}
	found := all
	if !inSum && open <= maxGroups {
		var ways [][]bool
		for bits := range 1 << open {
			walls, k := slices.Clone(visible), 0
			for g := 1; g < len(walls); g++ {
				if !visible[g] {
					walls[g] = bits>>k&1 == 1
					k++
				}
			}
			if fits(walls) {
				ways = append(ways, walls)
			}
		}
		if len(ways) == 1 {
			set(ways[0])
			return "stonewall, by the time elapsed"
		}
		if len(ways) > 1 {
			found = ways[0]
		}
	}
	set(found)
	m.warn("%s: cannot tell which of the %d groups of jobs began after a stonewall; pass the job file", Printable(s.meta.Path), len(groups))
	return "stonewall guessed"
}

// WallClock is the time in ms since 1970 of fio's own start, from which offsets
// count, and how it was found: over --client the JSON's timestamp; else that of the
// report, at the end of the last job, less how long that took.
func WallClock(logs []*Log, m *Meta) (zeroMS int64, how string, ok bool) {
	if m == nil || m.TimestampMS <= 0 {
		return 0, "", false
	}
	if m.ClientServer {
		return m.TimestampMS, "timestamp in fio's JSON (start of fio --client)", true
	}
	latest := m.latest
	for _, l := range logs {
		if l.Meta == m && l.Entry != nil {
			latest = max(latest, l.Start.Offset+l.Entry.longest())
		}
	}
	if latest == 0 {
		for i := range m.Entries {
			latest = max(latest, m.Entries[i].longest())
		}
	}
	return m.TimestampMS - latest.Milliseconds(), "time of the report in fio's JSON, less the time run", true
}
