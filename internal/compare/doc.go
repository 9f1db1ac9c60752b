// Package compare says whether runs really differ: percentiles, mean latency and IOPS of each
// direction, how much they changed from one group of repeats to another, and between which limits
// the change lies with 95 % confidence.
//
//	pipeline -> Series -> Group -> Compare -> Result -> Judge
//	quanta      a run     its      limits,    rows      --fail-if
//	            sparse    repeats  verdicts
//
// Limits come from the spread between the runs of a group, and are not narrower than the noise within
// the runs: neighbouring seconds resemble each other, so whole blocks of quanta are drawn again. The
// limits of all rows of a fixed family hold together, whatever is shown.
//
// The same runs give the same result to the last bit. It is called by the commands;
// it imports pipeline and internal/fiohist.
package compare
