//go:build !linux

package probe

import (
	"context"
	"errors"
	"time"
)

// Dir is for Linux only.
type Dir struct{}

var errLinux = errors.New("fiolat probe needs Linux")

// OpenDir fails.
func OpenDir(context.Context, string, DirConfig) (*Dir, error) { return nil, errLinux }

// Cleanup fails.
func Cleanup(string, string) ([]string, error) { return nil, errLinux }

// ReadStatus fails.
func ReadStatus(string) (map[string]*Status, error) { return nil, errLinux }

// Layout returns the zero Layout.
func (*Dir) Layout() Layout { return Layout{} }

// Ready fails.
func (*Dir) Ready() error { return errLinux }

// Do fails.
func (*Dir) Do(Operation) (time.Time, time.Duration, error) { return time.Time{}, 0, errLinux }

// Keep fails.
func (*Dir) Keep([]byte) error { return errLinux }

// Kept returns nil.
func (*Dir) Kept() []byte { return nil }

// Close does nothing.
func (*Dir) Close() error { return nil }
