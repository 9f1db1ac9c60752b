// Package history finds the runs from which on a series of runs is faster or slower: change points of percentiles,
// mean and IOPS, and of whole histograms.
//
//	Run -> Split -> Analyse -> Result
//	figures  series  metrics   change points
//
// The same runs give the same result to the last bit. The package reads no files.
package history
