package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"fiolat/analysis/like"
	"fiolat/cmd/fiolat/descriptors"
	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/delivery"
	"fiolat/fio"
)

// Exit codes; exits has their meanings.
const (
	exitOK          = 0
	exitIncomplete  = 1
	exitUsage       = 2
	exitInput       = 3
	exitSLA         = 4
	exitCompare     = 5
	exitInterrupted = 130
)

// exits are the exit codes and their meanings, as docs/cli.md has them. Scripts rely on them: new ones may be added,
// but none changes its meaning.
var exits = []struct {
	code    int
	meaning string
}{
	{exitOK, "done"},
	{exitIncomplete, "some documents were not stored, and a message says which and where they " +
		"were spooled; or any other error"},
	{exitUsage, "usage"},
	{exitInput, "bad input"},
	{exitSLA, "an SLA rule is broken, with `--fail-on-sla`"},
	{exitCompare, "`compare --fail-if` or `history --fail-if-changed` fired"},
	{exitInterrupted, "interrupted; what was stored stays, and the same command again finishes"},
}

// exitCode is the only place that maps errors to exit codes.
func exitCode(err error) int {
	var (
		usage      *fio.UsageError
		likeUsage  *like.UsageError
		likeInput  *like.InputError
		parse      *fio.ParseError
		path       *fs.PathError
		incomplete *delivery.IncompleteError
		output     *delivery.OutputError
		line       *esmodel.LineError
	)
	var broken *slaError
	var started *fioError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &started): // live -- fio ...
		return started.Code
	case errors.Is(err, fio.ErrInterrupted), errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, errFailIf), errors.Is(err, errChanged):
		return exitCompare
	case errors.As(err, &usage), errors.As(err, &likeUsage):
		return exitUsage
	case errors.As(err, &incomplete), errors.As(err, &output), errors.Is(err, syscall.ENOSPC),
		errors.As(err, &path) && (path.Op == "write" || path.Op == "sync"): // input is only read
		return exitIncomplete
	case errors.As(err, &broken):
		return exitSLA
	case errors.As(err, &parse), errors.As(err, &line), errors.As(err, &likeInput), errors.As(err, &path),
		errors.Is(err, os.ErrNotExist):
		return exitInput
	}
	return exitIncomplete
}

// hint returns advice on an error whose message has none.
func hint(err error) string {
	var (
		usage      *like.UsageError
		input      *like.InputError
		away       *client.UnavailableError
		incomplete *delivery.IncompleteError // has advice already
	)
	switch {
	case errors.As(err, &away) && away.Never != "" && !errors.As(err, &incomplete):
		return "; nothing was sent or changed: check --es, and run the same command again once it answers, or with " +
			"--max-wait DURATION to wait for it"
	case errors.Is(err, syscall.EMFILE):
		return descriptors.Advice()
	case errors.Is(err, syscall.ENFILE):
		return "; the whole system has too many files open: raise the sysctl fs.file-max, or close some"
	case errors.As(err, &usage) && usage.Hint != "":
		return "; " + usage.Hint
	case errors.As(err, &input) && input.Hint != "":
		return "; " + input.Hint
	}
	return ""
}

func usageError(err error) error {
	if err == nil {
		return nil
	}
	return &fio.UsageError{Msg: err.Error()}
}
