package esmodel

import (
	"fmt"
	"strings"
	"time"

	"fiolat/internal/errs"
)

// Kind is a kind of document; each has its own template and its own indices.
type Kind string

// The kinds of documents.
const (
	KindRun         Kind = "run"
	KindHistogram   Kind = "histogram"
	KindPercentiles Kind = "percentiles"
	KindProbe       Kind = "probe"
	KindEvent       Kind = "event"
)

// Kinds are all kinds of documents.
var Kinds = []Kind{KindRun, KindHistogram, KindPercentiles, KindProbe, KindEvent}

// DefaultPrefix is that of all indices, templates and the lifecycle policy.
const DefaultPrefix = "fio"

// Index is the name of the index for a document of that kind with that @timestamp
// in ns since 1970: PREFIX-run, PREFIX-histogram-2026.08. The month is UTC's.
func Index(prefix string, kind Kind, at int64) string {
	if kind == KindRun {
		return prefix + "-run"
	}
	t := time.Unix(0, at).UTC()
	return fmt.Sprintf("%s-%s-%04d.%02d", prefix, kind, t.Year(), int(t.Month()))
}

// Pattern matches all indices of a kind.
func Pattern(prefix string, kind Kind) string {
	if kind == KindRun {
		return prefix + "-run"
	}
	return prefix + "-" + string(kind) + "-*"
}

// KindOf is the kind that an index of the prefix holds; false if it is none of ours.
func KindOf(prefix, index string) (Kind, bool) {
	rest, ok := strings.CutPrefix(index, prefix+"-")
	if !ok {
		return "", false
	}
	for _, k := range Kinds {
		if k == KindRun {
			if rest == string(k) {
				return k, true
			}
			continue
		}
		month, ok := strings.CutPrefix(rest, string(k)+"-")
		if !ok {
			continue
		}
		if _, err := time.Parse("2006.01", month); err == nil {
			return k, true
		}
	}
	return "", false
}

// CheckPrefix says whether Elasticsearch takes a prefix as the start of names of
// indices; the error is a *errs.UsageError.
func CheckPrefix(prefix string) error {
	bad := func(why string) error {
		return &errs.UsageError{
			Msg:  fmt.Sprintf("index prefix %q %s", prefix, why),
			Hint: "use letters a-z, digits, '-', '_' and '.', as in --index-prefix fio",
		}
	}
	switch {
	case prefix == "":
		return bad("is empty")
	case len(prefix) > 100:
		return bad("is longer than 100 bytes")
	case strings.ContainsRune("-_.", rune(prefix[0])):
		return bad("starts with '-', '_' or '.'")
	}
	for _, r := range prefix {
		if !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.') {
			return bad(fmt.Sprintf("contains %q", r))
		}
	}
	return nil
}

// monthOf is the month, [from, to) in ns since 1970, that a time lies in.
func monthOf(ns int64) (from, to int64) {
	t := time.Unix(0, ns).UTC()
	first := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	return first.UnixNano(), first.AddDate(0, 1, 0).UnixNano()
}

// AllPatterns are those of all indices of a prefix but the one of runs.
func AllPatterns(prefix string) string {
	var p []string
	for _, k := range Kinds[1:] {
		p = append(p, Pattern(prefix, k))
	}
	return strings.Join(p, ",")
}
