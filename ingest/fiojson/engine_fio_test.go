//go:build integration

package fiojson

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fiolat/fio"
)

// TestFioEngines: for the engines that run anywhere, fio's own JSON has samples of
// slat, clat and lat where the table says that it counts them.
func TestFioEngines(t *testing.T) {
	dir := t.TempDir()
	nbd := filepath.Join(dir, "nbd.sock")
	server := exec.CommandContext(t.Context(), "nbdkit", "--foreground", "--unix", nbd, "memory", "16M")
	if err := server.Start(); err != nil {
		t.Fatalf("this test needs nbdkit (Debian package nbdkit): %v", err)
	}
	defer server.Wait()
	defer server.Process.Kill()
	for range 3000 {
		if _, err := os.Stat(nbd); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	for _, tc := range []struct {
		engine string
		depth  int
		args   string
	}{
		{"psync", 1, ""},
		{"sync", 1, ""},
		{"pvsync", 1, ""},
		{"vsync", 1, ""},
		{"mmap", 1, ""},
		{"libaio", 8, ""},
		{"posixaio", 8, ""},
		{"io_uring", 8, ""},
		{"null", 1, ""},
		{"null", 8, ""},
		{"nbd", 8, "--uri=nbd+unix:///?socket=" + nbd},
	} {
		t.Run(fmt.Sprintf("%s/iodepth=%d", tc.engine, tc.depth), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, "fio", "--name=x", "--ioengine="+tc.engine, fmt.Sprintf("--iodepth=%d",
				tc.depth), "--rw=randrw", "--bs=4k", "--size=2m", "--output-format=json+")
			if tc.args == "" {
				cmd.Args = append(cmd.Args, "--filename="+filepath.Join(dir, "file"))
			} else {
				cmd.Args = append(cmd.Args, strings.Fields(tc.args)...)
			}
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				if text := string(out) + stderr.String(); tc.engine == "io_uring" && (strings.Contains(text,
					"not permitted") || strings.Contains(text, "not implemented")) {
					t.Skip("this kernel does not let programs use io_uring")
				}
				t.Fatalf("fio: %v\n%s", err, stderr.String())
			}
			m, err := Parse(strings.NewReader(string(out)), "fio.json")
			if err != nil {
				t.Fatal(err)
			}
			known := m.Engines()
			if len(known) != 1 || known[0].Foreign || known[0].Name != tc.engine {
				t.Fatalf("engines %v", known)
			}
			for _, d := range []fio.Direction{fio.Read, fio.Write} {
				k := &m.Entries[0].Dirs[d].Kind
				if got, want := k[fio.Slat].N > 0, known[0].Measure.Slat(); got != want {
					t.Errorf("%v: slat has %d samples; %v", d, k[fio.Slat].N, known[0].Measure)
				}
				if k[fio.Clat].N == 0 || k[fio.Lat].N != k[fio.Clat].N {
					t.Errorf("%v: clat has %d samples, lat %d", d, k[fio.Clat].N, k[fio.Lat].N)
				}
			}
		})
	}
}
