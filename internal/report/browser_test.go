//go:build integration

package report_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// tab is a page in a real Chromium, which keeps a list of what it must not do.
type tab struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex // guards what follows: events come from another goroutine
	requests []string
	messages []string
}

// openTab starts a Chromium of its own, and fails the test if there is none.
func openTab(t testing.TB, width, height int64, scheme string) *tab {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("%v: install it with scripts/ci-deps", err)
	}
	flag := func(name string) chromedp.ExecAllocatorOption { return chromedp.Flag(name, true) }
	ctx, stop := chromedp.NewExecAllocator(t.Context(), chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, flag("disable-quic"),
		flag("disable-dev-shm-usage"),
		flag("disable-background-networking"), flag("disable-component-update"), flag("disable-sync"),
		flag("hide-scrollbars"))
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, time.Minute)
	t.Cleanup(stop)
	b := &tab{t: t, ctx: ctx}
	if err = chromedp.Listen(ctx, b.event); err != nil {
		t.Fatalf("Chromium does not start: %v", err)
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	b.do(chromedp.EmulateViewport(width, height))
	return b
}

func (b *tab) event(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *runtime.EventConsoleAPICalled:
		var text []string
		for _, a := range e.Args {
			text = append(text, string(a.Value)+a.Description)
		}
		b.messages = append(b.messages, "console: "+strings.Join(text, " "))
	case *runtime.EventExceptionThrown:
		b.messages = append(b.messages, fmt.Sprintf("exception: %s %+v", e.ExceptionDetails.Text,
			e.ExceptionDetails.Exception))
	case *log.EventEntryAdded:
		b.messages = append(b.messages, "log: "+e.Entry.Text)
	}
}

// open opens a page from its file and waits until it is drawn.
func (b *tab) open(file string) {
	b.t.Helper()
	b.do(chromedp.Navigate("file://"+file), chromedp.WaitReady(`html[data-ready]`))
}

func (b *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatalf("%v\n%s", err, strings.Join(b.messages, "\n"))
	}
}

// call runs a command of the browser's protocol.
func call[P, R any](b *tab, cmd cdp.Command[P, R], params P) R {
	b.t.Helper()
	r, err := chromedp.Call(b.ctx, cmd, params)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// eval evaluates an expression, which may be a promise, and reads its JSON.
func eval[T any](b *tab, expression string) (v T) {
	b.t.Helper()
	raw, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`(async () => JSON.stringify(await (`+expression+`)))()`,
		chromedp.EvalAwaitPromise))
	if err == nil {
		err = json.Unmarshal([]byte(raw), &v)
	}
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// clean fails the test if the page asked the network for anything but itself, or
// said anything on its console.
func (b *tab) clean() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.requests) != 1 || !strings.HasPrefix(b.requests[0], "file://") {
		b.t.Errorf("requests: %v, want that of the file alone", b.requests)
	}
	for _, m := range b.messages {
		b.t.Errorf("%s", m)
	}
}
