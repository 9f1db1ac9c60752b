package command

import (
	"slices"
	"strings"

	"fiolat/internal/sla"
	"fiolat/pipeline"
)

// SLAError is what --fail-on-sla makes of broken rules.
type SLAError struct{ rules []string }

func (e *SLAError) Error() string { return "SLA broken: " + strings.Join(e.rules, "; ") }

// FailOnSLA is an error if a rule is broken and that was asked for.
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
