package render

import "testing"

// TestMarkdown: names make no cell, tag or link.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"p99 < 1ms [-1 %, +2 %]":    "p99 < 1ms [-1 %, +2 %]",
		"a|b":                       `a\|b`,
		"<img src=x onerror=f()>":   `\<img src=x onerror=f()>`,
		`\<img src=x>`:              `\\\<img src=x>`,
		"</td><!-- x":               `\</td>\<!-- x`,
		"[x](javascript:alert(1))":  `[x]\(javascript:alert(1))`,
		`[x]\(javascript:alert(1))`: `[x]\\(javascript:alert(1))`,
		"<javascript:alert(1)>":     `\<javascript:alert(1)>`,
	} {
		if got := Markdown(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
