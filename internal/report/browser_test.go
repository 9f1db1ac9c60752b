//go:build integration

package report_test

import (
	"testing"

	"github.com/chromedp/chromedp"

	"fiolat/internal/testkit"
)

// tab is a report in a real Chromium.
type tab struct{ *testkit.Tab }

func openTab(t testing.TB, width, height int64, scheme string) *tab {
	t.Helper()
	return &tab{testkit.OpenTab(t, width, height, scheme)}
}

// open opens a page from its file and waits until it is drawn.
func (b *tab) open(file string) {
	b.Helper()
	b.Do(chromedp.Navigate("file://"+file), chromedp.WaitReady(`html[data-ready]`))
}

func eval[T any](b *tab, expression string) T {
	b.Helper()
	return testkit.Eval[T](b.Tab, expression)
}
