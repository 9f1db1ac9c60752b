package delivery

import (
	"errors"
	"maps"
	"slices"

	"fiolat/pipeline"
)

// ProbeFiles are files to which documents are appended as they come, one for each index, in the form of a bulk
// request, for "fiolat load". A probe may run for months, so unlike those of a DirWriter they exist from the
// first document on, and a killed probe loses the last document at most.
type ProbeFiles struct {
	dir, tail string
	files     map[string]*spoolFile
}

// NewProbeFiles returns the ProbeFiles of a run in a directory.
func NewProbeFiles(dir, run string) *ProbeFiles {
	return &ProbeFiles{dir, fileSuffix(&pipeline.Run{ID: run}), map[string]*spoolFile{}}
}

// Add writes a document.
func (p *ProbeFiles) Add(index, id string, doc []byte) error {
	f := p.files[index]
	if f == nil {
		f = newSpoolFile(p.dir, index+p.tail)
		p.files[index] = f
	}
	var b batch
	b.put(0, index, id, doc)
	_, err := f.append([][]byte{b.raw})
	return err
}

// Close syncs and closes the files.
func (p *ProbeFiles) Close() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		errs = append(errs, p.files[name].close())
	}
	return errors.Join(errs...)
}
