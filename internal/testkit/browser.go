//go:build integration

package testkit

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

// Chromium starts a Chromium that ends with the test, and fails the test if there is none.
func Chromium(t testing.TB, width, height int64) context.Context {
	t.Helper()
	ctx, stop, err := StartChromium()
	t.Cleanup(stop)
	if err == nil {
		err = chromedp.Do(ctx, chromedp.EmulateViewport(width, height))
	}
	if err != nil {
		t.Fatal(err)
	}
	return ctx
}

// StartChromium starts a Chromium that ends with stop.
func StartChromium() (ctx context.Context, stop func(), err error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		return nil, func() {}, fmt.Errorf("%w: install it with scripts/ci-deps", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.WSURLReadTimeout(10*time.Minute))
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ = chromedp.NewContext(allocator)
	if err = chromedp.Do(ctx); err != nil {
		err = fmt.Errorf("Chromium does not start: %w", err)
	}
	return ctx, end, err
}

// Tab is a page in a real Chromium. It records network requests and console messages for Clean.
type Tab struct {
	testing.TB
	Ctx context.Context

	mu       sync.Mutex // guards what follows: events come from another goroutine
	requests []string
	messages []string
}

// OpenTab opens a tab of a Chromium for one page in a color scheme, light or dark, for ten minutes at most.
func OpenTab(in context.Context, t testing.TB, width, height int64, scheme string) *Tab {
	t.Helper()
	in, end := chromedp.NewContext(in, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	ctx, stop := context.WithTimeout(in, 10*time.Minute)
	t.Cleanup(stop)
	b := &Tab{TB: t, Ctx: ctx}
	b.Do(chromedp.EmulateViewport(width, height))
	if err := chromedp.Listen(ctx, b.event); err != nil {
		t.Fatal(err)
	}
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	return b
}

func (b *Tab) event(ev any) {
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

// Do runs actions, and fails the test if one fails.
func (b *Tab) Do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.Ctx, steps...); err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.Fatalf("%v\n%s", err, strings.Join(b.messages, "\n"))
	}
}

// call runs a command of the browser's protocol.
func call[P, R any](b *Tab, cmd cdp.Command[P, R], params P) {
	b.Helper()
	if _, err := chromedp.Call(b.Ctx, cmd, params); err != nil {
		b.Fatal(err)
	}
}

// Eval evaluates an expression, which may be a promise, and reads its JSON.
func Eval[T any](b *Tab, expression string) (v T) {
	b.Helper()
	raw, err := chromedp.Run(b.Ctx, chromedp.Evaluate[string](`(async () => JSON.stringify(await (`+expression+`)))()`,
		chromedp.EvalAwaitPromise))
	if err == nil {
		err = json.Unmarshal([]byte(raw), &v)
	}
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return v
}

// Clean fails the test if the page requested anything but itself, or wrote to its
// console.
func (b *Tab) Clean() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.requests) != 1 || !strings.HasPrefix(b.requests[0], "file://") {
		b.Errorf("requests: %v, want that of the file alone", b.requests)
	}
	for _, m := range b.messages {
		b.Errorf("%s", m)
	}
}
