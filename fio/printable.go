package fio

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable escapes in s what could move a terminal's cursor, forge a line of a log or make one name look like another:
// what is not UTF-8, and all characters without a shape of their own, such as U+202E. Spaces stay, and U+200C and
// U+200D between letters, which words of several languages need. Names in files are not trusted.
func Printable(s string) string { return escaped(s, "") }

// PrintableText is Printable for a text of several lines.
func PrintableText(s string) string { return escaped(s, "\t\n\r") }

// escaped escapes s except for the characters of stay.
func escaped(s, stay string) string {
	var b []byte
	from := 0 // of what is not in b yet
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < 0x7f {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if hidden := !strconv.IsPrint(r) && !unicode.Is(unicode.Zs, r) || r == utf8.RuneError && n == 1; hidden &&
			!strings.ContainsRune(stay, r) && !joins(s, i, n) {
			q := strconv.Quote(s[i : i+n])
			b = append(append(b, s[from:i]...), q[1:len(q)-1]...)
			from = i + n
		}
		i += n
	}
	if b == nil {
		return s
	}
	return string(append(b, s[from:]...))
}

// joins reports whether the character of n bytes at i is U+200C or U+200D between letters.
func joins(s string, i, n int) bool {
	if c := s[i : i+n]; c != "\u200c" && c != "\u200d" {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(s[:i])
	after, _ := utf8.DecodeRuneInString(s[i+n:])
	return unicode.In(before, unicode.L, unicode.M) && unicode.In(after, unicode.L, unicode.M)
}

// PrintableJSON makes each string in a JSON document Printable, names of members too, but for the characters of stay.
func PrintableJSON(doc []byte, stay string) []byte {
	var out []byte
	from := 0 // of what is not in out yet
	for i := 0; i < len(doc); i++ {
		if doc[i] != '"' {
			continue
		}
		start, plain := i, true
		for i++; i < len(doc) && doc[i] != '"'; i++ {
			if doc[i] == '\\' {
				i++
			}
			plain = plain && i < len(doc) && doc[i] >= ' ' && doc[i] < 0x7f && doc[i-1] != '\\'
		}
		end := min(i+1, len(doc))
		if plain {
			continue
		}
		var s string // allocated
		if json.Unmarshal(doc[start:end], &s) != nil {
			continue
		}
		if p := escaped(s, stay); p != s {
			out = append(append(out, doc[from:start]...), quoted(p)...)
			from = end
		}
	}
	if from == 0 {
		return doc
	}
	return append(out, doc[from:]...)
}

// quoted returns s as a string of JSON.
func quoted(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic(err) // a string has JSON
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
