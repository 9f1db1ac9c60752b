package errs

import (
	"fmt"
	"strings"
)

// Some joins the first few names, and counts the others.
func Some(names []string) string {
	const few = 4
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:few], ", ") + fmt.Sprintf(" and %d more", len(names)-few)
}
