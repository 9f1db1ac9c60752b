package fio

import (
	"cmp"
	"slices"
)

// Nearest returns the n words that are nearest to one that is not among them, the nearest first.
func Nearest(word string, words []string, n int) []string {
	near := slices.SortedStableFunc(slices.Values(words), func(a, b string) int {
		return cmp.Or(cmp.Compare(Distance(word, a), Distance(word, b)), cmp.Compare(a, b))
	})
	return near[:min(n, len(near))]
}

// Distance returns the Levenshtein distance between two words, in bytes.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := before
			if a[i] != b[j] {
				d++
			}
			before = row[j+1]
			row[j+1] = min(d, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
