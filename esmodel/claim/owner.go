package claim

import (
	"crypto/rand"
	"encoding/hex"
	"os"

	"fiolat/esmodel"
)

// NewOwner returns this process as an owner, with a new ID.
func NewOwner() esmodel.Owner {
	var id [12]byte
	rand.Read(id[:])
	o := esmodel.Owner{ID: hex.EncodeToString(id[:]), PID: os.Getpid()}
	o.Host, _ = os.Hostname() // best effort
	o.Boot, o.Namespace = thisSystem()
	o.Started, _ = processStart(o.PID)
	return o
}

// Exited reports whether the owner's process has certainly ended: it ran on this system, and either does not
// exist any more or another process has its PID.
func Exited(o *esmodel.Owner) bool {
	boot, namespace := thisSystem()
	host, _ := os.Hostname()
	if boot == "" || namespace == "" || o.Started == "" || o.Boot != boot || o.Namespace != namespace ||
		o.Host != host {
		return false
	}
	started, alive := processStart(o.PID)
	return !alive || started != "" && started != o.Started
}
