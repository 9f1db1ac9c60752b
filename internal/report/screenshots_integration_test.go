//go:build integration

package report_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"fiolat/internal/testlog"
)

// TestScreenshots takes pictures of the page; `make screenshots` says where to.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	dir := cmp.Or(os.Getenv("FIOLAT_SCREENSHOTS"), t.TempDir())
	point := `(document.querySelector('#time').value = 6, ` +
		`document.querySelector('#time').dispatchEvent(new Event('input')), 1)`
	for _, shot := range []struct {
		name, folder, scheme string
		width, height        int64
		before               string
		choose               map[string]string
	}{
		{"report-light", "randrw", "light", 1200, 1420, point, map[string]string{}},
		{"report-dark", "cluster", "dark", 1200, 1420, point, map[string]string{"compare": "host",
			"direction": "read"}},
		{"report-phone", "gaps", "light", 390, 1500, point, map[string]string{}},
		{"report-kinds", "latkinds", "light", 1200, 1420, point, map[string]string{"direction": "read"}},
		{"report-kinds-phone", "latkinds", "dark", 390, 1700, point, map[string]string{"kind": "slat"}},
	} {
		t.Run(shot.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "report.html")
			fiolat(t, "report", "-o", file, "--kind", map[bool]string{true: "all",
				false: "clat"}[shot.folder == "latkinds"], "--run-name", shot.folder, "../../testdata/fio/"+shot.folder)
			b := openTab(t, shot.width, shot.height, shot.scheme)
			b.open(file)
			b.choose(shot.choose)
			eval[any](b, shot.before)
			b.Do(chromedp.Sleep(200 * time.Millisecond))
			img, err := chromedp.Run(b.Ctx, chromedp.CaptureScreenshot())
			if err != nil {
				t.Fatal(err)
			}
			c, err := png.DecodeConfig(bytes.NewReader(img))
			if err != nil || c.Width != int(shot.width) || c.Height != int(shot.height) || len(img) > 200_000 {
				t.Errorf("a picture of %d x %d and %d bytes, %v", c.Width, c.Height, len(img), err)
			}
			if err := os.WriteFile(filepath.Join(dir, shot.name+".png"), img, 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestThreePages opens the pages of a small run, of 100 hosts and of a sweep in the light, in the dark on a phone, and
// prints them: nothing is wider than the screen, said to the console, or fetched from anywhere.
func TestThreePages(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{"small": "../../testdata/fio/gaps", "hosts": manyHosts(t, 100),
		"sweep": "../../testdata/sweep"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "report.html")
			fiolat(t, "report", "-o", file, source)
			for scheme, width := range map[string]int64{"light": 1200, "dark": 390} {
				b := openTab(t, width, 1400, scheme)
				b.open(file)
				if wide := eval[int64](b, "document.documentElement.scrollWidth"); wide > width {
					t.Errorf("%s: %d pixels wide on a screen of %d", scheme, wide, width)
				}
				if dir := os.Getenv("FIOLAT_SCREENSHOTS"); dir != "" {
					img, err := chromedp.Run(b.Ctx, chromedp.CaptureScreenshot())
					if err = errors.Join(err, os.WriteFile(filepath.Join(dir, "page-"+name+"-"+scheme+".png"), img,
						0o644)); err != nil {
						t.Fatal(err)
					}
				}
				if scheme == "light" {
					pdf, err := chromedp.Run(b.Ctx, chromedp.PrintToPDF())
					if err != nil || len(pdf) < 10_000 {
						t.Errorf("print: %d bytes, %v", len(pdf), err)
					}
				}
				b.Clean()
			}
		})
	}
}

// TestFirstScreen: on a laptop and on a phone the sentences, the verdicts on the SLA rules and the chart, of two runs
// the one of both, are in this order on the first screen, and all choices below them.
func TestFirstScreen(t *testing.T) {
	t.Parallel()
	for name, hosts := range map[string][]int{"1": {1}, "16": {16}, "100": {100}, "two runs": {1, 16}} {
		file, chart := filepath.Join(t.TempDir(), "report.html"), "#percentiles svg"
		args := []string{"report", "-o", file, "--sla", "read p99 < 1ms", "--sla", "write p99.9 < 100us"}
		for _, n := range hosts {
			args = append(args, manyHosts(t, n))
		}
		fiolat(t, args...)
		if len(hosts) > 1 {
			chart = "#kinds svg"
		}
		for _, screen := range [][2]int64{{1280, 800}, {390, 800}} {
			b := openTab(t, screen[0], screen[1], "light")
			b.open(file)
			at := eval[[][2]float64](b, `['header', '.verdict', '`+chart+`', '#controls'].map(s => document.
				querySelector(s).getBoundingClientRect()).map(r => [r.top, r.bottom])`)
			for i := 1; i < len(at); i++ {
				if at[i][0] < at[i-1][1] {
					t.Errorf("%s, %d pixels wide: top and bottom of sentence, verdict, chart and menus: %v", name, screen[0], at)
				}
			}
			if end := at[2][1]; end > float64(screen[1]) {
				t.Errorf("%s, %d pixels wide: the chart ends at %.0f", name, screen[0], end)
			}
			if dir := os.Getenv("FIOLAT_SCREENSHOTS"); dir != "" {
				img, err := chromedp.Run(b.Ctx, chromedp.CaptureScreenshot())
				out := filepath.Join(dir, fmt.Sprintf("first-%s-%d.png", name, screen[0]))
				if err = errors.Join(err, os.WriteFile(out, img, 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			b.Clean()
		}
	}
}

// manyHosts returns a folder with a log of a minute for each of so many hosts.
func manyHosts(t *testing.T, n int) string {
	t.Helper()
	real, err := os.ReadFile("../../testdata/fio/randrw/randrw_clat_hist.1.log")
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
