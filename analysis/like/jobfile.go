package like

import (
	"fmt"
	"os"
	"strings"
)

// jobInterval returns the log_hist_msec that fiologparser_hist finds in a job file: that of the last section that has
// one, nil if none has. It parses the file like Python 3.11's SafeConfigParser(allow_no_value=True). Unlike fio, that
// refuses a duplicate section or option and an option before any section.
func jobInterval(path string) (*int64, error) {
	const key = "log_hist_msec"
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	type section struct {
		values map[string]*string
		line   int // of the key's option
	}
	const defaultName = "DEFAULT"
	defaults := &section{values: map[string]*string{}}
	var sections []*section
	var current *section
	var option string
	seen := map[string]bool{}
	indent := 0
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(text)), "\n")
	for i, line := range lines {
		fail := func(what string) error { return fmt.Errorf("%s:%d: %s", path, i+1, what) }
		value := strings.Trim(line, pySpace)
		if value == "" {
			// A blank line is part of a multi-line value.
			if option != "" && i < len(lines)-1 && current.values[option] != nil {
				*current.values[option] += "\n"
			}
			continue
		}
		if value[0] == '#' || value[0] == ';' {
			continue
		}
		depth := len(line) - len(strings.TrimLeft(line, pySpace))
		if current != nil && option != "" && depth > indent {
			// A line that is indented more than the option above continues its value.
			if current.values[option] == nil {
				return nil, fail("an indented line under an option without a value")
			}
			*current.values[option] += "\n" + value
			continue
		}
		indent = depth
		if closing := strings.LastIndexByte(value, ']'); value[0] == '[' && closing > 1 {
			name := value[1:closing]
			option = ""
			switch {
			case name == defaultName:
				current = defaults
			case seen[name]:
				return nil, fail("a section that is there twice")
			default:
				seen[name] = true
				current = &section{values: map[string]*string{}}
				sections = append(sections, current)
			}
			continue
		}
		if current == nil {
			return nil, fail("an option before any section")
		}
		name, rest := value, (*string)(nil)
		if delimiter := strings.IndexAny(value, "=:"); delimiter >= 0 {
			name = value[:delimiter]
			v := strings.Trim(value[delimiter+1:], pySpace)
			rest = &v
		}
		option = strings.ToLower(strings.TrimRight(name, pySpace))
		if option == "" {
			return nil, fail("an option without a name")
		}
		if _, twice := current.values[option]; twice {
			return nil, fail("an option that is there twice in its section")
		}
		current.values[option] = rest
		if option == key {
			current.line = i + 1
		}
	}
	var found *int64
	for _, s := range sections {
		value, ok := s.values[key]
		line := s.line
		if !ok {
			value, ok = defaults.values[key]
			line = defaults.line
		}
		if !ok || value == nil {
			continue
		}
		ms, ok := pyInt64(*value)
		if !ok {
			// The message does not quote the value: the file may hold secrets and be named by mistake.
			return nil, fmt.Errorf("%s:%d: %s is not a whole number", path, line, key)
		}
		found = &ms
	}
	return found, nil
}
