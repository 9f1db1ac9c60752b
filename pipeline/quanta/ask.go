package quanta

// ManyTimes is how many times as many quanta as its length gives a run may have without asking: a wrong clock or
// offset makes millions of quanta, each with documents.
const ManyTimes = 10

// fewQuanta are made unasked, however short the run: servers of fio --client can start seconds apart.
const fewQuanta = 100

// Ask calls *allow, once, if there are too many quanta for a run whose length gives usual ones.
func Ask(allow *func(quanta, usual int64) error, quanta int64, usual func() int64) error {
	f := *allow
	if f == nil || quanta <= fewQuanta {
		return nil
	}
	n := usual()
	if quanta <= ManyTimes*n {
		return nil
	}
	*allow = nil
	return f(quanta, n)
}
