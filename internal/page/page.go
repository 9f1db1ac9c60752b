// Package page writes self-contained HTML pages in one frame: header, colors, fonts, formats of numbers, and the
// libraries that draw the charts of internal/vegaspec. A page loads nothing: its Content-Security-Policy forbids
// network access and any script or style but its own.
package page

import (
	"crypto/sha256"
	_ "embed" // the parts of a page
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/js"

	"fiolat/fio"
	"fiolat/internal/vegaspec"
)

var (
	//go:embed frame.html
	frameHTML string
	//go:embed page.css
	pageCSS string
	//go:embed base.js
	baseJS string
	// Charts is the Script of a page that draws each of its Specs as it is, with the rows that it holds, into the
	// element whose id is the name of the spec. A click on a mark whose row has a field anchor opens that place.
	//
	//go:embed charts.js
	Charts string
)

// Page is the frame of a page.
type Page struct {
	Title, Eyebrow string
	// Generator is the program and its version.
	Generator string
	Lead      []string
	Facts     [][2]string // names and values
	Specs     map[string]vegaspec.Spec
	// Script runs within base.js, which it may use.
	Script string
	// Main is the data of the template "main".
	Main any
}

// Write writes the page. own defines the template "main", and may use the frame's template "noscript".
func (p *Page) Write(w io.Writer, own string) error {
	d := struct {
		*Page
		CSP       string
		Style     template.CSS
		Scripts   []template.JS
		Packed    template.HTML // the specs
		Libraries string        // their versions and licences
	}{Page: p}
	style, err := small(css.Minify, pageCSS)
	if err != nil {
		return err
	}
	script, err := small(js.Minify, strings.Replace(baseJS, "// OWN\n", p.Script, 1))
	if err != nil {
		return err
	}
	d.Style = template.CSS(style) // our own file
	specs, err := json.Marshal(p.Specs)
	if err != nil {
		return err
	}
	if d.Packed, err = Pack(func(z io.Writer) error { _, err := z.Write(specs); return err }); err != nil {
		return err
	}
	for _, name := range []string{"VERSIONS", "LICENSES"} {
		text, err := vegaspec.JS.ReadFile("js/" + name)
		if err != nil {
			return err
		}
		d.Libraries += string(text) + "\n"
	}
	for _, name := range []string{"vega.min.js", "vega-lite.min.js", "vega-interpreter.min.js"} {
		js, err := vegaspec.JS.ReadFile("js/" + name)
		if err != nil {
			return err
		}
		d.Scripts = append(d.Scripts, template.JS(js)) // embedded
	}
	d.Scripts = append(d.Scripts, template.JS(script)) // our own files
	// Nothing may be loaded or sent, only these scripts run, and none may evaluate text.
	d.CSP = "default-src 'none'; script-src"
	for _, js := range d.Scripts {
		d.CSP += " " + hash(string(js))
	}
	d.CSP += "; style-src " + hash(style) + "; base-uri 'none'; form-action 'none'"
	t := template.Must(template.Must(template.New("page").Parse(frameHTML)).Parse(own))
	if err := t.Execute(w, d); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

// Pack returns what write writes, JSON, in the form that unpack of base.js reads: base64 of gzip.
func Pack(write func(io.Writer) error) (template.HTML, error) {
	var b strings.Builder
	text := base64.NewEncoder(base64.StdEncoding, &b)
	z := gzip.NewWriter(text)
	if err := errors.Join(write(z), z.Close(), text.Close()); err != nil {
		return "", err
	}
	return template.HTML(b.String()), nil // base64 only
}

// small returns a style or script without what only its readers need.
func small(f minify.MinifierFunc, text string) (string, error) {
	var b strings.Builder
	err := f(minify.New(), &b, strings.NewReader(text), nil)
	return b.String(), err
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

// Number formats a rate or another number for people: 0.8893, 36.5, 37,081.
func Number(v float64) string {
	if math.Abs(v) >= 1000 {
		return fio.Grouped(v)
	}
	return fio.Digits(v, 4)
}
