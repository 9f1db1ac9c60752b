package esmodel

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"fiolat/internal/errs"
	"fiolat/pipeline"
)

// WithHint appends what to do about it to a message.
func WithHint(msg, hint string) string {
	if hint == "" {
		return msg
	}
	return msg + "; " + hint
}

// maxName is the longest name, in bytes, that a run can be found by.
const maxName = 512

// CheckNames says whether a run can be found by its names; the error is a *errs.UsageError.
func CheckNames(run *pipeline.Run) error {
	for _, n := range []struct{ flag, value string }{{"--run-id", run.ID}, {"--part", run.Part}, {"--run-name",
		run.Name}} {
		if len(n.value) > maxName {
			return &errs.UsageError{
				Msg:  fmt.Sprintf("%s is longer than %d bytes", n.flag, maxName),
				Hint: "use a shorter one",
			}
		}
		if n.flag != "--run-name" && !utf8.ValidString(n.value) {
			return &errs.UsageError{Msg: fmt.Sprintf("%s %q is not UTF-8", n.flag, n.value), Hint: "use another one"}
		}
	}
	return CheckLabels(run.Labels)
}

// CheckLabels says whether labels can be fields of a document; the error is a
// *errs.UsageError.
func CheckLabels(labels map[string]string) error {
	for k, v := range labels {
		if len(v) > maxName {
			return &errs.UsageError{
				Msg:  fmt.Sprintf("the value of label %q is longer than %d bytes", k, maxName),
				Hint: "use a shorter one",
			}
		}
		if k == "" || strings.TrimSpace(k) != k || strings.HasPrefix(k, ".") || strings.HasSuffix(k, ".") ||
			strings.Contains(k, "..") || strings.ContainsAny(k, "\x00*") || len(k) > 200 || !utf8.ValidString(k) {
			return &errs.UsageError{
				Msg:  fmt.Sprintf("label %q cannot be the name of a field", k),
				Hint: "use letters, digits, '-', '_' and single dots, as in --label cluster=b7",
			}
		}
	}
	return nil
}
