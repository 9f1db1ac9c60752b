package main

import (
	"testing"

	"fiolat/fio"
	"fiolat/pipeline"
)

// What is lost has a number and a name, by direction and job; all else of the account is one line.
func TestAccountLine(t *testing.T) {
	for name, tt := range map[string]struct {
		a     pipeline.Account
		want  string
		whole bool
	}{
		"whole": {pipeline.Account{Logs: 4, Logged: 120899, Restored: 3100, Counted: 123999, CountedKnown: true,
			Missing: 3100}, "4 logs, 123,999 I/Os, 2.5 % restored from fio's JSON, all accounted for", true},
		"one": {pipeline.Account{Logs: 1, Logged: 1, Counted: 1, CountedKnown: true},
			"1 log, 1 I/O, all accounted for", true},
		"no JSON": {pipeline.Account{Logs: 1, Logged: 999},
			"1 log, 999 I/Os, fio's totals unknown (no fio JSON)", true},
		"JSON of some": {pipeline.Account{Logs: 2, Logged: 10, Counted: 5},
			"2 logs, 10 I/Os, fio's totals known of some of the logs only", true},
		"picked": {pipeline.Account{Logs: 1, Logged: 1000, PickedAway: 400, Counted: 1000, CountedKnown: true},
			"1 log, 1,000 I/Os, 400 of them left out by --only, --from or --to, all accounted for", true},
		"picked none": {pipeline.Account{Logs: 1, Logged: 1000, PickedAway: 1000, Counted: 1000, CountedKnown: true},
			"1 log, 1,000 I/Os, all of them left out by --only, --from or --to, all accounted for", true},
		"missing": {pipeline.Account{Logs: 3, Logged: 100, Counted: 3300, CountedKnown: true, Missing: 3200,
			Restored: 100, NotPlaced: 100, Jobs: []pipeline.JobAccount{
				{Job: "a", Direction: "read", Counted: 1100, Missing: 1000},
				{Job: "a", Direction: "read", Counted: 1100, Missing: 1000},
				{Job: "b", Host: "h1", Direction: "read", Counted: 600, Missing: 600, Restored: 100, NotPlaced: 100},
				{Job: "b", Host: "h2", Direction: "write", Counted: 600, Missing: 600},
			}}, "3 logs, 200 I/Os, 50 % restored from fio's JSON, 3,000 missing: 2,400 of 2,800 reads (a: 2,000, " +
			"b on h1: 400), 600 of 600 writes (b on h2), 100 in the totals only, their time " +
			"unknown: 100 of 2,800 reads (b on h1)", false},
		"of no job": {pipeline.Account{Logs: 1, Counted: 7, CountedKnown: true, Missing: 7},
			"1 log, 0 I/Os, 7 missing", false},
		"skipped": {pipeline.Account{Logs: 1, LogsEmpty: 1, LogsSkipped: 1, LinesSkipped: 1200, Logged: 5},
			"1 log, 5 I/Os, 1 of the logs empty, 1 log skipped, 1,200 lines skipped, fio's totals unknown (no fio " +
				"JSON)", false},
		"too many": {pipeline.Account{Logs: 1, Logged: 12, Counted: 10, CountedKnown: true, Excess: 2, LastBucket: 1,
			Jobs: []pipeline.JobAccount{{Job: "a", Direction: fio.All, Counted: 10, Missing: -2}}},
			"1 log, 12 I/Os, 1 in fio's last bucket, which has no upper limit, 2 more than fio counted: 2 of 10 I/Os " +
				"(a)", true},
	} {
		if line, whole := accountLine(&tt.a); line != tt.want || whole != tt.whole {
			t.Errorf("%s: %q, %v; want %q, %v", name, line, whole, tt.want, tt.whole)
		}
	}
}
