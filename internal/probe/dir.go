package probe

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"fiolat/fio"
)

// Layout describes the files of a probe.
type Layout struct {
	// Block is the size of a data operation in bytes. Direct bypasses the page cache.
	Block  int64
	Direct bool
	// File is the size in bytes of each of Pool small files.
	File int64
	Pool int
	// Data is the size of the large file in bytes, a multiple of Block.
	Data int64
}

// Defaults of Layout. Data defaults to twice the memory, at most a quarter of the free
// space.
const (
	defaultBlock = 1 << 20
	defaultFile  = 3901
	defaultPool  = 3000
)

// LargeFile is what Progress calls the bytes of the large file.
const LargeFile = "bytes of the large file"

// DirConfig configures OpenDir.
type DirConfig struct {
	// Name distinguishes the probes of one directory. It is the host's name, since many
	// hosts may see the same file system.
	Name string
	// Layout: a value of 0 means as prepared, or the default.
	Layout Layout
	// Seed determines the offsets in the large file.
	Seed uint64
	// Progress is called while files are created, with bytes or numbers of files; it may
	// be nil.
	Progress func(what string, done, total int64)
	// Warn is called with warnings.
	Warn func(text string)
}

func usagef(hint, format string, args ...any) error {
	return &fio.UsageError{Msg: fmt.Sprintf(format, args...), Hint: hint}
}

// A probe's directory is DIR/.fiolat-probe.NAME. In it are
//
//	manifest.json   written first: what the rest was made for
//	lock            locked while a probe is running
//	data            the large file
//	pool/N          small files, numbered as they are made; the lowest number is the oldest
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

// goodName matches valid names. The length is checked separately, because a counted
// repetition takes long to compile at start.
var goodName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

const maxName = 201

// smallName returns the name of small file n.
func smallName(n uint64) string { return strconv.FormatUint(1e12+n, 10)[1:] }

// manifest is the content of manifest.json.
type manifest struct {
	Version int    `json:"fiolat_probe"`
	Name    string `json:"name"`
	File    int64  `json:"file_bytes"`
	Pool    int    `json:"pool_files"`
	Data    int64  `json:"data_bytes"`
}

// keptStatus is the content of status.json. Times are comparable only for the same block
// size.
type keptStatus struct {
	Block  int64           `json:"block"`
	Direct bool            `json:"direct"`
	Status json.RawMessage `json:"status"`
}
