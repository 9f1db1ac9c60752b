// Package secret masks secrets in text from servers and proxies, which may echo what
// they were sent in various encodings.
package secret

import (
	"encoding/base64"
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Mask replaces secrets. The zero value replaces nothing.
type Mask struct{ forms []*regexp.Regexp }

// shown replaces a secret.
const shown = "***"

// newMask returns a Mask of secrets, ignoring empty ones. Overlapping secrets are replaced in
// the given order.
func newMask(secrets ...string) *Mask {
	m := new(Mask)
	for _, s := range secrets {
		if s != "" {
			form := regexp.MustCompile(pattern(s))
			form.Longest()
			m.forms = append(m.forms, form)
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
		s = form.ReplaceAllLiteralString(s, shown)
	}
	return s
}

// pattern returns a regular expression for s in which each character may be literal,
// percent-encoded (once or repeatedly, in either case, whether necessary or not), escaped
// as in JSON, or an HTML entity. A space may also be a plus sign.
func pattern(s string) string {
	var p strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		p.WriteString("(?:")
		p.WriteString(regexp.QuoteMeta(string(r))) // U+FFFD matches bytes that are not UTF-8
		p.WriteString("|")
		for i := range n {
			p.WriteString("%(?:25)*(?i:" + fmt.Sprintf("%02x", s[i]) + ")")
		}
		p.WriteString("|")
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&p, `\\u(?i:%04x)`, unit)
		}
		fmt.Fprintf(&p, "|&#0*%d;|&#[xX]0*(?i:%x);", r, r)
		if short := html.EscapeString(string(r)); short != string(r) {
			p.WriteString("|" + regexp.QuoteMeta(short))
		}
		switch r {
		case ' ':
			p.WriteString(`|\+|%(?:25)*2[bB]`)
		case '"':
			p.WriteString(`|\\"|&quot;`)
		case '\'':
			p.WriteString(`|&apos;`)
		case '\\':
			p.WriteString(`|\\\\`)
		case '/':
			p.WriteString(`|\\/`)
		}
		p.WriteString(")")
		s = s[n:]
	}
	return p.String()
}
