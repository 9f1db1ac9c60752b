package quanta

// ManyTimes is how many times the length of a run may be spread over before somebody is asked: a
// wrong clock or offset makes millions of quanta, each with documents.
const ManyTimes = 10

// fewQuanta are made unasked, however short the run: servers of fio --client can start seconds apart.
const fewQuanta = 100

// Ask asks whether so many quanta shall be made, where a run of this length has usual ones; once.
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
