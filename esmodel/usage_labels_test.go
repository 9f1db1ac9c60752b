package esmodel

import (
	"errors"
	"fmt"
	"testing"

	"fiolat/fio"
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
