package ui

import (
	"fmt"
	"regexp"
	"strings"

	"fiolat/fio"
)

// similarWarnings holds warnings that differ only in names and numbers.
type similarWarnings struct {
	level, kind string
	all         map[string]bool
	few         []string // the first of them
}

// maxSimilar warnings are printed one by one; of more, the first is printed with the number of the others.
const maxSimilar = 2

// variablePart matches what warnings of a kind differ in: quoted names, paths, numbers.
var variablePart = regexp.MustCompile(`"[^"]*"|[^\s,:;()]*[/.][^\s,:;()]+|[0-9]+`)

// Warn prints a warning, or with fio.NotePrefix a note. While Hold is in force, similar ones are counted instead; as
// JSON each is printed.
func (u *UI) Warn(msg string) {
	level := "warning"
	if text, ok := strings.CutPrefix(msg, fio.NotePrefix); ok {
		level, msg = "note", text
	}
	u.mu.Lock()
	if u.holding == 0 || u.JSON {
		u.mu.Unlock()
		u.Say(level, "%s", msg)
		return
	}
	defer u.mu.Unlock()
	kind := variablePart.ReplaceAllString(msg, "*")
	for i := range u.held {
		if h := &u.held[i]; h.kind == kind {
			if len(h.few) < maxSimilar && !h.all[msg] { // the same may come twice if a directory is named twice
				h.few = append(h.few, msg)
			}
			h.all[msg] = true
			return
		}
	}
	u.held = append(u.held, similarWarnings{level, kind, map[string]bool{msg: true}, []string{msg}})
}

// Hold collects warnings until release is called or an error is printed.
func (u *UI) Hold() (release func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.holding++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.holding--; u.holding == 0 {
			u.release()
		}
	}
}

// release prints what was held. The caller holds u.mu.
func (u *UI) release() {
	held := u.held
	u.held = nil
	for _, h := range held {
		if more := len(h.all) - 1; more >= maxSimilar {
			h.few = []string{fmt.Sprintf("%s (and %d more %ss like this one; --log-format json has each)",
				h.few[0], more, h.level)}
		}
		for _, msg := range h.few {
			u.say(h.level, "", msg)
		}
	}
}
