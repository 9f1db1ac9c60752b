package fiolog

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestScanLine_Bounds has memory that must not be touched on both sides of a line,
// which may end anywhere.
func TestScanLine_Bounds(t *testing.T) {
	page := os.Getpagesize()
	mem, err := syscall.Mmap(-1, 0, 3*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(mem)
	for _, guard := range [][]byte{mem[:page], mem[2*page:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	mem = mem[page : 2*page : 2*page]
	rec := newRecord(1856)
	for _, column := range []string{", 0", ", 1", ", 12, 3", ", 456, 0", ", 12345"} {
		text := "1, 0, 4" + strings.Repeat(column, 100) + "\n"
		columns := strings.Count(text, ",") - 2
		for way, scan := range scanners() {
			for n := range len(text) + slack + 1 {
				for _, b := range [][]byte{mem[:n:n], mem[page-n:]} {
					copy(b, text)
					clear(b[min(n, len(text)):])
					used := scan(b, &rec, columns)
					if used != 0 && used != len(text) || used == 0 && n == len(text)+slack {
						t.Fatalf("%s: %d bytes of %q: took %d", way, n, text, used)
					}
				}
			}
		}
	}
}
