package compare

import (
	"fmt"
	"math"

	"fiolat/fio/fiohist"
)

// Unlike is a run that differs from all others of its group, such as one with a stall.
type Unlike struct {
	Run       string `json:"run"`
	Group     string `json:"group"`
	Direction string `json:"direction"`
	Metric    string `json:"metric"`
	// Change is the run's value / that of the others of its group - 1.
	Change float64 `json:"change"`
	// RunNoise is the noise between all runs, Without that between the others, as shares.
	RunNoise float64 `json:"run_noise"`
	Without  float64 `json:"run_noise_without"`
}

// mostUnlikely is the joint error probability at which a run is named. No verdict depends on it.
const mostUnlikely = 0.1

func (u *Unlike) String() string {
	return fmt.Sprintf("%s is unlike the other runs of %s: %s %s %s; run noise is %s with it, %s without", u.Run,
		u.Group, u.Direction, u.Metric, Percent(&u.Change), NoiseText(&u.RunNoise), NoiseText(&u.Without))
}

// outlier returns the run whose value of one of the rows is the least likely one, given the others of its group and the
// spread of all others (Student's t of a deleted residual, Bonferroni over runs and rows); nil if none is unlikely,
// or if it differs by less than the margin. The run's group has 3 runs or more.
func outlier(groups []*measured, rows []int, names [][2]string, margin float64) (found *Unlike) {
	runs := 0
	for _, m := range groups {
		runs += len(m.log)
	}
	freedom := runs - len(groups) - 1
	if freedom < 1 {
		return nil
	}
	least := mostUnlikely / float64(runs*len(rows))
	for _, row := range rows {
		all := 0.0
		for _, m := range groups {
			all += m.squares(row)
		}
		for _, m := range groups {
			n := float64(len(m.log))
			if n < fewRuns {
				continue
			}
			for i := range m.log {
				apart := (m.log[i][row] - m.center(row)) * n / (n - 1) // from the mean of the others
				own := apart * apart * (n - 1) / n
				rest := max(all-own, 0) / float64(freedom)
				if math.Abs(apart) < math.Log1p(margin) || math.IsNaN(apart) {
					continue
				}
				if p := fiohist.StudentTail(math.Sqrt(own/rest), freedom); p < least {
					least = p
					found = &Unlike{Run: m.names[i], Group: m.side.Name, Direction: names[row][0],
						Metric: names[row][1], Change: math.Expm1(apart),
						RunNoise: *share(math.Sqrt(all / float64(freedom+1))), Without: *share(math.Sqrt(rest))}
				}
			}
		}
	}
	return found
}
