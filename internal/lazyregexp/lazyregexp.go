// Package lazyregexp compiles regular expressions when they are first used: most commands use few of them, and
// compiling all would delay every start.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that compiles expr when it is first called. It panics then if expr is not valid.
func New(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
