package main

import (
	"slices"
	"strings"

	"fiolat/fio/sla"
	"fiolat/pipeline"
)

// slaError is the error of --fail-on-sla.
type slaError struct{ rules []string }

func (e *slaError) Error() string { return "SLA broken: " + strings.Join(e.rules, "; ") }

// failOnSLA returns an slaError if a rule is broken and wanted is set.
func failOnSLA(wanted bool, s *pipeline.Summary) error {
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
	return &slaError{broken}
}
