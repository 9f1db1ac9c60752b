package claim

import (
	"crypto/rand"
	"encoding/hex"
	"os"

	"fiolat/esmodel"
)

// NewOwner is this process, with an ID of its own.
func NewOwner() esmodel.Owner {
	var id [12]byte
	rand.Read(id[:])
	o := esmodel.Owner{ID: hex.EncodeToString(id[:]), PID: os.Getpid()}
	o.Host, _ = os.Hostname() // "" says no more than that nobody can look after the process
	o.Boot, o.Namespace = thisSystem()
	o.Started, _ = processStart(o.PID)
	return o
}

// Gone says that the owner's process has ended, for certain: it ran on this very
// system, and is not there any more, or its number is another one's now.
func Gone(o *esmodel.Owner) bool {
	boot, namespace := thisSystem()
	host, _ := os.Hostname()
	if boot == "" || namespace == "" || o.Started == "" || o.Boot != boot || o.Namespace != namespace ||
		o.Host != host {
		return false
	}
	started, alive := processStart(o.PID)
	return !alive || started != "" && started != o.Started
}
