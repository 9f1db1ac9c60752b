package fio

import "slices"

// Kind is which of fio's latencies a log or a set of bins holds.
type Kind uint8

// Completion, submission and total latency, which may be logged and whose number is Kinds, and that of fsync,
// fdatasync and sync_file_range, which is in fio's JSON only.
const (
	Clat Kind = iota
	Slat
	Lat
	Sync
	Kinds = iota - 1
)

var kindNames = [...]string{Clat: "clat", Slat: "slat", Lat: "lat", Sync: "sync"}

var _ [Kinds + 1]string = kindNames // each has a name

// String is the kind's name in fio: clat, slat, lat or sync.
func (k Kind) String() string { return kindNames[k] }

// ParseKind is the kind of that name.
func ParseKind(name string) (Kind, bool) {
	k := slices.Index(kindNames[:], name)
	return Kind(max(k, 0)), k >= 0
}

// KindNames returns the names of the kinds that are logged, by number.
func KindNames() []string { return slices.Clone(kindNames[:Kinds]) }
