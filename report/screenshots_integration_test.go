//go:build integration

package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"fiolat/internal/testlog"
)

// picture keeps what the tab shows in FIOLAT_SCREENSHOTS, if that is set.
func (b *tab) picture(name string) {
	b.Helper()
	img, err := chromedp.Run(b.Ctx, chromedp.CaptureScreenshot())
	if dir := os.Getenv("FIOLAT_SCREENSHOTS"); dir != "" && err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), img, 0o644)
	}
	if err != nil {
		b.Error(err)
	}
}

// TestChromiumScreenshots takes the pictures of the docs; `make screenshots` says where to.
func TestChromiumScreenshots(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]string{"report-light": "clat", "report-kinds": "all"} {
		folder := map[string]string{"clat": "randrw", "all": "latkinds"}[kind]
		b := opened(t, 1200, 1000, "light", "--kind", kind, "--run-name", folder, "../testdata/fio/"+folder)
		eval[any](b, `(document.querySelector('#time').value = 6, `+
			`document.querySelector('#time').dispatchEvent(new Event('input')), 1)`)
		b.Do(chromedp.Sleep(200 * time.Millisecond))
		b.picture(name)
	}
}

// TestChromiumThreePages opens the pages of a small run, of 100 hosts and of a sweep in the light, in the dark on a
// phone, and prints them: nothing is wider than the screen, said to the console, or fetched from anywhere.
func TestChromiumThreePages(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{"small": "../testdata/fio/gaps", "hosts": manyHosts(t, 100),
		"sweep": "../testdata/sweep"} {
		for scheme, width := range map[string]int64{"light": 1200, "dark": 390} {
			b := opened(t, width, 1400, scheme, source)
			if wide := eval[int64](b, "document.documentElement.scrollWidth"); wide > width {
				t.Errorf("%s, %s: %d pixels wide on a screen of %d", name, scheme, wide, width)
			}
			b.picture("page-" + name + "-" + scheme)
			if scheme == "light" {
				pdf, err := chromedp.Run(b.Ctx, chromedp.PrintToPDF())
				if err != nil || len(pdf) < 10_000 {
					t.Errorf("%s: print: %d bytes, %v", name, len(pdf), err)
				}
			}
			b.Clean()
		}
	}
}

// TestChromiumFirstScreen: on a laptop and on a phone the sentences, the first finding, the verdicts on the SLA rules
// and the chart, of two runs the one of both, are in this order on the first screen, and all choices below them.
func TestChromiumFirstScreen(t *testing.T) {
	t.Parallel()
	for name, hosts := range map[string][]int{"1": {1}, "16": {16}, "100": {100}, "two runs": {1, 16}} {
		order := "header|#first-finding|.verdict:has(strong)|#percentiles svg|#controls"
		args := []string{"--sla", "read p99 < 1ms", "--sla", "write p99.9 < 100us"}
		for _, n := range hosts {
			args = append(args, manyHosts(t, n))
		}
		if len(hosts) > 1 {
			order = "header|.verdict:has(strong)|#kinds svg|#controls" // no findings of both
		}
		for _, screen := range [][2]int64{{1280, 800}, {390, 800}} {
			b := opened(t, screen[0], screen[1], "light", args...)
			at := eval[[][2]float64](b, `'`+order+`'.split('|').map(s => document.
				querySelector(s).getBoundingClientRect()).map(r => [r.top, r.bottom])`)
			for i := 1; i < len(at); i++ {
				if at[i][0] < at[i-1][1] {
					t.Errorf("%s, %d pixels wide: top and bottom of %s: %v", name, screen[0], order, at)
				}
			}
			if end := at[len(at)-2][1]; end > float64(screen[1]) {
				t.Errorf("%s, %d pixels wide: the chart ends at %.0f", name, screen[0], end)
			}
			b.picture(fmt.Sprintf("first-%s-%d", name, screen[0]))
			b.Clean()
		}
	}
}

// manyHosts returns a folder with a log of a minute for each of so many hosts.
func manyHosts(t *testing.T, n int) string {
	t.Helper()
	real, err := os.ReadFile("../testdata/fio/randrw/randrw_clat_hist.1.log")
	if err != nil {
		t.Fatal(err)
	}
	template, err := testlog.NewTemplate(real)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for h := range n {
		name := filepath.Join(dir, fmt.Sprintf("job_clat_hist.1.log.node%03d.zst", h))
		if err := compress(name, template.Stream(uint64(h), time.Second, 60)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
