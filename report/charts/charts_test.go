package charts

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

// The libraries are those that VERSIONS names, unchanged, with their licences.
func TestLibraries(t *testing.T) {
	read := func(name string) []byte {
		b, err := fs.ReadFile(JS, "js/"+name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	listed := 0
	for line := range strings.Lines(Versions) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Fields(line)
		if sum := fmt.Sprintf("%x", sha256.Sum256(read(f[2]))); sum != f[3] {
			t.Errorf("%s has the sum %s, VERSIONS says %s", f[2], sum, f[3])
		}
		if !strings.Contains(Licenses, f[0]) {
			t.Errorf("no licence of %s", f[0])
		}
		listed++
	}
	all, err := fs.Glob(JS, "js/*.js")
	if err != nil || len(all) != listed {
		t.Errorf("%d libraries, VERSIONS names %d; %v", len(all), listed, err)
	}
}

// A specification leaves what it was made of as it was, and is the same each time:
// charts share their data.
func TestSpecsAreStable(t *testing.T) {
	data := Data{Source: M{"values": []M{}}, Transform: append(make([]M, 0, 8), calculate("t", "datum.key"))}
	for name, build := range map[string]func() Spec{
		"heat map": func() Spec { return HeatMap{Data: data, Axis: WallClock, Events: &data, Title: "t"}.Spec() },
		"percentiles": func() Spec {
			return Percentiles{Data: data, Names: []string{"p50"}, Axis: SinceStart, Events: &data}.Spec()
		},
		"overlay":  func() Spec { return Overlay{Data: data, Names: []string{"p50"}, First: "p50"}.Spec() },
		"parts":    func() Spec { return Parts{Data: data}.Spec() },
		"tail":     func() Spec { return TailMap{Data: data, Axis: WallClock, Drag: SetTime}.Spec() },
		"findings": func() Spec { return Findings{Data: data}.Spec() },
		"load curve": func() Spec {
			return LoadCurve{Data: data, Names: []string{"p50"}, Choice: data, First: "all"}.Spec()
		},
		"change": func() Spec { return Change{Data: data}.Spec() },
		"history": func() Spec {
			return History{Data: data, Names: []string{"p50"}, Changes: Data{Source: M{"name": "changes"}}}.Spec()
		},
	} {
		a, err := json.Marshal(build())
		if err != nil {
			t.Fatal(err)
		}
		b, _ := json.Marshal(build())
		if !bytes.Equal(a, b) || len(data.Transform) != 1 {
			t.Errorf("%s: %s and %s", name, a, b)
		}
	}
}
