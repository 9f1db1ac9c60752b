package esmodel

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"

	"fiolat/internal/errs"
)

// Owner is the process that has claimed a run, as the document of the run names it.
type Owner struct {
	// ID is random, another one for each claim.
	ID   string `json:"id"`
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Boot and Namespace say which kernel's, since which boot, and which container's process
	// PID is; Started is when it started, in the kernel's ticks. All are "" where the system
	// does not tell.
	Boot      string `json:"boot,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Started   string `json:"started,omitempty"`
}

func (o *Owner) String() string {
	return fmt.Sprintf("fiolat on host %s, process %d", errs.Printable(o.Host), o.PID)
}

// newOwner is this process, with an ID of its own.
func newOwner() Owner {
	var id [12]byte
	rand.Read(id[:])
	o := Owner{ID: hex.EncodeToString(id[:]), PID: os.Getpid()}
	o.Host, _ = os.Hostname() // "" says no more than that nobody can look after the process
	o.Boot, o.Namespace = thisSystem()
	o.Started, _ = processStart(o.PID)
	return o
}

// gone says that the owner's process has ended, for certain: it ran on this very
// system, and is not there any more, or its number is another one's now.
func gone(o *Owner) bool {
	boot, namespace := thisSystem()
	host, _ := os.Hostname()
	if boot == "" || namespace == "" || o.Started == "" || o.Boot != boot || o.Namespace != namespace || o.Host != host {
		return false
	}
	started, alive := processStart(o.PID)
	return !alive || started != "" && started != o.Started
}
