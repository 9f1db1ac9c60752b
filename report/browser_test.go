//go:build integration

package report_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"

	"fiolat/internal/testkit"
)

// chromium is the browser of all tests, which stop ends.
var (
	chromium = sync.OnceValues(func() (ctx context.Context, err error) {
		ctx, stop, err = testkit.StartChromium()
		return ctx, err
	})
	stop = func() {}
)

// tab is a report in a real Chromium.
type tab struct{ *testkit.Tab }

func openTab(t testing.TB, width, height int64, scheme string) *tab {
	t.Helper()
	ctx, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	return &tab{testkit.OpenTab(ctx, t, width, height, scheme)}
}

// downloads says where the tab saves files.
func (b *tab) downloads(dir string) {
	b.Helper()
	if _, err := chromedp.Call(b.Ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir,
		BrowserContextID: chromedp.FromContext(b.Ctx).BrowserContextID}); err != nil {
		b.Fatal(err)
	}
}

// opened makes a page with fiolat report and opens it.
func opened(t testing.TB, width, height int64, scheme string, args ...string) *tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	fiolat(t, append([]string{"report", "-o", file}, args...)...)
	b := openTab(t, width, height, scheme)
	b.open(file)
	return b
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
