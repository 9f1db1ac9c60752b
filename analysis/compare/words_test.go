package compare

import (
	"strings"
	"testing"
)

// A change above +200 % is a factor, and what is beyond a hundredfold, up or down, is said as such.
func TestPercent(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "+0.00 %", 0.125: "+12.50 %", -0.5: "-50.00 %", 2: "+200.00 %",
		2.5: "x3.50", 98: "x99.00", 150: "over x100", -0.98: "-98.00 %", -0.995: "under -99 %"} {
		if got := Percent(&v); got != want {
			t.Errorf("%g: %q, want %q", v, got, want)
		}
	}
	if got := Percent(nil); got != "-" {
		t.Errorf("unknown: %q", got)
	}
}

// The largest certain change comes before a larger inconclusive one, and one of these before nothing.
func TestLargest(t *testing.T) {
	t.Parallel()
	row := func(direction, metric string, change float64, v Verdict) Row {
		return Row{Direction: direction, Metric: metric, Change: &change, Verdict: v}
	}
	for _, tt := range []struct {
		name string
		rows []Row
		want string
	}{
		{"certain first", []Row{row("read", "p50", 49, Inconclusive), row("read", "p99", 0.1, Higher)}, "read p99"},
		{"up or down", []Row{row("read", "p50", 0.5, Higher), row("read", "iops", -0.4, Lower)}, "read iops"},
		{"inconclusive alone", []Row{row("read", "p50", 49, Inconclusive), row("read", "p99", 0.02, Same)}, "read p50"},
		{"within the margin", []Row{row("read", "p50", 0.04, Inconclusive), row("read", "p99", 0.02, Same)}, ""},
		{"the sum last", []Row{row("all", "p50", 1, Higher), row("write", "p50", 1, Higher)}, "write p50"},
		{"unknown", []Row{{Direction: "read", Metric: "p99", Verdict: Inconclusive, AtLeast: true}}, ""},
	} {
		got := ""
		if _, row := Largest([]*Result{{Rows: tt.rows, margin: 0.05}}); row != nil {
			got = row.Direction + " " + row.Metric
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestLead: the sentence before a table.
func TestLead(t *testing.T) {
	t.Parallel()
	row := func(metric string, change float64, v Verdict) Row {
		return Row{Direction: "read", Metric: metric, Change: &change, RunNoise: &change, Verdict: v}
	}
	for name, c := range map[string]struct {
		rows []Row
		want string
	}{
		"same":      {[]Row{row("p50", 0.01, Same)}, "B is the same within 5 %."},
		"no limits": {[]Row{row("p50", 0, Inconclusive)}, "No metric of B is certainly different."},
		"perhaps": {[]Row{row("p50", 0.2, Inconclusive)},
			"No metric of B is certainly different; most, perhaps: read p50 +20.00 % (limits unknown)."},
		"slower": {[]Row{row("p50", 0.2, Higher), row("p99", 0, Same)},
			"B is slower: read p50 +20.00 % (limits unknown), certain; nothing else differs."},
		"fewer IOPS": {[]Row{row("iops", -0.2, Lower)},
			"B is slower: read iops -20.00 % (limits unknown), certain; nothing else differs."},
		"faster, more": {[]Row{row("p50", -0.5, Lower), row("p99", -0.1, Lower)},
			"B is faster: read p50 -50.00 % (limits unknown), certain; 1 more row is, too."},
	} {
		r := &Result{Other: Side{Name: "B"}, Rows: c.rows, margin: 0.05}
		if got := r.Lead(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Of one run a side neither the sentence nor a row is certain, whatever its limits.
func TestOneRunASide(t *testing.T) {
	t.Parallel()
	one := Side{Name: "B", Runs: 1}
	for verdict, want := range map[Verdict][3]string{
		Higher: {"In one run a side, B is slower: read p50 +3.00 % (limits unknown), run-to-run noise is not in these limits; " +
			"nothing else differs.", "higher?", "; one run a side: run-to-run noise is not in these limits"},
		Same: {"In one run a side, B is the same within 5 % (run-to-run noise is not in these limits).",
			"same?", "; one run a side: run-to-run noise is not in these limits"},
		Inconclusive: {"No metric of B is certainly different.", "inconclusive", ""},
	} {
		change := 0.03
		r := &Result{Baseline: one, Other: one, margin: 0.05,
			Rows: []Row{{Direction: "read", Metric: "p50", Change: &change, Verdict: verdict}}}
		row := &r.Rows[0]
		if r.Certain(row) {
			t.Errorf("%s: certain", verdict)
		}
		if got := r.Lead(); got != want[0] {
			t.Errorf("%s: %q, want %q", verdict, got, want[0])
		}
		if got := r.Words(row).Verdict; got != want[1] {
			t.Errorf("%s: verdict %q, want %q", verdict, got, want[1])
		}
		if got := r.Sentence(row, Value); !strings.HasSuffix(got, want[2]) {
			t.Errorf("%s: sentence %q", verdict, got)
		}
		if row.RunNoise = &change; r.Certain(row) != (verdict == Higher) {
			t.Errorf("%s with known noise: not certain", verdict)
		}
	}
}
