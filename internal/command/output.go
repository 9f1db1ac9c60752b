package command

import (
	"io"
	"os"

	"fiolat/internal/errs"
	"fiolat/internal/tempfile"
)

// Output is where the rows of a command go: standard output, or a file that appears only when it is whole.
type Output struct {
	io.Writer
	path string
	file *tempfile.File // nil: there is none, or no more
}

// CreateOutput opens the file that --output names; "" is standard output. With dry nothing is written.
func CreateOutput(path string, dry bool, stdout io.Writer) (*Output, error) {
	switch {
	case dry:
		return &Output{Writer: io.Discard}, nil
	case path == "" || path == "-":
		return &Output{Writer: stdout}, nil
	}
	f, err := CreateFile(path)
	if err != nil {
		return nil, err
	}
	return &Output{Writer: f, path: path, file: f}, nil
}

// CreateFile makes a new file beside the one that --output names, which it will replace.
func CreateFile(path string) (*tempfile.File, error) {
	if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() {
		return nil, errs.Usagef("--output %s: there is something that is not a file", errs.Printable(path))
	}
	f, err := tempfile.CreateAt(path)
	if err != nil {
		return nil, errs.Usagef("--output %s: %v", errs.Printable(path), err)
	}
	return f, nil
}

// Publish gives the file its name.
func (o *Output) Publish() error {
	if o.file == nil {
		return nil
	}
	err := o.file.Publish()
	if err == nil {
		o.file = nil
	}
	return err
}

// Discard removes what was not published.
func (o *Output) Discard() {
	if o.file != nil {
		_ = o.file.Discard() // a hidden file stays behind
	}
}
