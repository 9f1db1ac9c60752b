package ingest

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/fiolog"
	"fiolat/ingest/jobfile"
)

// The stamps of a log count from the end of its job's startdelay and ramp_time. A job behind a stonewall begins when
// all before it have ended, and one with wait_for when that job has. startdelay counts from fio's own start, not from
// the stage's (backend.c).

// job is what starts together: a section of the job file, or an entry of the JSON.
type job struct {
	name  string
	delay time.Duration // startdelay
	ramp  time.Duration // ramp_time
	waits string        // wait_for: the name of the job
	guess bool          // run is an upper limit
	run   time.Duration // how long it ran; 0: not known
	how   string        // which of delay and ramp are set, in words
	group int
	stage int
	wall  bool // the JSON shows a stonewall before it
}

// lasted reports whether the job's length is known.
func (j job) lasted() bool { return j.run > 0 && !j.guess }

// absoluteMS is the least job_start (in 1973) that is taken for ms since 1970; with job_start_clock_id it can be on
// another clock.
const absoluteMS = 1e11

// starts finds the start of each log of a set.
func (m *matcher) starts(s *set) {
	var jobs []job
	var how string // how the stages were found
	of := map[*Log]int{}
	if s.job != nil {
		jobs, how = m.sectionJobs(s), "stonewall in the job file"
		for _, l := range s.logs {
			if section := cmp.Or(l.Section, l.startsLike); section != nil {
				of[l] = slices.Index(s.job.Sections, section)
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
	at, latest := schedule(jobs)
	if s.meta != nil {
		m.ends[s.meta] = max(m.ends[s.meta], latest)
	}
	for _, j := range jobs {
		if j.waits != "" && !slices.ContainsFunc(jobs, func(o job) bool { return o.name == j.waits && o.lasted() }) {
			m.warn("job %q waits for job %q, and when that ended is unknown: assuming %q started with its stage; pass "+
				"fio's JSON, or shift it with --offset", j.name, j.waits, j.name)
		}
	}
	if s.job == nil {
		m.warnMixedGroup(s)
	}
	late := s.describeLateness(jobs, latest)
	for _, l := range s.logs {
		i, known := of[l]
		switch {
		case known:
			j := jobs[i]
			l.Start = Start{Offset: at[i], How: j.how, Unknown: s.apart}
			if j.stage > 0 || j.waits != "" {
				l.Start.Late = late
				l.Start.How = fmt.Sprintf("stage %d (%s)", j.stage+1, how)
				if j.waits != "" {
					l.Start.How = "wait_for"
				}
				if j.delay+j.ramp > 0 {
					l.Start.How += " + " + j.how
				}
			}
		case s.meta != nil:
			delay, ramp, how := m.startDelay(s.meta.Path, func(name string) (string, bool) {
				return s.meta.Option(nil, name)
			})
			l.Start = Start{Offset: delay + ramp, How: how + " of all jobs", Unknown: true}
		default:
			l.Start = Start{How: "taken to be fio's own start", Unknown: true}
		}
		if l.Entry != nil && l.Entry.StartMS >= absoluteMS && l.Entry.StartMS <= fiolog.MaxTime {
			l.Start.Absolute, l.Start.How = l.Entry.StartMS, "job_start"
			if s.job != nil && l.Members > 1 { // job_start is that of the entry's first thread
				first := s.job.Threads()[slices.Index(s.entryOf, s.index[l])]
				l.Start.Absolute += (at[i] - at[slices.Index(s.job.Sections, first)]).Milliseconds()
			}
		}
	}
}

// placeJobs sets when the jobs of a document began, from its options and how long they and fio ran.
func placeJobs(meta *fiojson.Document) {
	if !slices.ContainsFunc(meta.Entries, func(e fiojson.Entry) bool { return !e.Placed }) {
		return
	}
	m := &matcher{in: new(Input), ends: map[*fiojson.Document]time.Duration{}}
	for host, entries := range m.hostsOf(meta) {
		s := &set{meta: meta, host: host, entries: entries}
		var jobs []job
		for i, e := range entries {
			jobs = append(jobs, m.entryJob(s, e))
			s.entryOf = append(s.entryOf, i)
		}
		m.stages(s, jobs)
		at, latest := schedule(jobs)
		// New_group: they cannot have waited for each other.
		if elapsed := s.elapsed(); elapsed > 0 && latest > elapsed {
			for i := range jobs {
				jobs[i].stage = 0
			}
			at, _ = schedule(jobs)
		}
		for i, e := range entries {
			e.Placed, e.BeganMS = true, at[i].Milliseconds()
		}
	}
}

// warnMixedGroup warns of entries that stand for several sections (group_reporting) which may not have started
// together: fio's JSON shows the options of the last one only, and how many seconds all took.
func (m *matcher) warnMixedGroup(s *set) {
	for i, threads := range s.several() {
		e := s.entries[i]
		apart := ""
		for _, option := range []string{"wait_for", "startdelay", "ramp_time"} {
			if e.Options[option] != "" {
				apart = "it shows " + option + " of the last job only"
				break
			}
		}
		rest := time.Duration(min(e.Elapsed, int64(maxLead/time.Second)))*time.Second - longest(e)
		common := func(name string) (string, bool) { return s.meta.Option(nil, name) }
		delay, ramp, _ := m.startDelay(s.meta.Path, common)
		if apart == "" && len(s.entries) == 1 && rest-delay-ramp > longestStart {
			apart = fmt.Sprintf("fio took %d s, and none of them more than %v", e.Elapsed, longest(e))
		}
		if apart != "" {
			m.warn("%s: job %q combines %d threads of several jobs without their start times (%s): assuming they "+
				"started together; pass the job file",
				fio.Printable(s.meta.Path), e.JobName, threads, apart)
		}
	}
}

// describeLateness says by how much jobs behind a stonewall or a wait_for may have started later than computed from
// the lengths of the jobs before them: fio looks for ended jobs ten times a second, takes a while to start the next,
// and reports its total time in whole seconds, rounded up.
func (s *set) describeLateness(jobs []job, latest time.Duration) string {
	elapsed := s.elapsed()
	if elapsed == 0 {
		for _, j := range jobs {
			if !j.lasted() && slices.ContainsFunc(jobs, func(o job) bool {
				return o.stage > j.stage || o.waits != "" && o.waits == j.name
			}) {
				return "much"
			}
		}
		return "some tenths of a second"
	}
	rest := elapsed - latest
	if rest <= 200*time.Millisecond { // exact enough
		return ""
	}
	return "up to " + rest.Round(10*time.Millisecond).String()
}

// elapsed returns fio's total time, in whole seconds; 0: unknown.
func (s *set) elapsed() (all time.Duration) {
	for _, e := range s.entries {
		all = max(all, time.Duration(min(e.Elapsed, int64(maxLead/time.Second)))*time.Second)
	}
	return all
}

// longestStart is how much longer than its longest job fio may take if all jobs start together: it counts whole
// seconds.
const longestStart = 1200 * time.Millisecond

// startDelay returns startdelay and ramp_time, and in words which of them are set.
func (m *matcher) startDelay(where string, option func(string) (string, bool)) (delay, ramp time.Duration, how string) {
	one := func(name string) time.Duration {
		v, ok := option(name)
		if !ok {
			return 0
		}
		t, err := jobfile.ParseDuration(v)
		if err != nil {
			m.warn("%s: %s: %v; taken as 0", fio.Printable(where), name, err)
			return 0
		}
		if t > 0 && how != "" {
			how += " + " + name
		} else if t > 0 {
			how = name
		}
		return min(max(t, 0), maxLead)
	}
	delay, ramp = one("startdelay"), one("ramp_time")
	return delay, ramp, cmp.Or(how, "fio's start")
}

// maxLead is the longest time that is accepted of a job, so that sums do not overflow: a year.
const maxLead = 366 * 24 * time.Hour

func longest(e *fiojson.Entry) time.Duration {
	return time.Duration(min(e.LongestMS, maxLead.Milliseconds())) * time.Millisecond
}

// sectionJobs returns the sections of the set's job file as jobs.
func (m *matcher) sectionJobs(s *set) []job {
	var jobs []job
	entry := map[*jobfile.Section]*fiojson.Entry{}
	sections := map[*fiojson.Entry]int{} // number of sections by entry
	lasted := map[*jobfile.Section]time.Duration{}
	for i, section := range s.job.Threads() {
		if i >= len(s.entryOf) || s.entryOf[i] < 0 {
			continue
		}
		e := s.entries[s.entryOf[i]]
		lasted[section] = max(lasted[section], longest(e))
		if entry[section] == nil {
			entry[section] = e
			sections[e]++
		}
	}
	last := s.job.Sections[len(s.job.Sections)-1].Stage
	unknown := ""
	for _, section := range s.job.Sections {
		where := fmt.Sprintf("%s:%d", s.job.Path, section.Line)
		j := job{group: section.Group, stage: section.Stage, name: section.Name, waits: section.Options["wait_for"]}
		j.delay, j.ramp, j.how = m.startDelay(where, func(name string) (string, bool) {
			v, ok := section.Options[name]
			return v, ok
		})
		limit, err := jobfile.ParseDuration(section.Options["runtime"])
		limited := err == nil && limit > 0
		switch e := entry[section]; {
		case e != nil && sections[e] == 1 || e != nil && !limited:
			j.run = lasted[section]
		case e != nil:
			j.run = min(limit, lasted[section])
		case limited:
			j.run, j.guess = min(limit, maxLead), !section.Flag("time_based") // it may have ended earlier, by size
			if j.guess && section.Stage < last {
				unknown = where
			}
		case section.Stage < last:
			unknown = where
		}
		jobs = append(jobs, j)
	}
	if len(jobs) > 1 && len(entry) == 0 && slices.ContainsFunc(jobs, func(j job) bool { return j.ramp > 0 }) {
		m.warn("%s: ramp_time may take up to a second longer than asked, so starts after it are not exact; "+
			"pass fio's JSON", fio.Printable(s.job.Path))
	}
	for _, section := range s.job.Sections {
		if v := section.Options["verify"]; v != "" && v != "0" && len(entry) == 0 &&
			!strings.Contains(section.Options["rw"], "read") {
			m.warn("%s:%d: with verify fio also reads what it wrote, and the last window of these reads is in no "+
				"log; pass fio's JSON", fio.Printable(s.job.Path), section.Line)
			break
		}
	}
	if unknown != "" {
		m.warn("%s: how long this job ran is unknown, so the start of the jobs after the stonewall is a guess; pass "+
			"fio's JSON, or shift them with --offset", fio.Printable(unknown))
	}
	return jobs
}

// entryJob returns an entry as a job.
func (m *matcher) entryJob(s *set, e *fiojson.Entry) job {
	option := func(name string) (string, bool) { return s.meta.Option(e, name) }
	j := job{run: longest(e), group: e.GroupID, name: e.JobName}
	j.waits, _ = option("wait_for")
	j.delay, j.ramp, j.how = m.startDelay(fmt.Sprintf("%s: job %q", s.meta.Path, e.JobName), option)
	v, ok := option("stonewall")
	j.wall = ok && jobfile.On(v)
	return j
}

// schedule returns where each job's log begins, from fio's own start, and where the last job ends.
func schedule(jobs []job) (at []time.Duration, latest time.Duration) {
	at = make([]time.Duration, len(jobs))
	last := 0
	for _, j := range jobs {
		last = max(last, j.stage)
	}
	ends := map[string]time.Duration{} // by name
	for stage := 0; stage <= last; stage++ {
		begin := latest
		for i, j := range jobs {
			if j.stage != stage {
				continue
			}
			from := begin
			if j.waits != "" {
				from = max(from, ends[j.waits])
			}
			at[i] = max(from, j.delay) + j.ramp
			latest = max(latest, at[i]+j.run)
			ends[j.name] = max(ends[j.name], at[i]+j.run)
		}
	}
	return at, latest
}

// several yields the entries whose threads may be of several sections, with the number of these threads.
func (s *set) several() iter.Seq2[int, int] {
	threads := make([]int, len(s.entries))
	for _, of := range s.entryOf {
		if of >= 0 {
			threads[of]++
		}
	}
	return func(yield func(entry, threads int) bool) {
		for i, n := range threads {
			if v, _ := s.meta.Option(s.entries[i], "numjobs"); n > 1 && v != strconv.Itoa(n) && !yield(i, n) {
				return
			}
		}
	}
}

// hidesSections reports whether an entry may stand for several sections. fio's JSON shows the options of the last one
// only, so there may be unknown delays and ramps.
func (s *set) hidesSections() bool {
	for range s.several() {
		return true
	}
	return false
}

const maxGroups = 16 // of these all combinations are tried

// stages finds the stage of each entry, and returns how.
//
// fio's JSON does not show a stonewall that was given without a value, only that the group id rises, as it does at
// new_group, too. But it shows how many seconds after fio's start it was written: if the stages ran one after the
// other, that is the sum of their lengths, rounded up, and a little more for each start.
func (m *matcher) stages(s *set, jobs []job) (how string) {
	if len(jobs) == 0 {
		return ""
	}
	var groups []int
	for _, j := range jobs {
		groups = append(groups, j.group)
	}
	slices.Sort(groups)
	groups = slices.Compact(groups)
	all, visible := make([]bool, len(groups)), make([]bool, len(groups)) // a stonewall before the group
	for g := 1; g < len(groups); g++ {
		all[g] = true
		visible[g] = slices.ContainsFunc(jobs, func(j job) bool { return j.group == groups[g] && j.wall })
	}
	set := func(walls []bool) {
		for i := range jobs {
			at, _ := slices.BinarySearch(groups, jobs[i].group)
			jobs[i].stage = count(walls[:at+1])
		}
	}
	open := count(all) - count(visible)
	if set(all); open == 0 {
		return "stonewall in the JSON"
	}
	elapsed := s.elapsed()
	if elapsed == 0 || elapsed >= maxLead {
		m.warn("%s: %d groups of jobs: taken to have run one after the other (stonewall); if it was new_group, pass "+
			"the job file", fio.Printable(s.meta.Path), len(groups))
		return "stonewall taken for granted"
	}
	hidden := s.hidesSections()
	fits := func(walls []bool) bool {
		set(walls)
		starts := time.Duration(count(walls))
		_, total := schedule(jobs)
		rest := elapsed - total
		early := -100 * time.Millisecond
		if starts > 0 && !hidden {
			early = -1 // stages do not overlap, and each takes a while to start
		}
		return rest > early && rest < 1300*time.Millisecond+starts*300*time.Millisecond
	}
	inSum, atOnce := fits(all), fits(visible)
	switch {
	case hidden:
	case inSum && !atOnce:
		set(all)
		return "stonewall, by the time elapsed"
	case atOnce && !inSum:
		set(visible)
		return "new_group, by the time elapsed"
	}
	found := all
	if !inSum && open <= maxGroups {
		ways := slices.DeleteFunc(allWalls(visible, open), func(walls []bool) bool { return !fits(walls) })
		if len(ways) == 1 && !hidden {
			set(ways[0])
			return "stonewall, by the time elapsed"
		}
		if len(ways) > 1 {
			found = ways[0]
		}
	}
	set(found)
	m.warn("%s: cannot tell which of the %d groups of jobs began after a stonewall; pass the job file",
		fio.Printable(s.meta.Path), len(groups))
	return "stonewall guessed"
}

func count(walls []bool) (n int) {
	for _, w := range walls {
		if w {
			n++
		}
	}
	return n
}

// allWalls returns all sets of stonewalls that include the visible ones; open is how many groups may have others.
func allWalls(visible []bool, open int) (out [][]bool) {
	for bits := range 1 << open {
		walls, k := slices.Clone(visible), 0
		for g := 1; g < len(walls); g++ {
			if !visible[g] {
				walls[g] = bits>>k&1 == 1
				k++
			}
		}
		out = append(out, walls)
	}
	return out
}

// WallClock returns the time in ms since 1970 of fio's own start, from which offsets count, and how it was found:
// over --client it is the JSON's timestamp; else the timestamp, which is that of the report at the end of the last
// job, less the time until then.
func WallClock(logs []*Log, m *fiojson.Document) (zeroMS int64, how string, ok bool) {
	if m == nil || m.TimestampMS <= 0 {
		return 0, "", false
	}
	if m.ClientServer {
		return m.TimestampMS, "timestamp in fio's JSON (start of fio --client)", true
	}
	var latest time.Duration
	for _, l := range logs {
		latest = max(latest, l.ends[m])
		if l.Meta == m && l.Entry != nil {
			latest = max(latest, l.Start.Offset+longest(l.Entry))
		}
	}
	if latest == 0 {
		for i := range m.Entries {
			latest = max(latest, longest(&m.Entries[i]))
		}
	}
	return m.TimestampMS - latest.Milliseconds(), "time of the report in fio's JSON, less the time run", true
}
