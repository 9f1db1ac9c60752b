package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"fiolat/esmodel"
	"fiolat/ingest"
	"fiolat/internal/like"
	"fiolat/internal/probe"
	"fiolat/kibana"
	"fiolat/pipeline"
)

// Exit codes; a promise to scripts. New ones may be added, none changes meaning.
const (
	exitOK          = 0
	exitIncomplete  = 1   // not everything arrived: what, and where the rest is, was said
	exitUsage       = 2   // the command line
	exitInput       = 3   // bad input
	exitSLA         = 4   // an SLA is broken, with --fail-on-sla
	exitCompare     = 5   // compare --fail-if fired
	exitInterrupted = 130 // a signal; what was done stands
)

// exitCode is the table of errors and exit codes; the only one.
func exitCode(err error) int {
	var (
		usage      *usageErr
		wish       *pipeline.UsageError
		likeUsage  *like.UsageError
		likeInput  *like.InputError
		parse      *ingest.ParseError
		path       *fs.PathError
		incomplete *esmodel.IncompleteError
		output     *esmodel.OutputError
		esUsage    *esmodel.UsageError
		kbUsage    *kibana.UsageError
		line       *esmodel.LineError
		probeUsage *probe.UsageError
	)
	var broken *slaError
	var fio *fioError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &fio): // live -- fio ...
		return fio.code
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, errCompare):
		return exitCompare
	case errors.As(err, &usage), errors.As(err, &wish), errors.As(err, &likeUsage), errors.As(err, &esUsage), errors.As(err, &kbUsage), errors.As(err, &probeUsage):
		return exitUsage
	case errors.As(err, &incomplete), errors.As(err, &output):
		return exitIncomplete
	case errors.As(err, &broken):
		return exitSLA
	case errors.As(err, &parse), errors.As(err, &line), errors.As(err, &likeInput), errors.As(err, &path), errors.Is(err, os.ErrNotExist):
		return exitInput
	}
	return exitIncomplete
}

// hint is what to do about an error that does not say so itself.
func hint(err error) string {
	var (
		usage *like.UsageError
		input *like.InputError
	)
	switch {
	case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE):
		return "; raise the limit, e.g. with `ulimit -n 1024`"
	case errors.As(err, &usage) && usage.Hint != "":
		return "; " + usage.Hint
	case errors.As(err, &input) && input.Hint != "":
		return "; " + input.Hint
	}
	return ""
}

// slaError is what --fail-on-sla makes of broken rules.
type slaError struct{ rules []string }

func (e *slaError) Error() string { return "SLA broken: " + strings.Join(e.rules, "; ") }

// usageErr is a fault of the command line.
type usageErr struct{ msg string }

func (e *usageErr) Error() string { return e.msg }

func usagef(format string, args ...any) error { return &usageErr{fmt.Sprintf(format, args...)} }

func usageError(err error) error {
	if err == nil {
		return nil
	}
	return &usageErr{err.Error()}
}
