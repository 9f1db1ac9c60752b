package esmodel

import (
	"fmt"
	"strings"
	"time"

	"fiolat/fio"
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

// DefaultPrefix is the default prefix of indices and templates, and the name of the lifecycle policy.
const DefaultPrefix = "fio"

// Index returns the name of the index for a document of a kind: PREFIX-run, PREFIX-histogram-2026.08. at is its
// @timestamp in ns since 1970; the month is that in UTC.
func Index(prefix string, kind Kind, at int64) string {
	if kind == KindRun {
		return prefix + "-run"
	}
	t := time.Unix(0, at).UTC()
	return fmt.Sprintf("%s-%s-%04d.%02d", prefix, kind, t.Year(), int(t.Month()))
}

// Pattern returns the pattern of a template for the indices of a kind. It matches others, too: see Indices.
func Pattern(prefix string, kind Kind) string {
	if kind == KindRun {
		return prefix + "-run"
	}
	return prefix + "-" + string(kind) + "-*"
}

// Indices returns the names of all indices of a kind, for requests: patterns of each month, separated by commas. They
// leave out what people name after an index, such as the copy PREFIX-histogram-2026.01-backup.
func Indices(prefix string, kind Kind) string {
	if kind == KindRun {
		return Index(prefix, kind, 0)
	}
	any := Pattern(prefix, kind)
	var names []string
	for month := 1; month <= 12; month++ {
		names = append(names, fmt.Sprintf("%s.%02d", any, month))
	}
	return strings.Join(append(names, "-"+any+"-*"), ",")
}

// KindOf returns the kind of documents in an index; ok is false if it is no index of fiolat with that prefix.
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

// CheckPrefix checks that Elasticsearch accepts a prefix in the names of indices. The error is a
// *fio.UsageError.
func CheckPrefix(prefix string) error {
	bad := func(why string) error {
		return &fio.UsageError{
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

// monthOf returns the month, [from, to) in ns since 1970, that contains a time.
func monthOf(ns int64) (from, to int64) {
	t := time.Unix(0, ns).UTC()
	first := time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	return first.UnixNano(), first.AddDate(0, 1, 0).UnixNano()
}

// AllIndices returns the names of all indices of a prefix but that of runs, for requests: see Indices.
func AllIndices(prefix string) string {
	var p []string
	for _, k := range Kinds[1:] {
		p = append(p, Indices(prefix, k))
	}
	return strings.Join(p, ",")
}
