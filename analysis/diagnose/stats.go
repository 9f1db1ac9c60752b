package diagnose

import (
	"math"
	"slices"
)

// z95 is the two-sided 95 % quantile of the normal distribution.
const z95 = 1.959963984540054

// logChoose returns the natural logarithm of the binomial coefficient, n over k.
func logChoose(n, k float64) float64 {
	all, _ := math.Lgamma(n + 1)
	some, _ := math.Lgamma(k + 1)
	rest, _ := math.Lgamma(n - k + 1)
	return all - some - rest
}

// median reorders v. It returns NaN for an empty v.
func median(v []float64) float64 {
	n := len(v)
	if n == 0 {
		return math.NaN()
	}
	low := nth(v, (n-1)/2)
	if n%2 == 1 {
		return low
	}
	return (low + slices.Min(v[n/2:])) / 2
}

// nth returns the element with k others before it in sorted order (Hoare, Communications of the ACM 4 (1961), 321). v
// must not contain NaN. nth reorders v: no element before k is larger, and none after it smaller.
func nth(v []float64, k int) float64 {
	for from, to := 0, len(v)-1; from < to; {
		pivot, i, j := v[k], from, to
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		if j < k {
			from = i
		}
		if k < i {
			to = j
		}
	}
	return v[k]
}

// window is a half-open range of intervals, or of blocks of intervals.
type window struct{ from, to int }

func (w window) overlaps(o window) bool { return w.from < o.to && o.from < w.to }

// scan returns the windows of n intervals that are tested: lengths from least on in steps of a quarter, and for each
// length the starts in steps of a sixth of it. refine then improves the edges of the best one.
func scan(n, least int) (out []window) {
	for length := least; ; length = min(max(length+1, length*5/4), n) {
		if length > n {
			return out
		}
		step := max(length/6, 1)
		for from := 0; from+length <= n; from += step {
			out = append(out, window{from, from + length})
		}
		if (n-length)%step != 0 {
			out = append(out, window{n - length, n})
		}
		if length == n {
			return out
		}
	}
}

// refine moves the edges of w by one to eight intervals at a time as long as the score grows.
func refine(w window, n, least int, score func(window) float64) window {
	best := score(w)
	for range 2 * n {
		next := w
		for step := 1; step <= 8; step *= 2 {
			for _, try := range []window{{w.from - step, w.to}, {w.from + step, w.to}, {w.from, w.to - step},
				{w.from, w.to + step}} {
				if try.from < 0 || try.to > n || try.to-try.from < least {
					continue
				}
				if s := score(try); s > best {
					next, best = try, s
				}
			}
		}
		if next == w {
			break
		}
		w = next
	}
	return w
}
