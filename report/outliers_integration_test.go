//go:build integration

package report_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// outlierLogs are two hosts of 40 s: in every fifth second from the fourth on a read of host a took 6.3 ms, and no
// other one took 0.1 ms.
func outlierLogs(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "slow")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	none := func(n int) string { return strings.Repeat(", 0", n) }
	for _, host := range []string{"a", "b"} {
		var log strings.Builder
		for k := range 40 {
			slow := 0
			if host == "a" && k%5 == 3 {
				slow = 1
			}
			fmt.Fprintf(&log, "%d, 0, 4096%s, 900%s, %d%s\n", (k+1)*1000, none(600), none(519), slow, none(1856-1121))
		}
		name := filepath.Join(dir, "x_clat_hist.1.log."+host)
		if err := os.WriteFile(name, []byte(log.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestChromiumOutliers: each outlier is a tick above the chart, what it is appears where the mouse points, a list below
// has all, and its host's row of the map a sign.
func TestChromiumOutliers(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "report.html")
	fiolat(t, "report", "--log-hist-msec", "1000", "--repair", "no", "-o", file, outlierLogs(t))
	for _, width := range []int64{390, 1280} {
		b := openTab(t, width, 800, "light")
		b.open(file)
		ticks := eval[[]struct{ T, From, To float64 }](b, "fiolat.views.percentiles.data('ticks')")
		drawn := eval[int](b, "document.querySelectorAll('#percentiles .tick path').length")
		items := eval[[]string](b, `[...document.querySelectorAll('#outliers li')].map(i => i.textContent)`)
		if len(ticks) != 8 || drawn != 8 || len(items) != 8 {
			t.Fatalf("%d px: %d ticks, %d drawn, %d in the list, want 8", width, len(ticks), drawn, len(items))
		}
		for i, tick := range ticks {
			second := float64(5*i + 3)
			if tick.From < 1e3*second-1 || tick.To > 1e3*(second+1)+1 {
				t.Errorf("outlier %d is from %v to %v ms, made in second %v", i, tick.From, tick.To, second)
			}
		}
		labels := eval[[]string](b, "fiolat.views.map.signal('labels')")
		if len(labels) != 2 || !strings.HasPrefix(labels[0], "a ") || !strings.HasSuffix(labels[0], "▾") ||
			labels[1] != "b" {
			t.Errorf("rows of the map: %q", labels)
		}
		at := eval[[2]float64](b, `(() => { const tick = document.querySelectorAll('#percentiles .tick path')[2].
			getBoundingClientRect(); return [tick.left + tick.width / 2, tick.top + tick.height / 2]; })()`)
		b.Do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[1]),
			chromedp.Sleep(100*time.Millisecond))
		said := eval[string](b, "document.querySelector('#at-time').textContent")
		if !strings.Contains(said, items[2]) || !strings.HasPrefix(items[2], "1 read of x took 6.3 ms on a") {
			t.Errorf("%q is said where %q was", said, items[2])
		}
		b.choose(map[string]string{"host": "b"})
		if n := eval[int](b, "fiolat.views.percentiles.data('ticks').length"); n != 0 {
			t.Errorf("%d ticks are those of host b, which has none", n)
		}
		b.Clean()
	}
}
