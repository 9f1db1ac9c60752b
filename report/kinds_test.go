package report_test

import (
	"bytes"
	"fmt"
	"testing"

	"fiolat/fio"
	"fiolat/pipeline"
	"fiolat/report"
)

// kindsPage is a page of the kinds, each of so many intervals, in the order given.
func kindsPage(t *testing.T, o report.Options, kinds []fio.Kind, intervals map[fio.Kind]int,
	edit func(*made)) []byte {
	t.Helper()
	var b bytes.Buffer
	sinks := report.NewKinds(&b, len(kinds), o)
	for i, kind := range kinds {
		if b.Len() > 0 {
			t.Fatal("written before the last kind came to its end")
		}
		m := newMade(intervals[kind], 2, 100)
		m.run.Name, m.run.Kind = "two nodes", kind
		if edit != nil {
			edit(m)
		}
		exact := map[fio.Kind]float64{fio.Slat: 7e3, fio.Clat: 150e3, fio.Lat: 160e3}[kind]
		ios := float64(100 * 2 * intervals[kind])
		m.into(t, sinks[i], pipeline.Account{Warnings: []string{"a note of all", "one of " + kind.String()},
			Exact: map[string]pipeline.Latencies{"read": {IOs: ios, NS: ios * exact}, "write": {IOs: ios,
				NS: ios * (exact + 1)}}}, nil)
	}
	return b.Bytes()
}

// Whatever the order in which kinds come, the page is the same, its columns cover as
// much time in each kind, and each kind's times count from the start of the main one.
func TestKindsPage(t *testing.T) {
	t.Parallel()
	intervals := map[fio.Kind]int{fio.Slat: 10, fio.Clat: 40, fio.Lat: 16}
	late := func(m *made) {
		if m.run.Kind == fio.Lat {
			m.run.Start += 2e9
		}
	}
	page := kindsPage(t, report.Options{MaxColumns: 16}, []fio.Kind{fio.Clat, fio.Slat, fio.Lat}, intervals,
		late)
	if !bytes.Equal(page, kindsPage(t, report.Options{MaxColumns: 16}, []fio.Kind{fio.Lat, fio.Slat,
		fio.Clat}, intervals, late)) {
		t.Error("the order in which the kinds come changes the page")
	}
	c := read(t, page)
	got := fmt.Sprint(c.Head.Kind, c.Head.Columns, c.Head.Column, c.Head.First, c.Head.End)
	for i, k := range c.Head.Kinds {
		got += fmt.Sprint("; ", k.Kind, k.Columns, k.Column, k.First, k.End, " ", len(c.Kinds[i].Scopes[0].N))
		if c.Head.Start == nil || *k.Start != *c.Head.Start {
			t.Errorf("%s counts from %v, the page from %v", k.Kind, *k.Start, *c.Head.Start)
		}
	}
	if want := "clat10 4000 0 40000; slat3 4000 0 10000 3; lat4 4000 2000 18000 4"; got != want {
		t.Errorf("columns, their length, and from when to when:\n%s, want\n%s", got, want)
	}
	if one := read(t, kindsPage(t, report.Options{MaxColumns: 16}, []fio.Kind{fio.Lat}, intervals,
		nil)); one.Head.Kind != "lat" || one.Head.Kinds != nil || one.Kinds != nil {
		t.Errorf("a page of one kind has %+v", one.Head.Kinds)
	}
	// The limit is of all kinds together.
	two, intervals := []fio.Kind{fio.Clat, fio.Lat}, map[fio.Kind]int{fio.Clat: 64, fio.Lat: 64}
	large := kindsPage(t, report.Options{}, two, intervals, nil)
	limit := len(large) - len(script(t, large, "packed"))*6/7
	small := kindsPage(t, report.Options{MaxBytes: limit}, two, intervals, nil)
	if c := read(t, small); len(small) > limit || c.Head.Columns == 64 || c.Head.Columns != c.Head.Kinds[0].Columns {
		t.Errorf("%d bytes, want at most %d; %d columns", len(small), limit, c.Head.Columns)
	}
}

// Names from outside are no markup on a page of kinds, either.
func TestHostileKinds(t *testing.T) {
	t.Parallel()
	page := kindsPage(t, report.Options{Generator: hostile[0]}, []fio.Kind{fio.Clat, fio.Lat},
		map[fio.Kind]int{fio.Clat: 2, fio.Lat: 2}, func(m *made) {
			m.run.ID, m.run.Name, m.run.StartHow = hostile[0], hostile[1], hostile[2]
			copy(m.hosts, hostile)
			for i, l := range m.run.Logs {
				l.Host, l.Job, l.Source.Base = hostile[i], hostile[i], hostile[i]
			}
		})
	for _, bad := range []string{"<script>window", "<img", "<svg onload"} {
		if bytes.Contains(page, []byte(bad)) {
			t.Errorf("%q stands in the page", bad)
		}
	}
}
