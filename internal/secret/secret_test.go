package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"strings"
	"testing"
)

// hard has what HTML, JSON and URLs write otherwise, a rune of two UTF-16 units, and
// bytes that are no UTF-8.
const hard = "pa<&\"'\\/ %+ß\U0001F600=\xff\xfe;x"

func percent(s, verb string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%"+verb, s[i])
	}
	return b.String()
}

// TestHide: a secret is found in each form that it may be written down in.
func TestHide(t *testing.T) {
	t.Parallel()
	inside := func(s string) string { // of the quotes
		b, _ := json.Marshal(s)
		return string(b[1 : len(b)-1])
	}
	ascii := ""
	for _, r := range strings.ToValidUTF8(hard, "") {
		ascii += fmt.Sprintf("&#%d;", r)
	}
	valid := strings.ToValidUTF8(hard, "")
	for _, tc := range []struct{ name, secret, form string }{
		{"as it is", hard, hard},
		{"a URL's query", hard, url.QueryEscape(hard)},
		{"a URL's path", hard, url.PathEscape(hard)},
		{"user information", hard, url.UserPassword("u", hard).String()},
		{"percent, lower case", hard, strings.ToLower(url.QueryEscape(hard))},
		{"percent, every byte", hard, percent(hard, "%02X")},
		{"percent, every byte, lower case", hard, percent(hard, "%02x")},
		{"percent, twice", hard, url.QueryEscape(url.QueryEscape(hard))},
		{"percent, three times, every byte", hard, url.QueryEscape(url.QueryEscape(percent(hard, "%02x")))},
		{"percent, some bytes", "secret/key", "secr%65t%2fkey"},
		{"percent, mixed case", "a/b?c", "a%2fb%3Fc"},
		{"JSON", hard, inside(hard)},
		{"JSON, in ASCII", "ß\U0001F600/\"", `\u00DF\ud83d\uDE00\/\"`},
		{"HTML", hard, html.EscapeString(hard)},
		{"HTML, by numbers", valid, ascii},
		{"HTML, by names", `<&"'>`, "&lt;&amp;&quot;&apos;&gt;"},
		{"a plus sign for a blank", "a b", "a+b"},
		{"JSON in JSON", hard, inside(inside(hard))},
		{"JSON in JSON in JSON", hard, inside(inside(inside(hard)))},
		{"JSON in JSON, in ASCII", "ß\U0001F600/\"", `\\u00DF\\ud83d\\uDE00\\/\\\"`},
		{"HTML in HTML", hard, html.EscapeString(html.EscapeString(hard))},
		{"HTML by numbers, in HTML", valid, strings.ReplaceAll(ascii, "&", "&amp;")},
		{"hexadecimal", hard, hex.EncodeToString([]byte(hard))},
		{"hexadecimal, upper case", hard, strings.ToUpper(hex.EncodeToString([]byte(hard)))},
		{"bytes as in C", hard, strings.ReplaceAll(percent(hard, "%02x"), "%", `\x`)},
		{"base64", hard, base64.StdEncoding.EncodeToString([]byte(hard))},
		{"base64 for URLs", hard, base64.URLEncoding.EncodeToString([]byte(hard))},
		{"base64 without padding", hard, base64.RawURLEncoding.EncodeToString([]byte(hard))},
		{"base64, percent", hard, url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(hard)))},
		{"base64 in lines", hard, base64.StdEncoding.EncodeToString([]byte(hard))[:20] + "\r\n" +
			base64.StdEncoding.EncodeToString([]byte(hard))[20:]},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m := newMask("", "other", tc.secret)
			got := m.Hide("before " + tc.form + " after")
			if tc.name == "user information" {
				got = strings.Replace(got, "u:", "", 1)
			}
			if got != "before "+shown+" after" {
				t.Errorf("%q of %q is %q", tc.form, tc.secret, got)
			}
		})
	}
}

// A secret in base64 of a longer text is masked, wherever in it, and the rest is not.
func TestHideInBase64(t *testing.T) {
	t.Parallel()
	const secret = "pässword/1?"
	m := newMask(secret)
	for before := range 7 {
		for after := range 7 {
			text := strings.Repeat("b", before) + secret + strings.Repeat("a", after)
			for _, to := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
				form := to.EncodeToString([]byte(text))
				got := m.Hide(form)
				left, right, found := strings.Cut(got, shown)
				if !found || !strings.HasPrefix(form, left) || !strings.HasSuffix(form, right) ||
					len(left) > (4*before+2)/3 || len(right) > (4*after+2)/3+2 {
					t.Errorf("%q, the base64 of %q, is %q", form, text, got)
				}
			}
		}
	}
	if got := newMask("ab").Hide("YW ab 6162"); got != "YW "+shown+" "+shown {
		t.Errorf("of a short secret: %q", got)
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	basic := base64.StdEncoding.EncodeToString([]byte("ursula:pa ss"))
	key := base64.StdEncoding.EncodeToString([]byte("id:keypart"))
	m := Credentials("ursula", "pa ss", key, "token")
	for _, s := range []string{basic, url.QueryEscape(basic), "pa%20ss", key, "keypart", "%74oken"} {
		if got := m.Hide("<" + s + ">"); got != "<"+shown+">" {
			t.Errorf("%q is %q", s, got)
		}
	}
	if got := new(Mask).Hide("ursula"); got != "ursula" {
		t.Error(got)
	}
}

// FuzzHide: a secret is nowhere in what Hide returns, whatever stands around it.
func FuzzHide(f *testing.F) {
	f.Add("secret", "a", "b")
	f.Add(hard, "%25", "%")
	f.Add("aa", "a", "a")
	f.Fuzz(func(t *testing.T, secret, before, after string) {
		if secret == "" || len(secret) > 500 || strings.Contains(shown, secret) {
			return
		}
		m := newMask(secret)
		for _, form := range []string{secret, url.QueryEscape(secret), percent(secret, "%02x")} {
			if got := m.Hide(before + form + after); !strings.Contains(got, shown) {
				t.Errorf("%q in %q is %q", secret, before+form+after, got)
			}
		}
	})
}

// From four characters of base64 on a text is taken for the secret.
func TestShortest(t *testing.T) {
	t.Parallel()
	for secret, want := range map[string]int{"ab": 0, "abc": 1, "abcd": 3} {
		if got := base64Patterns(secret); len(got) != want {
			t.Errorf("%q has %d patterns, want %d: %q", secret, len(got), want, got)
		}
	}
}
