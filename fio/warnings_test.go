package fio

import (
	"slices"
	"testing"
)

func TestByCause(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		in   []string
		want []string
	}{
		{"none", nil, nil},
		{"one", []string{`job "a b": 3 I/Os lost`}, []string{`job "a b": 3 I/Os lost`}},
		{"two of one cause, one of another",
			[]string{"a.log: 3 I/Os lost", "a.log: time runs backwards", "b.log: 14 I/Os lost"},
			[]string{"a.log: 3 I/Os lost (and 1 more like it: b.log)", "a.log: time runs backwards"}},
		{"many", []string{"x/1.log:7: bad", "x/2.log:9: bad", "x/3.log:1: bad", "x/4.log:1: bad",
			"x/5.log:1: bad", "x/6.log:1: bad"},
			[]string{"x/1.log:7: bad (and 5 more like it: x/2.log:9, x/3.log:1, x/4.log:1, x/5.log:1 and 1 more)"}},
		{"directions of a job",
			[]string{`job "a": 3 reads`, `job "a": 3 writes`, `job "b": 5 reads`, `job "c\"": 5 reads`},
			[]string{`job "a": 3 reads (and 2 more like it: "b", "c\"")`, `job "a": 3 writes`}},
		{"lists of different lengths", []string{"3 logs of a.json: a.log, b.log and c.log are empty",
			"2 logs of b.json: d.log, e.log are empty"},
			[]string{"3 logs of a.json: a.log, b.log and c.log are empty (and 1 more like it: b.json)"}},
		{"what to do stays last", []string{"a.log: cut off; the last line is lost; run fio again", "b.log: cut off; the " +
			"last line is lost; run fio again"},
			[]string{"a.log: cut off; the last line is lost (and 1 more like it: b.log); run fio again"}},
		{"the same again", []string{"a.log: bad", "a.log: bad"}, []string{"a.log: bad (and 1 more like it)"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := ByCause(tt.in); !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
