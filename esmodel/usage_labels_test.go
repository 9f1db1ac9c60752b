package esmodel

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"fiolat/fio"
	"fiolat/pipeline"
)

// TestManyLabels: a run has 50 labels at most, also when more are added later; those of an older fiolat may be removed.
func TestManyLabels(t *testing.T) {
	labels := map[string]string{}
	for i := range MaxLabels {
		labels[fmt.Sprintf("k%d", i)] = "v"
	}
	if err := CheckLabels(labels); err != nil {
		t.Error(err)
	}
	doc := MustJSON(map[string]any{"run": map[string]any{"id": "r", "labels": labelPairs(labels)}, "labels": labels})
	more := map[string]string{"another": "v"}
	if _, err := Relabel(doc, more, nil); !errors.As(err, new(*fio.UsageError)) {
		t.Errorf("a 51st: %v", err)
	}
	if _, err := Relabel(doc, more, []string{"k1"}); err != nil {
		t.Errorf("in place of another: %v", err)
	}
	labels["another"] = "v"
	if err := CheckLabels(labels); !errors.As(err, new(*fio.UsageError)) {
		t.Errorf("51: %v", err)
	}
}

// TestNamesInErrors: a name that cannot be stored is told with its flag.
func TestNamesInErrors(t *testing.T) {
	for want, run := range map[string]*pipeline.Run{
		`--run-id "a\xff" is not UTF-8`: {ID: "a\xff"},
		`--part "b\xff" is not UTF-8`:   {ID: "a", Part: "b\xff"},
		"--run-name is longer than":     {ID: "a", Name: strings.Repeat("x", maxName+1)},
	} {
		if err := CheckNames(run); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := CheckNames(&pipeline.Run{ID: "a", Name: "b\xff"}); err != nil {
		t.Error(err)
	}
}
