package sla

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"fiolat/fio"
)

// ParseFile reads a rule a line. Empty lines, those that begin with #, and what YAML has around a list of rules (a
// line "sla:", "- " and quotes) are left out. Errors name the file and the line.
func ParseFile(r io.Reader, name string) (rules []fio.SLARule, err error) {
	lines := bufio.NewScanner(r)
	n := 1
	for ; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' || text == "sla:" {
			continue
		}
		text = strings.TrimSpace(strings.TrimPrefix(text, "- "))
		for _, quote := range []string{`"`, "'"} {
			if inner, ok := strings.CutPrefix(text, quote); ok {
				text = strings.TrimSuffix(inner, quote)
			}
		}
		rule, err := fio.ParseSLARule(text)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		rules = append(rules, rule)
	}
	err = lines.Err()
	if errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("%s:%d: a line of more than %d bytes is no rule", name, n, bufio.MaxScanTokenSize)
	} else if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, n, err)
	}
	if len(rules) == 0 {
		return nil, fmt.Errorf("%s: no rules found: want a line such as read p99 < 5ms", name)
	}
	return rules, nil
}
