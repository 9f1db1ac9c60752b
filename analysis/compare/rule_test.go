package compare

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFigures: sample.compute and sample.blockLength know exactly the figures that may be compared.
func TestFigures(t *testing.T) {
	if want := []string{"mean", "iops"}; !slices.Equal(metrics.Names, want) {
		t.Errorf("%v may be compared, computed are %v", metrics.Names, want)
	}
}

// TestUndecided: a rule that only a drift of the machine explains away neither fires nor holds, and fires with
// --steady.
func TestUndecided(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, order, rule         string
		change                    float64
		steady, failed, undecided bool
	}{
		{"in order", "AAAAABBBBB", "read p99 +10%", 0.15, false, false, true},
		{"in order, steady", "AAAAABBBBB", "read p99 +10%", 0.15, true, true, false},
		{"in order, fallen", "AAAAABBBBB", "read p99 -10%", -0.12, false, false, true},
		{"in order, other way", "AAAAABBBBB", "read p99 -10%", 0.15, false, false, false},
		{"in order, far", "AAAAABBBBB", "read p99 +10%", 3, false, true, false},
		{"in order, below the limit", "AAAAABBBBB", "read p99 +50%", 0.15, false, false, false},
		{"in order, nothing", "AAAAABBBBB", "read p99 +0%", 0, false, false, false},
		{"alternated", "ABABABABAB", "read p99 +10%", 0.15, false, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			rule, err := ParseRule(tt.rule)
			if err != nil {
				t.Fatal(err)
			}
			o := Options{Margin: Margin, Steady: tt.steady}
			g := inOrder(rand.New(rand.NewPCG(2, 71)), tt.order, 0.03, machine{}, tt.change)
			rulings, err := judge(g[0], g[1], rowsOf, family, o).Judge([]Rule{rule}, o)
			if err != nil {
				t.Fatal(err)
			}
			if r := rulings[0]; r.Failed != tt.failed || (r.Undecided != "") != tt.undecided {
				t.Errorf("failed %t, undecided %q", r.Failed, r.Undecided)
			}
		})
	}
}
