package claim

import (
	"os/exec"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fiolat/esmodel"
)

// TestMain fails if a test leaves goroutines behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOwnerGone(t *testing.T) {
	if boot, _ := thisSystem(); boot == "" {
		t.Skip("this system does not tell which processes are gone")
	}
	zombie := exec.Command("true")
	if err := zombie.Start(); err != nil {
		t.Skip(err)
	}
	defer zombie.Wait()
	for { // until it has ended; it is not waited for
		if _, alive := processStart(zombie.Process.Pid); !alive {
			break
		}
		time.Sleep(time.Millisecond)
	}
	for name, tt := range map[string]struct {
		edit func(*esmodel.Owner)
		gone bool
	}{
		"this one":          {func(*esmodel.Owner) {}, false},
		"ended":             {func(o *esmodel.Owner) { o.PID = ended(t) }, true},
		"a zombie":          {func(o *esmodel.Owner) { o.PID = zombie.Process.Pid }, true},
		"number used again": {func(o *esmodel.Owner) { o.Started = "1" }, true},
		"ended elsewhere":   {func(o *esmodel.Owner) { o.PID, o.Host = ended(t), "far.example" }, false},
		"before the boot":   {func(o *esmodel.Owner) { o.PID, o.Boot = ended(t), "b" }, false},
		"of a container":    {func(o *esmodel.Owner) { o.PID, o.Namespace = ended(t), "pid:[1]" }, false},
		"start not known":   {func(o *esmodel.Owner) { o.PID, o.Started = ended(t), "" }, false},
	} {
		o := NewOwner()
		tt.edit(&o)
		if got := Exited(&o); got != tt.gone {
			t.Errorf("%s: gone %v", name, got)
		}
	}
}

// ended is the number of a process that has ended.
func ended(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Skip(err)
	}
	return cmd.Process.Pid
}
