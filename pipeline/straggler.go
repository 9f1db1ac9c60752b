package pipeline

import "fiolat/fio"

// Straggler is a host, job or log that begins to stand out among its peers, or ceases to.
type Straggler struct {
	Dimension string // host, job or log
	Value     string
	Scope     string
	Dims      fio.Dims
	// Ended is set if it ceases to.
	Ended bool
	// Start is the first quantum in which it stands out, or no longer does, and End the end of the quantum in which
	// that became certain, in ns from the run's start. End is 0 if the whole run was examined at once.
	Start, End int64
	Percentile float64
	// Share is its fraction of the I/Os above the percentile of all peers together, Expected its
	// fraction of all I/Os, and Lift is Share divided by Expected.
	Share, Expected, Lift float64
	// Factor is its median latency divided by that of its peers, 0 if not known.
	Factor float64
	// P is the probability of so much by chance.
	P    float64
	Text string
}

// Diagnosis is what the document of a run says under "diagnosis": a type of package diagnose, encoded as JSON.
type Diagnosis interface {
	// IsDiagnosis marks the types.
	IsDiagnosis()
}
