package command

import (
	"slices"
	"strings"

	"fiolat/internal/sla"
	"fiolat/pipeline"
)

// SLAError is the error of --fail-on-sla.
type SLAError struct{ rules []string }

func (e *SLAError) Error() string { return "SLA broken: " + strings.Join(e.rules, "; ") }

// FailOnSLA returns an SLAError if a rule is broken and wanted is set.
func FailOnSLA(wanted bool, s *pipeline.Summary) error {
	if !wanted {
		return nil
	}
	var broken []string
	for _, o := range s.SLA {
		if o.Status() == sla.Broken && !slices.Contains(broken, o.Rule.Text) {
			broken = append(broken, o.Rule.Text)
		}
	}
	if len(broken) == 0 {
		return nil
	}
	return &SLAError{broken}
}
