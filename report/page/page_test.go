package page

import (
	"errors"
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/js"

	"fiolat/internal/testkit"
)

//go:generate go test -run TestMinified . -update

var update = flag.Bool("update", false, "write the minified styles and scripts anew")

// TestMinified compares the minified styles and scripts of all pages, and the packed libraries, with what they are made
// from; -update writes them.
func TestMinified(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	within := func(text, line, part string) string { return strings.Replace(text, "// "+line+"\n", part, 1) }
	report := read("../page.js")
	for name, text := range map[string]string{
		"page.min.css":    read("page.css"),
		"load.min.js":     read("load.js"),
		"charts.min.js":   within(read("base.js"), "OWN", read("charts.js")),
		"../page.min.js":  within(read("base.js"), "OWN", report),
		"../kinds.min.js": within(read("base.js"), "OWN", within(report, "KINDS", read("../kinds.js"))),
	} {
		f := js.Minify
		if strings.HasSuffix(name, ".css") {
			f = css.Minify
		}
		var b strings.Builder
		if err := f(minify.New(), &b, strings.NewReader(text), nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		testkit.SameFile(t, name, b.String(), *update)
	}
	script := ""
	for _, name := range []string{"vega.min.js", "vega-lite.min.js", "vega-interpreter.min.js"} {
		script += read("../charts/js/"+name) + "\n"
	}
	packed, err := Pack(func(z io.Writer) error { _, err := io.WriteString(z, script); return err })
	if err != nil {
		t.Fatal(err)
	}
	testkit.SameFile(t, "libraries.txt", hash(script)+"\n"+string(packed), *update)
}

func TestNumbers(t *testing.T) {
	for ns, want := range map[float64]string{999: "999 ns", 1e3: "1 µs", 1e5: "100 µs", 17293: "17.29 µs", 1e7: "10 ms",
		2.5e9: "2.5 s", -3e8: "≥ 300 ms"} {
		if got := Latency(ns); got != want {
			t.Errorf("%g ns is %q, want %q", ns, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0", 0.88931: "0.8893", 150: "150", 999.96: "1000", 12159: "12,159",
		2e6: "2,000,000"} {
		if got := Number(v); got != want {
			t.Errorf("%g is %q, want %q", v, got, want)
		}
	}
}

// full is a writer that takes n bytes.
type full int

func (w *full) Write(b []byte) (int, error) {
	if *w -= full(len(b)); *w < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

// TestWriteFails: a page that is not whole is an error, wherever it breaks off.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	const own = `{{define "main"}}main{{end}}`
	for _, room := range []full{0, 100, 10_000} {
		if err := (&Page{Title: "t"}).Write(&room, own); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("room for %d bytes: %v", room, err)
		}
	}
	if err := (&Page{Title: "t"}).Write(io.Discard, own); err != nil {
		t.Error(err)
	}
}
