// Package secret masks secrets in text that others wrote: servers and proxies say back
// what they were sent, in whatever form they write it down.
//
// It is called by esmodel and kibana.
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

// Mask replaces secrets. The zero value replaces none.
type Mask struct{ forms []*regexp.Regexp }

// Shown is what stands in place of a secret.
const Shown = "***"

// New makes a Mask of secrets; empty ones are left out. Of several that overlap, the
// first is replaced first.
func New(secrets ...string) *Mask {
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

// Credentials are the forms that a request's Authorization header has, and the parts
// of them that are secret.
func Credentials(username, password, apiKey, serviceToken string) *Mask {
	secrets := []string{password, apiKey, serviceToken}
	if username != "" {
		secrets = append([]string{base64.StdEncoding.EncodeToString([]byte(username + ":" + password))}, secrets...)
	}
	if key, err := base64.StdEncoding.DecodeString(apiKey); err == nil {
		_, part, _ := strings.Cut(string(key), ":")
		secrets = append(secrets, part)
	}
	return New(secrets...)
}

// Hide is s without the secrets.
func (m *Mask) Hide(s string) string {
	for _, form := range m.forms {
		s = form.ReplaceAllLiteralString(s, Shown)
	}
	return s
}

// pattern matches s with each of its characters written in any of these ways: as it is,
// percent-encoded (once or again and again, in either case, whether it has to be or not),
// escaped in JSON, or as an entity of HTML. A blank may be a plus sign.
func pattern(s string) string {
	var p strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		p.WriteString("(?:")
		p.WriteString(regexp.QuoteMeta(string(r))) // U+FFFD matches bytes that are no UTF-8, too
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
