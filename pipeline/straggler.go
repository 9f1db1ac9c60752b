package pipeline

// Straggler is a host, job or log that begins to stand out among its peers, or ceases to.
type Straggler struct {
	Dimension string // host, job or log
	Value     string
	Scope     string
	Dims      Dims
	// Ended says that it ceases to.
	Ended bool
	// Start is the first quantum in which it does, or no longer does, and End the end of the one in which that became
	// certain, in ns from the run's start; End is 0 if all of the run was looked at together.
	Start, End int64
	Percentile float64
	// Share is its part of the I/Os above the percentile of all of its peers together, Expected its part of all I/Os,
	// Lift the one over the other.
	Share, Expected, Lift float64
	// Factor is its median latency over its peers', 0 if not known.
	Factor float64
	// P is the probability of so much by chance.
	P    float64
	Text string
}
