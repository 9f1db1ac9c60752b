// Package secret masks secrets in text from servers and proxies, which may echo what
// they were sent in various encodings.
package secret

import (
	"encoding/base64"
	"fmt"
	"html"
	"regexp"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// Mask replaces secrets. The zero value replaces nothing.
type Mask struct{ forms []func() *regexp.Regexp } // compiled when there is something to hide

// shown replaces a secret.
const shown = "***"

// newMask returns a Mask of secrets, ignoring empty ones. Overlapping secrets are replaced in
// the given order.
func newMask(secrets ...string) *Mask {
	m := new(Mask)
	for _, s := range secrets {
		if s != "" {
			m.forms = append(m.forms, sync.OnceValue(func() *regexp.Regexp {
				form := regexp.MustCompile(strings.Join(append(base64Patterns(s), hexPattern(s), pattern(s)), "|"))
				form.Longest()
				return form
			}))
		}
	}
	return m
}

// Credentials returns a Mask of the secrets that an Authorization header can contain,
// and of their secret parts.
func Credentials(username, password, apiKey, serviceToken string) *Mask {
	secrets := []string{password, apiKey, serviceToken}
	if username != "" {
		secrets = append([]string{base64.StdEncoding.EncodeToString([]byte(username + ":" + password))}, secrets...)
	}
	if key, err := base64.StdEncoding.DecodeString(apiKey); err == nil {
		_, part, _ := strings.Cut(string(key), ":")
		secrets = append(secrets, part)
	}
	return newMask(secrets...)
}

// Hide returns s with the secrets replaced.
func (m *Mask) Hide(s string) string {
	for _, form := range m.forms {
		s = form().ReplaceAllLiteralString(s, shown)
	}
	return s
}

// pattern returns a regular expression for s in which each character may be literal,
// percent-encoded (once or repeatedly, in either case, whether necessary or not), escaped
// as in JSON (once or repeatedly) or as \xNN, or an HTML entity (likewise). A space may also be a plus sign.
func pattern(s string) string {
	var p strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		p.WriteString("(?:")
		p.WriteString(regexp.QuoteMeta(string(r))) // U+FFFD matches bytes that are not UTF-8
		for _, escape := range []string{"%(?:25)*", `\\+x`} {
			p.WriteString("|")
			for i := range n {
				p.WriteString(escape + "(?i:" + fmt.Sprintf("%02x", s[i]) + ")")
			}
		}
		p.WriteString("|")
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&p, `\\+u(?i:%04x)`, unit)
		}
		fmt.Fprintf(&p, "|&(?:amp;)*#0*%d;|&(?:amp;)*#[xX]0*(?i:%x);", r, r)
		if short := html.EscapeString(string(r)); short != string(r) {
			p.WriteString("|&(?:amp;)*" + regexp.QuoteMeta(short[1:]))
		}
		switch r {
		case ' ':
			p.WriteString(`|\+|%(?:25)*2[bB]`)
		case '"':
			p.WriteString(`|\\+"|&(?:amp;)*quot;`)
		case '\'':
			p.WriteString(`|&(?:amp;)*apos;`)
		case '\\':
			p.WriteString(`|\\+`)
		case '/':
			p.WriteString(`|\\+/`)
		}
		p.WriteString(")")
		s = s[n:]
	}
	return p.String()
}

// hexPattern returns a regular expression for the bytes of s in hexadecimal.
func hexPattern(s string) string { return fmt.Sprintf("(?i:%x)", s) }

// shortest is the number of characters in base64 from which on they are taken for a secret.
const shortest = 4

// base64Patterns returns regular expressions for the base64, of either alphabet and broken into lines or not, of any
// text that contains s. There are three, since a character of base64 may begin in any of three places of a byte.
func base64Patterns(s string) (patterns []string) {
	const any = "[A-Za-z0-9+/_-]?"
	for before := range 3 {
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), s...))
		// Those with bits of what is before or behind may be any.
		text = text[(8*before+5)/6 : 8*(before+len(s))/6]
		if len(text) < shortest {
			continue
		}
		var p strings.Builder
		if before > 0 {
			p.WriteString(any)
		}
		for i, c := range text {
			if i > 0 {
				p.WriteString(`(?:[\r\n]|\\+[rn])*`)
			}
			switch c {
			case '+':
				p.WriteString(`(?:[+-]|%(?:25)*2[bB])`)
			case '/':
				p.WriteString(`(?:\\*/|_|%(?:25)*2[fF])`)
			default:
				p.WriteRune(c)
			}
		}
		if (before+len(s))%3 != 0 {
			p.WriteString(any + `(?:=|%(?:25)*3[dD]|\\+u003[dD]){0,2}`)
		}
		patterns = append(patterns, p.String())
	}
	return patterns
}
