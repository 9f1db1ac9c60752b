package esmodel

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"fiolat/fio"
	"fiolat/pipeline"
)

// WithHint appends a hint to a message, unless it is "".
func WithHint(msg, hint string) string {
	if hint == "" {
		return msg
	}
	return msg + "; " + hint
}

// maxName is the maximum length of names of a run and of values of labels, in bytes.
const maxName = 512

// CheckNames checks that a run can be found by its names and labels. The error is a *fio.UsageError.
func CheckNames(run *pipeline.Run) error {
	for _, n := range []struct{ flag, value string }{{"--run-id", run.ID}, {"--part", run.Part}, {"--run-name",
		run.Name}} {
		if len(n.value) > maxName {
			return &fio.UsageError{
				Msg:  fmt.Sprintf("%s is longer than %d bytes", n.flag, maxName),
				Hint: "use a shorter one",
			}
		}
		if n.flag != "--run-name" && !utf8.ValidString(n.value) {
			return &fio.UsageError{Msg: fmt.Sprintf("%s %q is not UTF-8", n.flag, n.value), Hint: "use another one"}
		}
	}
	return CheckLabels(run.Labels)
}

// MaxLabels is how many labels a run can have: each is a field, of which an index has room for 2,000 for all runs.
const MaxLabels = 50

// CheckLabels checks that labels can be fields of a document. The error is a *fio.UsageError.
func CheckLabels(labels map[string]string) error {
	if len(labels) > MaxLabels {
		return &fio.UsageError{
			Msg:  fmt.Sprintf("%d labels, where a run can have %d", len(labels), MaxLabels),
			Hint: "each is a field of the index; put what belongs together into one value",
		}
	}
	for k, v := range labels {
		if len(v) > maxName {
			return &fio.UsageError{
				Msg:  fmt.Sprintf("the value of label %q is longer than %d bytes", k, maxName),
				Hint: "use a shorter one",
			}
		}
		if k == "" || strings.TrimSpace(k) != k || strings.HasPrefix(k, ".") || strings.HasSuffix(k, ".") ||
			strings.Contains(k, "..") || strings.ContainsAny(k, "\x00*") || len(k) > 200 || !utf8.ValidString(k) {
			return &fio.UsageError{
				Msg:  fmt.Sprintf("label %q cannot be the name of a field", k),
				Hint: "use letters, digits, '-', '_' and single dots, as in --label cluster=b7",
			}
		}
	}
	return nil
}
