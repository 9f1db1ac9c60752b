package fio

import (
	"cmp"
	"slices"
	"strings"
)

// What I/Os can be split by.
const (
	ByHost      = "host"
	ByJob       = "job"
	ByLog       = "log"
	ByDirection = "direction"
)

var dimensions = []string{ByHost, ByJob, ByLog, ByDirection}

// Dimensions returns what I/Os can be split by, in the order of the names of scopes. The caller must not change them.
func Dimensions() []string { return slices.Clip(dimensions) }

// Dims identify a leaf or a row. "" stands for a dimension that it is not split by, or whose value is unknown.
type Dims struct {
	Host, Job, Log string
	// Direction is read, write, trim, sync or all.
	Direction string
}

// Of returns the value of a dimension, "" if there is no such dimension.
func (d *Dims) Of(dimension string) string {
	if v := d.field(dimension); v != nil {
		return *v
	}
	return ""
}

// Set sets the value of one of Dimensions.
func (d *Dims) Set(dimension, value string) { *d.field(dimension) = value }

func (d *Dims) field(dimension string) *string {
	switch dimension {
	case ByHost:
		return &d.Host
	case ByJob:
		return &d.Job
	case ByLog:
		return &d.Log
	case ByDirection:
		return &d.Direction
	}
	return nil
}

// Scopes that code names: of all I/Os of a run, and of those of each direction, host, or both, or job of a host.
const (
	RunScope           = "run"
	DirectionScope     = ByDirection
	HostScope          = ByHost
	HostDirectionScope = ByHost + "+" + ByDirection
	HostJobScope       = ByHost + "+" + ByJob
)

// Scope is the name of the rows that are split by some of Dimensions: they are joined by "+" in their order.
func Scope(by []string) string { return cmp.Or(strings.Join(by, "+"), RunScope) }

// Undirected is the scope that is split by the same dimensions, but not by direction.
func Undirected(scope string) string {
	return cmp.Or(strings.TrimSuffix(strings.TrimSuffix(scope, ByDirection), "+"), RunScope)
}
