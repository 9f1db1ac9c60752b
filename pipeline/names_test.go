package pipeline

import (
	"slices"
	"strings"
	"testing"
)

// TestTakes: which names the values of --only take, and which values match none.
func TestTakes(t *testing.T) {
	t.Parallel()
	const nodes = "node007,node008,node010,node011,node019,node020,node1,node[1],other"
	for _, tc := range []struct {
		name, wanted, names, taken, missed string
	}{
		{"nothing", "", nodes, "", ""},
		{"a name", "node1", nodes, "node1", ""},
		{"a name that is a pattern, too", "node[1]", nodes, "node[1]", ""},
		{"a class", "node[1-3]", nodes, "node1", ""},
		{"a class of a shell that leaves out", "node00[!8]", nodes, "node007", ""},
		{"the same as in a regular expression", "node00[^8]", nodes, "node007", ""},
		{"a range of numbers", "node[008-011]", nodes, "node008,node010,node011", ""},
		{"from 008 to 019", "node0[08-19]", nodes, "node008,node010,node011,node019", ""},
		{"two ranges", "a[01-02]b[10-11]", "a01b10,a02b12,a03b11,a1b11", "a01b10", ""},
		{"a range after anything", "*[08-11]", nodes, "node008,node010,node011", ""},
		{"a range before anything", "n[08-10]*", "n08a,n10,n11", "n08a,n10", ""},
		{"a range of a part of a number", "node0[10-19]", nodes, "node010,node011,node019", ""},
		{"a range that ends before it begins", "n[20-10]", "n15,n20", "", "n[20-10]"},
		{"a range over hundreds", "n[095-312]", "n094,n095,n100,n299,n312,n313", "n095,n100,n299,n312", ""},
		{"ends of two lengths are a class", "n[1-20]", "n0,n1,n10,n2", "n0,n1,n2", ""},
		{"digits of another length", "node[01-20]", nodes, "", "node[01-20]"},
		{"of a huge range", "n[0000000000000000-9999999999999999]", "n0000000000000042,n42", "n0000000000000042", ""},
		{"anything", "node00*,o?her", nodes, "node007,node008,other", ""},
		{"all but one", "!node007", "node007,node008,other", "node008,other", ""},
		{"all but some", "!node*", "node007,node008,other", "other", ""},
		{"some but one", "node00*,!node007", nodes, "node008", ""},
		{"in another order", "!node007,node00*", nodes, "node008", ""},
		{"a name that begins with !", "!a", "!a,a,b", "!a", ""},
		{"no such name", "node7,node1", nodes, "node1", "node7"},
		{"not even to leave out", "!node9", nodes, nodes, "!node9"},
		{"an open bracket is one", "a[0,b", "a[0,a0,b", "a[0,b", ""},
		{"a class that ends before it begins", "node[z-a]", nodes, "", "node[z-a]"},
		{"dots are dots", "10.0.0.?", "10.0.0.1,10x0x0x2", "10.0.0.1", ""},
		{"who is not known is nobody's", "*", ",a", "a", ""},
		{"but not left out", "!a", ",a", "", ""},
	} {
		var wanted, names []string
		if names = strings.Split(tc.names, ","); tc.wanted != "" {
			wanted = strings.Split(tc.wanted, ",")
		}
		taken, missed := takes(wanted, names)
		slices.Sort(taken)
		if strings.Join(taken, ",") != tc.taken || strings.Join(missed, ",") != tc.missed {
			t.Errorf("%s: %s takes %q and misses %q, want %s and %s", tc.name, tc.wanted, taken, missed, tc.taken, tc.missed)
		}
	}
}
