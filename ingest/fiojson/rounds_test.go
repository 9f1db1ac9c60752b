package fiojson

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/ingest/source"
)

// TestRounds: two servers of a real fio --client --status-interval=1 reported five
// times each; fio --client printed that as one document.
func TestRounds(t *testing.T) {
	t.Parallel()
	z, err := source.Open("testdata/meta/fio-3.33-client-status/fio.json.gz", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var got []string
	if _, err = Each(z, "status", func(m *Document) error {
		var entries []string
		for _, e := range m.Entries {
			entries = append(entries, fmt.Sprintf("%s@%s:%d", e.JobName, e.Host,
				e.Dirs[fio.Read].Kind[fio.Clat].N+e.Dirs[fio.Write].Kind[fio.Clat].N))
		}
		got = append(got, strings.Join(entries, " "))
		return nil
	}, nil); err != nil {
		t.Fatal(err)
	}
	if len(got) != 5 || got[0] != "a@127.0.4.2:449 b@127.0.4.2:449 a@127.0.4.1:450 b@127.0.4.1:450" ||
		got[4] != "a@127.0.4.2:2001 b@127.0.4.2:1999 a@127.0.4.1:2000 b@127.0.4.1:2001" {
		t.Errorf("%d rounds:\n%s", len(got), strings.Join(got, "\n"))
	}
}

// TestRoundsOfTwins: two jobs of one name that run side by side are no rounds.
func TestRoundsOfTwins(t *testing.T) {
	t.Parallel()
	entry := func(ms int64, n uint64) Entry {
		e := Entry{JobName: "a", Host: "h", LongestMS: ms}
		e.Dirs[fio.Read].Kind[fio.Clat] = Totals{N: n, Bins: NewBins([]Bin{{100, n}})}
		return e
	}
	for _, tc := range []struct {
		name    string
		entries []Entry
		want    int
	}{
		{"twins", []Entry{entry(4000, 10), entry(4001, 11)}, 1},
		{"one job, three reports", []Entry{entry(1000, 10), entry(2000, 20), entry(2001, 21)}, 3},
		{"twins, two reports", []Entry{entry(1000, 10), entry(1001, 11), entry(2000, 20), entry(2001, 21)}, 2},
		{"the second began later", []Entry{entry(4000, 10), entry(2000, 5)}, 1},
	} {
		m := &Document{ClientServer: true, Entries: tc.entries}
		if got := m.rounds(); len(got) != tc.want {
			t.Errorf("%s: %d rounds, want %d", tc.name, len(got), tc.want)
		}
	}
	if m := (&Document{Entries: []Entry{entry(1000, 10), entry(2000, 20)}}); !slices.Equal(m.rounds(), []*Document{m}) {
		t.Error("what is not of fio --client was taken apart")
	}
}

// TestFalls: counts that a later report of the same job cannot have are another job's, also without bins.
func TestFalls(t *testing.T) {
	t.Parallel()
	of := func(n uint64, bins ...Bin) *Totals { return &Totals{N: n, Bins: NewBins(bins)} }
	for _, tt := range []struct {
		name        string
		before, now *Totals
		want        bool
	}{
		{"more I/Os, no bins", of(5), of(6), false},
		{"as many, no bins", of(5), of(5), false},
		{"fewer I/Os, no bins", of(5), of(4), true},
		{"more in a bin", of(1, Bin{100, 1}), of(2, Bin{100, 2}), false},
		{"more in another bin", of(1, Bin{100, 1}), of(2, Bin{90, 1}, Bin{100, 1}), false},
		{"fewer in a bin", of(2, Bin{100, 2}), of(3, Bin{100, 1}, Bin{200, 2}), true},
		{"a bin is gone", of(1, Bin{100, 1}), of(2, Bin{200, 2}), true},
		{"all bins are gone", of(1, Bin{100, 1}), of(2), true},
	} {
		if got := falls(tt.before, tt.now); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}
