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

// Outliers are the single I/Os of a run that took far longer than the rest of their direction.
type Outliers struct {
	// Found is how many there are, at different times, and IOs how many I/Os they are.
	Found int     `json:"found"`
	IOs   float64 `json:"ios"`
	// Longest are the longest of them, in order of time.
	Longest []Outlier `json:"-"`
}

// Outlier are I/Os far above the rest at one time, mostly a single one.
type Outlier struct {
	Dims  fio.Dims `json:"-"` // direction and job
	Hosts []string `json:"-"`
	// Start and End are the time in which they completed, in ns from the run's start.
	Start int64 `json:"-"`
	End   int64 `json:"-"`
	// IOs is their number, Longest the longest latency of them, and Above that from which on an I/O is an outlier: ns.
	IOs     float64 `json:"ios"`
	Longest float64 `json:"latency"`
	Above   float64 `json:"above"`
	Text    string  `json:"-"`
}

// Diagnosis is what the document of a run says under "diagnosis": a type of package diagnose, encoded as JSON.
type Diagnosis interface {
	// IsDiagnosis marks the types.
	IsDiagnosis()
}
