// Package page writes self-contained HTML pages in one frame: header, colors, fonts, formats of numbers, and the
// libraries that draw the charts of report/charts. A page loads nothing: its Content-Security-Policy forbids
// network access and any script or style but its own.
package page

import (
	"crypto/sha256"
	_ "embed" // the parts of a page
	"encoding/ascii85"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"regexp"
	"strings"

	"github.com/klauspost/compress/gzip"

	"fiolat/fio"
	"fiolat/report/charts"
)

var (
	//go:embed frame.html
	frameHTML string
	// What only readers need is taken from styles and scripts when they are generated.
	//
	//go:embed page.min.css
	pageCSS string
	//go:embed load.min.js
	loadJS string
	// Charts is the Script of a page that draws each of its Specs as it is, with the rows that it holds, into the
	// element whose id is the name of the spec. A click on a mark whose row has a field anchor opens that place.
	//
	//go:embed charts.min.js
	Charts string
	// The libraries as one packed script, after a line with the hash of the script. Packing takes longer than all else
	// of an ingest of a short run.
	//
	//go:embed libraries.txt
	libraries string

	librariesHash, packedLibraries, _ = strings.Cut(libraries, "\n")
)

// Page is the frame of a page.
type Page struct {
	Title, Eyebrow string
	// Generator is the program and its version.
	Generator string
	Lead      []string
	Specs     map[string]charts.Spec
	// Script is generated from base.js and a page's own part, which runs within it.
	Script string
	// Main is the data of the template "main".
	Main any
}

// Write writes the page. own defines the template "main", and may use the frame's template "noscript".
func (p *Page) Write(w io.Writer, own string) error {
	program, err := Pack(func(z io.Writer) error { _, err := io.WriteString(z, p.Script); return err })
	if err != nil {
		return err
	}
	named, err := json.Marshal(p.Specs)
	if err != nil {
		return err
	}
	specs, err := Pack(func(z io.Writer) error {
		return json.NewEncoder(z).Encode(map[string]any{"specs": json.RawMessage(fio.PrintableJSON(named, "\n")),
			"licences": charts.Versions + "\n" + charts.Licenses + "\n"})
	})
	if err != nil {
		return err
	}
	d := struct {
		*Page
		CSP                       string
		Style                     template.CSS
		Loader                    template.JS
		Specs, Program, Libraries template.HTML // packed
	}{
		Page: p, Style: template.CSS(pageCSS), Loader: template.JS(loadJS), // our own files
		Specs: specs, Program: program, Libraries: template.HTML(packedLibraries),
		// Nothing may be loaded or sent, only these scripts run, and none may evaluate text.
		CSP: "default-src 'none'; script-src " + hash(loadJS) + " " + librariesHash + " " + hash(p.Script) +
			"; style-src " + hash(pageCSS) + "; base-uri 'none'; form-action 'none'",
	}
	t := template.Must(template.Must(template.New("page").Parse(frameHTML)).Parse(own))
	if err := t.Execute(printable{w}, d); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

// printable is a writer of texts and values of a template, each in one Write, whose hidden characters it escapes.
type printable struct{ io.Writer }

func (w printable) Write(b []byte) (int, error) {
	_, err := io.WriteString(w.Writer, fio.PrintableText(string(b)))
	return len(b), err
}

// Libraries is the size of the libraries in a page.
func Libraries() int { return len(packedLibraries) }

// Pack returns what write writes in the form that unpack of load.js reads: gzip as Ascii85, with v for <, so that it
// ends no script.
func Pack(write func(io.Writer) error) (template.HTML, error) {
	var b strings.Builder
	text := ascii85.NewEncoder(&b)
	z, err := gzip.NewWriterLevel(text, gzip.BestCompression)
	if err == nil {
		err = errors.Join(write(z), z.Close(), text.Close())
	}
	return template.HTML(strings.ReplaceAll(b.String(), "<", "v")), err
}

// hash returns the source expression that allows an inline text in a Content-Security-Policy.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Latency formats ns for people. A negative value is a lower bound.
func Latency(ns float64) string {
	prefix := ""
	if ns < 0 {
		ns, prefix = -ns, "≥ "
	}
	return prefix + fio.Micro(fio.Latency(ns, 4))
}

var microseconds = regexp.MustCompile(`([0-9] ?)us\b`)

// Micro writes a text for people with µs.
func Micro(text string) string { return microseconds.ReplaceAllString(text, "${1}µs") }

// Number formats a rate or another number for people: 0.8893, 36.5, 37,081.
func Number(v float64) string {
	if math.Abs(v) >= 1000 {
		return fio.Grouped(v)
	}
	return fio.Digits(v, 4)
}
