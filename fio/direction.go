package fio

import (
	"fmt"
	"slices"
	"strings"
)

// Direction is fio's data direction.
type Direction uint8

// The directions as fio numbers them in its logs. Directions is their number.
const (
	Read Direction = iota
	Write
	Trim
	Directions = iota
)

var directionNames = [...]string{Read: "read", Write: "write", Trim: "trim"}

var _ [Directions]string = directionNames // each has a name

// All is the direction of what adds up all of them. Syncs are not I/O, and never in it.
const All = "all"

// directions are the words that stand for a direction: All, the directions by number, and syncs.
var directions = slices.Concat([]string{All}, directionNames[:], []string{Sync.String()})

// String is the direction's name in fio's JSON: read, write or trim.
func (d Direction) String() string {
	if d < Directions {
		return directionNames[d]
	}
	return fmt.Sprintf("direction %d", uint8(d))
}

// ParseDirection is the direction of that name.
func ParseDirection(name string) (Direction, bool) {
	d := slices.Index(directionNames[:], name)
	return Direction(max(d, 0)), d >= 0
}

// DirectionNames returns the names of the directions, by number. The caller must not change them.
func DirectionNames() []string { return slices.Clip(directions[1 : 1+Directions]) }

// RowDirections returns All and DirectionNames. The caller must not change them.
func RowDirections() []string { return slices.Clip(directions[:1+Directions]) }

// MetricDirections returns RowDirections and sync. The caller must not change them.
func MetricDirections() []string { return slices.Clip(directions) }

// List joins words for a message, the last one with "and" or "or": "read, write or trim".
func List(words []string, last string) string {
	n := max(len(words)-1, 0)
	head := strings.Join(words[:n], ", ")
	if head != "" {
		head += " " + last + " "
	}
	return head + strings.Join(words[n:], "")
}
