package like

import "math"

// The products below are converted to float64 so that the compiler cannot fuse them with the following addition, which
// numpy as distributed does not do.

// pairwiseSum is numpy's sum of a contiguous array: eight running sums over blocks of up to 128 elements, and a tree of
// the blocks. A plain loop differs in the last digits.
func pairwiseSum(a []float64) float64 {
	n := len(a)
	switch {
	case n < 8:
		var sum float64
		for _, v := range a {
			sum += v
		}
		return sum
	case n <= 128:
		var r [8]float64
		copy(r[:], a)
		i := 8
		for ; i < n-n%8; i += 8 {
			for k := range r {
				r[k] += a[i+k]
			}
		}
		sum := ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
		for ; i < n; i++ {
			sum += a[i]
		}
		return sum
	}
	half := n / 2
	half -= half % 8
	return pairwiseSum(a[:half]) + pairwiseSum(a[half:])
}

// interp is numpy.interp of each x over the points (xp, fp), written into out. If xp does not ascend, as happens with
// negative weights, the result depends on numpy's search.
func interp(out, x, xp, fp []float64) {
	last := len(xp) - 1
	j := 0
	for i, v := range x {
		if math.IsNaN(v) {
			out[i] = v
			continue
		}
		if last == 0 {
			out[i] = fp[0]
			continue
		}
		j = searchGuess(v, xp, j)
		switch {
		case j == -1:
			out[i] = fp[0]
		case j >= last:
			out[i] = fp[last]
		case xp[j] == v:
			out[i] = fp[j]
		default:
			slope := (fp[j+1] - fp[j]) / (xp[j+1] - xp[j])
			out[i] = float64(slope*(v-xp[j])) + fp[j]
			if math.IsNaN(out[i]) {
				out[i] = float64(slope*(v-xp[j+1])) + fp[j+1]
				if math.IsNaN(out[i]) && fp[j] == fp[j+1] {
					out[i] = fp[j]
				}
			}
		}
	}
}

// searchGuess returns the last j with a[j] <= key, -1 below all and len(a) above all. Like numpy's search, it starts at
// a guess, the previous result. This matters only if a is not ascending.
func searchGuess(key float64, a []float64, guess int) int {
	const near = 8
	n := len(a)
	switch {
	case key > a[n-1]:
		return n
	case key < a[0]:
		return -1
	case n <= 4:
		i := 1
		for i < n && key >= a[i] {
			i++
		}
		return i - 1
	}
	guess = max(min(guess, n-3), 1)
	lo, hi := 0, n
	if key < a[guess] {
		if !(key < a[guess-1]) {
			return guess - 1
		}
		hi = guess - 1
		if guess > near && key >= a[guess-near] {
			lo = guess - near
		}
	} else {
		if key < a[guess+1] {
			return guess
		}
		if key < a[guess+2] {
			return guess + 1
		}
		lo = guess + 2
		if guess < n-near-1 && key < a[guess+near] {
			hi = guess + near
		}
	}
	for lo < hi {
		mid := lo + (hi-lo)>>1
		if key >= a[mid] {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}
