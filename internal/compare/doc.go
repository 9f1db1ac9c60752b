// Package compare says whether two runs really differ: percentiles, mean latency
// and IOPS of each direction, how much they changed, and between which limits the
// change lies with 95 % confidence.
//
//	pipeline -> Series -> Compare -> Result -> Rule
//	quanta      kept      block      changes   --fail-if
//	            sparse    bootstrap
//
// It refuses to take a run for a heap of independent I/Os: neighbouring seconds
// resemble each other, so whole blocks of quanta are drawn again, as long as the
// run's own memory asks for. It refuses to cry wolf: the limits of all numbers
// of a comparison hold together, so that of many numbers that did not change none
// is called different in 95 of 100 comparisons. And where quanta are too few to say
// anything, it says nothing.
//
// The same runs give the same result to the last bit. It is called by the commands;
// it imports pipeline and internal/fiohist.
package compare
