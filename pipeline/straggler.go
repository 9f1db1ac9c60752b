package pipeline

import "fiolat/fio"

// Straggler is a host, job or log that begins to stand out among its peers, or ceases to.
type Straggler struct {
	Dimension string // host, job or log
	Who       string
	Scope     string
	Dims      fio.Dims
	// Ended is set if it ceases to.
	Ended bool
	// Start is the first interval in which it stands out, or no longer does, and End the end of the interval in which
	// that became certain, in ns from the run's start. End is 0 if the whole run was examined at once.
	Start, End int64
	// Measure is what Own and its peers' Others are: p50 or p99 in ns, or iops. Factor is by how much Own is worse.
	Measure             string
	Factor, Own, Others float64
	Text                string
}

// Diagnosis is what the document of a run says under "diagnosis": a type of package diagnose, encoded as JSON.
type Diagnosis interface {
	// IsDiagnosis marks the types.
	IsDiagnosis()
}
