package probe

import (
	"encoding/json"
	"regexp"
	"strconv"
)

// Layout says what a probe does its operations to.
type Layout struct {
	// Block is the size of a data operation in bytes; Direct does them past the cache.
	Block  int64
	Direct bool
	// File is the size in bytes of each of Pool small files.
	File int64
	Pool int
	// Data is the size of the large file in bytes, a multiple of Block.
	Data int64
}

// Defaults of Layout. That of Data is twice the memory, if that is at most a quarter
// of the space left.
const (
	DefaultBlock = 1 << 20
	DefaultFile  = 3901
	DefaultPool  = 3000
)

// DirConfig says how to make and use a probe's directory.
type DirConfig struct {
	// Name tells probes of one directory apart: the host's name, since many hosts may
	// see the same file system.
	Name string
	// Layout: what is 0 is as prepared, or the default.
	Layout Layout
	// Seed decides on the places in the large file.
	Seed uint64
	// Progress is told what is being made, of how many bytes or files; it may be nil.
	Progress func(what string, done, total int64)
	// Warn is told what people should know.
	Warn func(text string)
}

// UsageError is a wish that cannot be fulfilled, and what to do about it.
type UsageError struct{ Msg, Hint string }

func (e *UsageError) Error() string { return e.Msg + "; " + e.Hint }

// A probe's directory is DIR/.fiolat-probe.NAME. In it are
//
//	manifest.json   written first: what the rest was made for
//	lock            locked while somebody works there
//	data            the large file
//	pool/N          small files, numbered as they are made; the lowest is the oldest
//	status.json     Status
//
// and manifest.json.tmp and status.json.tmp for a moment.
const (
	dirPrefix    = ".fiolat-probe."
	manifestName = "manifest.json"
	lockName     = "lock"
	dataName     = "data"
	poolName     = "pool"
	statusName   = "status.json"
	tempSuffix   = ".tmp"

	manifestVersion = 1
)

// goodName is what may follow dirPrefix, if it is no longer than maxName. (Counted in
// the expression, that took a tenth of the time that fiolat needs to start.)
var goodName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

const maxName = 201

// smallName is the name of a small file.
func smallName(n uint64) string { return strconv.FormatUint(1e12+n, 10)[1:] }

// manifest is what manifest.json holds.
type manifest struct {
	Version int    `json:"fiolat_probe"`
	Name    string `json:"name"`
	File    int64  `json:"file_bytes"`
	Pool    int    `json:"pool_files"`
	Data    int64  `json:"data_bytes"`
}

// keptStatus is what status.json holds: the times of other blocks say nothing.
type keptStatus struct {
	Block  int64           `json:"block"`
	Direct bool            `json:"direct"`
	Status json.RawMessage `json:"status"`
}
