package quanta

// MaxQuantaFactor is the factor by which a run may exceed the quanta that its length gives without asking: a wrong
// clock or offset makes millions of quanta, each with documents.
const MaxQuantaFactor = 10

// fewQuanta are made without asking, however short the run: servers of fio --client can start seconds apart.
const fewQuanta = 100

// CheckQuanta calls *allow, at most once, if the quanta are far more than usual for the length of the run.
func CheckQuanta(allow *func(quanta, usual int64) error, quanta int64, usual func() int64) error {
	f := *allow
	if f == nil || quanta <= fewQuanta {
		return nil
	}
	n := usual()
	if quanta <= MaxQuantaFactor*n {
		return nil
	}
	*allow = nil
	return f(quanta, n)
}
