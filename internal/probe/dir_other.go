//go:build !linux

package probe

import (
	"context"
	"errors"
)

// DirConfig is for Linux only.
type DirConfig struct {
	Name   string
	Size   int64
	Direct bool
	Making func(size int64)
	Warn   func(text string)
}

var errLinux = errors.New("fiolat probe needs Linux")

// OpenDir fails.
func OpenDir(context.Context, string, DirConfig) (Files, error) { return nil, errLinux }

// Cleanup fails.
func Cleanup(string, string) ([]string, error) { return nil, errLinux }

// ReadStatus fails.
func ReadStatus(string) (map[string]*Status, error) { return nil, errLinux }
