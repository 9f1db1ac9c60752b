package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

// unpack writes the folders of a .tar.zst below dir.
func unpack(file, dir string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<27))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer z.Close()
	for archive := tar.NewReader(z); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if !filepath.IsLocal(head.Name) {
			return fmt.Errorf("%s: %s is outside of the archive's folders", file, head.Name)
		}
		path := filepath.Join(dir, head.Name)
		if head.FileInfo().IsDir() {
			if err = os.MkdirAll(path, 0o755); err != nil {
				return err
			}
			continue
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err = os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
}
