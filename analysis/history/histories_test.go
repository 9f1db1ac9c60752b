package history

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"fiolat/internal/testkit"
)

// family is a kind of made-up histories: 150 with a change of the level by 15 % at run 6 to 44 of 50,
// and 150 without, in turn. Runs differ by a standard deviation of 5 %.
type family struct {
	Name string
	// correlation is that of neighbouring runs, bad the share of single nights that are 30 % slower.
	correlation, bad float64
	// week says that the change, of 20 %, is over after eight runs.
	week bool
}

var families = []family{{Name: "independent"}, {Name: "a bad week", week: true},
	{Name: "correlated by 0.5", correlation: 0.5}, {Name: "single bad nights", bad: 0.04}}

const histories = 300

// history makes the values of one, and says at which runs its level changes.
func (f family) history(n int) (values []float64, at []int) {
	rng := rand.New(rand.NewPCG(uint64(n), 5))
	change, end := math.MaxInt, 50
	if n%2 == 1 {
		change = 6 + rng.IntN(39)
		if at = append(at, change); f.week {
			change = 6 + rng.IntN(31)
			end = change + 8
			at = []int{change, end}
		}
	}
	step := 1.15
	if f.week {
		step = 1.2
	}
	x := rng.NormFloat64()
	for i := range 50 {
		x = f.correlation*x + math.Sqrt(1-f.correlation*f.correlation)*rng.NormFloat64()
		v := 100 * math.Exp(0.05*x)
		if i >= change && i < end {
			v *= step
		}
		if rng.Float64() < f.bad {
			v *= 1.3
		}
		values = append(values, v)
	}
	return values, at
}

// score is how well changes are found: of those there are, within two runs, how many are found; how
// many more are said; and in how many histories without a change there is one.
type score struct{ Changes, Found, More, False int }

func (f family) score(find func(n int, values []float64) []int) (s score) {
	for n := range histories {
		values, at := f.history(n)
		found := find(n, values)
		s.Changes += len(at)
		hits := 0
		for _, a := range at {
			for _, i := range found {
				if i >= a-2 && i <= a+2 {
					hits++
					break
				}
			}
		}
		s.Found += hits
		switch {
		case len(at) > 0:
			s.More += len(found) - hits
		case len(found) > 0:
			s.False++
		}
	}
	return s
}

// ours are the changes that this package finds.
func ours(t testing.TB) func(int, []float64) []int {
	iops := metric(t, "read iops")
	return func(_ int, values []float64) (at []int) {
		for _, c := range analyse(levelled(values), iops).Changes {
			at = append(at, c.Index)
		}
		return at
	}
}

// otava is what Apache Otava finds in the same histories: by family and its max_pvalue, the changes of
// each history. TestOtava makes the file.
type otava map[string]map[string][][]int

const otavaFile = "testdata/otava.json"

func (o otava) find(f family, p string) func(int, []float64) []int {
	return func(n int, _ []float64) []int { return o[f.Name][p][n] }
}

// Steps are placed within two runs in nine of ten histories, a history without one has none but in 4
// of 150, and Apache Otava, allowed at least as many false alarms, finds no more.
func TestSteps(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	data, err := os.ReadFile(otavaFile)
	var theirs otava
	if err == nil {
		err = json.Unmarshal(data, &theirs)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		s := f.score(ours(t))
		t.Logf("%s: %+v", f.Name, s)
		if f.correlation > 0 || f.bad > 0 {
			continue // reported, not judged
		}
		if s.Changes < 150 || s.Found*10 < s.Changes*9 || s.False > 4 {
			t.Errorf("%s: %+v", f.Name, s)
		}
		compared := false
		for p := range theirs[f.Name] {
			other := f.score(theirs.find(f, p))
			t.Logf("%s: Apache Otava, max_pvalue %s: %+v", f.Name, p, other)
			if other.False >= s.False && other.False <= s.False+4 {
				compared = true
				if other.Found > s.Found {
					t.Errorf("%s: found %d, Apache Otava with max_pvalue %s, and %d false alarms to our %d, %d",
						f.Name, s.Found, p, other.False, s.False, other.Found)
				}
			}
		}
		if !compared {
			t.Errorf("%s: Apache Otava was asked at no similar rate of false alarms", f.Name)
		}
	}
}

// A long series has hardly more false changes than a short one, and a change in its last runs is found as it would be
// in a short one.
func TestLongSeries(t *testing.T) {
	testkit.NotRaced(t)
	t.Parallel()
	const series = 40
	find := ours(t)
	for _, tt := range []struct{ runs, most, least int }{{50, 1, 33}, {365, 3, 33}} {
		wrong, found := 0, 0
		for n := range series {
			rng := rand.New(rand.NewPCG(uint64(n), 777))
			values := make([]float64, tt.runs)
			for i := range values {
				values[i] = 100 * math.Exp(0.05*rng.NormFloat64())
			}
			if len(find(n, values)) > 0 {
				wrong++
			}
			for i := tt.runs - 5; i < tt.runs; i++ {
				values[i] *= 1.15
			}
			for _, at := range find(n, values) {
				if at >= tt.runs-7 {
					found++
					break
				}
			}
		}
		t.Logf("%d runs: a false change in %d of %d, one five runs before the end found in %d", tt.runs, wrong, series,
			found)
		if wrong > tt.most || found < tt.least {
			t.Errorf("%d runs: a false change in %d, want at most %d; found in %d, want at least %d", tt.runs, wrong,
				tt.most, found, tt.least)
		}
	}
}
