package main

import (
	"os"

	"fiolat/fio"
	"fiolat/internal/tempfile"
)

// createFile makes a temporary file that will replace the one that --output names.
func createFile(path string) (*tempfile.File, error) {
	if path == "-" { // printing knows it
		return nil, fio.Usagef("--output -: pages and pictures are not printed; name a file, such as page.html")
	}
	if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() {
		return nil, fio.Usagef("--output %s: exists, but is not a regular file; name another", fio.Printable(path))
	}
	f, err := tempfile.CreateAt(path)
	if err != nil {
		return nil, fio.Usagef("--output %s: %v", fio.Printable(path), err)
	}
	return f, nil
}
