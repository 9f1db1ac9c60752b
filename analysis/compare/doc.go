// Package compare tests whether runs differ. For percentiles, mean latency and IOPS of each direction it computes how
// much they changed from one group of repeated runs to another, with 95 % confidence limits of the change.
//
//	pipeline -> Series -> Group -> Compare -> Result -> Judge
//	intervals      a run     its      limits,    rows      --fail-if
//	            sparse    repeats  verdicts
//
// The limits come from the spread between the runs of a group, and are not narrower than the noise within the runs.
// Neighbouring intervals are autocorrelated, so that noise is estimated by a block bootstrap. The limits are
// simultaneous for a fixed family of rows, whatever is shown.
//
// The same runs give the same result to the last bit.
package compare
