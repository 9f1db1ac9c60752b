package ui

import (
	"slices"
	"strings"

	"fiolat/fio"
)

// Warn prints a warning, or with fio.NotePrefix a note. While Hold is in force, they are collected; as JSON each is
// printed at once.
func (u *UI) Warn(msg string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.holding > 0 && !u.JSON {
		u.held = append(u.held, msg)
		return
	}
	u.release()
	u.warn(msg)
}

func (u *UI) warn(msg string) {
	if text, ok := strings.CutPrefix(msg, fio.NotePrefix); ok {
		u.say("note", "", text)
	} else {
		u.say("warning", "", msg)
	}
}

// Hold collects warnings until release is called or an error is printed.
func (u *UI) Hold() (release func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.holding++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.holding--
		if u.holding == 0 {
			u.release()
		}
	}
}

// HoldUntilOutput is Hold, but what was collected is also printed before the first byte that is written to Stdout.
func (u *UI) HoldUntilOutput() (release func()) {
	u.stdout.before = u.PrintHeld
	return u.Hold()
}

// PrintHeld prints the warnings collected so far, if Hold is in force.
func (u *UI) PrintHeld() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.release()
}

// release prints what was held: with Verbose each warning, else all in one line, and each kind of note in one. The
// caller holds u.mu.
func (u *UI) release() {
	said := map[string]bool{}
	held := slices.DeleteFunc(u.held, func(msg string) bool { // the same comes twice if a folder is named twice
		again := said[msg]
		said[msg] = true
		return again
	})
	u.held = nil
	if u.Verbose {
		for _, msg := range held {
			u.warn(msg)
		}
		return
	}
	var warnings []string
	for _, msg := range fio.ByCause(held) {
		if strings.HasPrefix(msg, fio.NotePrefix) {
			u.warn(msg)
		} else {
			warnings = append(warnings, msg)
		}
	}
	if len(warnings) > 0 {
		u.warn(strings.Join(warnings, "; also: "))
	}
}
