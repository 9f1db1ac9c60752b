package esmodel

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"fiolat/fio"
)

// FileExt is the extension of files of documents.
const FileExt = ".ndjson"

// maxLine is the maximum length of a line. Elasticsearch accepts no request of more than 100 MB.
const maxLine = 100 << 20

// LineError is an error in a line of a file.
type LineError struct {
	File string
	Line int64
	Msg  string
}

func (e *LineError) Error() string {
	return fmt.Sprintf("%s:%d: %s; expected an action line followed by its document, as ingest --format bulk writes "+
		"them", fio.Printable(e.File), e.Line, fio.Printable(e.Msg))
}

// Lines reads lines of bounded length. The result of Next is valid until the next call.
type Lines struct {
	R    *bufio.Reader
	File string
	N    int64
	buf  []byte
}

// Next returns the next line without its newline; terminated says that it had one.
func (l *Lines) Next() (line []byte, terminated bool, err error) {
	l.buf = l.buf[:0]
	for {
		part, err := l.R.ReadSlice('\n')
		l.buf = append(l.buf, part...)
		switch {
		case err == nil:
			l.N++
			return l.buf[:len(l.buf)-1], true, nil
		case errors.Is(err, bufio.ErrBufferFull):
			if len(l.buf) > maxLine {
				l.N++
				return nil, false, l.Fault(fmt.Sprintf("this line is longer than %d MiB", maxLine>>20))
			}
		case errors.Is(err, io.EOF):
			if len(l.buf) == 0 {
				return nil, false, io.EOF
			}
			l.N++
			return l.buf, false, nil
		default:
			return nil, false, fmt.Errorf("%s: %w", l.File, err)
		}
	}
}

// Fault returns an error in the line read last.
func (l *Lines) Fault(msg string) error { return &LineError{File: l.File, Line: l.N, Msg: msg} }

// DocFile reads a file of documents, each after its action line.
type DocFile struct {
	*os.File
	Path  string
	lines *bufio.Scanner
	Line  int64
	Index string // of the document
	Doc   []byte // valid until the next call of Next
}

// OpenDocs opens a file of documents.
func OpenDocs(path string) (*DocFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	d := &DocFile{File: f, Path: path, lines: bufio.NewScanner(f)}
	d.lines.Buffer(make([]byte, 64<<10), maxLine)
	return d, nil
}

// Next reads the next document. It returns io.EOF at the end.
func (d *DocFile) Next() error {
	var action struct {
		Index struct {
			Index string `json:"_index"`
		}
	}
	for n := range 2 {
		if !d.lines.Scan() {
			err := d.lines.Err()
			if err == nil && n == 0 {
				return io.EOF
			}
			if err == nil {
				err = errors.New("an action line without its document: its writer was killed")
			}
			return &LineError{File: d.Path, Line: d.Line + 1, Msg: err.Error()}
		}
		d.Line++
		if n == 0 {
			if err := json.Unmarshal(d.lines.Bytes(), &action); err != nil || action.Index.Index == "" {
				return &LineError{File: d.Path, Line: d.Line, Msg: "no action line, as in files of other formats"}
			}
		}
	}
	d.Index, d.Doc = action.Index.Index, bytes.TrimSpace(d.lines.Bytes())
	return nil
}
