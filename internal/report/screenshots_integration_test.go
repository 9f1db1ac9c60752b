//go:build integration

package report_test

import (
	"bytes"
	"cmp"
	"image/png"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
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
