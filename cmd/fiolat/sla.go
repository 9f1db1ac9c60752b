package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/fio"
	"fiolat/fio/sla"
	"fiolat/pipeline"
)

// What --fail-on-sla fails on: rules that are certainly broken, or all but those that certainly hold.
const (
	ifBroken = "broken"
	unlessOK = "unless-ok"
)

func failOnSLAFlag(to *string) cli.Flag {
	return &cli.GenericFlag{Name: "fail-on-sla", Usage: "exit with 4 if a rule is broken; with =unless-ok also if that is " +
		"not certain",
		Value: &value{alone: ifBroken, parse: func(text string) error {
			switch text {
			case ifBroken, unlessOK:
				*to = text
			case "true":
				*to = ifBroken
			case "false":
				*to = ""
			default:
				return fio.Usagef("--fail-on-sla=%s: want =%s, or =%s, which it is without a value", text, unlessOK, ifBroken)
			}
			return nil
		}}}
}

// slaError is the error of --fail-on-sla.
type slaError struct{ broken, unsure []string }

func (e *slaError) Error() string {
	var words []string
	if len(e.broken) > 0 {
		words = append(words, "SLA broken: "+strings.Join(e.broken, "; "))
	}
	if len(e.unsure) > 0 {
		words = append(words, "SLA not certain: "+strings.Join(e.unsure, "; "))
	}
	return strings.Join(words, "; ")
}

// failOnSLA returns an slaError if a rule is broken or, as wanted, not certainly met; wanted is "" for never.
func failOnSLA(wanted string, s *pipeline.Summary) error {
	e := &slaError{}
	for _, o := range s.SLA {
		list := &e.broken
		switch status := o.Status(); {
		case wanted == "", status == sla.OK, status == sla.Unknown && wanted != unlessOK:
			continue
		case status == sla.Unknown:
			list = &e.unsure
		}
		if !slices.Contains(*list, o.Rule.Text) {
			*list = append(*list, o.Rule.Text)
		}
	}
	if len(e.broken)+len(e.unsure) == 0 {
		return nil
	}
	return e
}
