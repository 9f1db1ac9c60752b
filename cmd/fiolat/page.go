package main

import (
	"context"
	"io"
	"slices"

	"fiolat/analysis/diagnose"
	"fiolat/fio"
	"fiolat/internal/tempfile"
	"fiolat/pipeline"
	"fiolat/report"
)

// byteCounter counts the bytes written to it.
type byteCounter int64

func (c *byteCounter) Write(p []byte) (int, error) {
	*c += byteCounter(len(p))
	return len(p), nil
}

// pageFile writes a report to a file, which appears only when it is complete.
type pageFile struct {
	Path string
	Size byteCounter // bytes so far
	// Diagnosis, if not nil, has findings and notes for the page when the run has ended.
	Diagnosis *diagnose.Full

	kinds []*report.Sink
	temp  *tempfile.File
	dry   bool
	// beside is a page among documents: as private as they are.
	beside bool
}

// newPageFile makes a page of that many kinds of latency, or the picture. If dry, its bytes are only counted.
func newPageFile(path string, dry bool, kinds int, drawn *report.Picture) *pageFile {
	p := &pageFile{Path: path, dry: dry}
	p.kinds = report.NewKinds(p, kinds, report.Options{Generator: "fiolat " + versionText(), Marks: p.marks,
		Stalls: p.stalls, Outliers: p.outliers, Picture: drawn})
	return p
}

func (p *pageFile) outliers() *pipeline.Outliers {
	if p.Diagnosis == nil {
		return nil
	}
	return p.Diagnosis.Single()
}

func (p *pageFile) marks() (out []report.Mark) {
	if p.Diagnosis == nil {
		return nil
	}
	d := p.Diagnosis.Diagnosis
	for _, f := range slices.Concat(d.Findings, d.More) {
		m := report.Mark{Text: f.Text, Besides: f.Besides(), Measure: f.Measure, Direction: f.Direction,
			Dimension: f.Dimension, Who: f.Who}
		m.From, m.To = f.FromMS, f.ToMS
		if f.AllRun {
			m.From, m.To = 0, 0
		}
		out = append(out, m)
	}
	for _, n := range p.Diagnosis.Notes {
		out = append(out, report.Mark{Text: fio.Clock(n.AtMS) + " " + n.Text, From: n.AtMS, To: n.AtMS,
			Note: true})
	}
	return out
}

func (p *pageFile) stalls() (out []pipeline.Stall) {
	if p.Diagnosis != nil {
		for _, s := range p.Diagnosis.Diagnosis.Stalls {
			out = append(out, s.Stall)
		}
	}
	return out
}

// newRunsPage makes a page of runs that are compared, the baseline first. sides has 0 or 1 for each.
func newRunsPage(path string, dry bool, names []string, sides []int, drawn *report.Picture,
	compared func() (*report.Comparison, error)) *pageFile {
	p := &pageFile{Path: path, dry: dry}
	p.kinds = report.NewRuns(p, names, sides, report.Options{Generator: "fiolat " + versionText(), Compared: compared,
		Picture: drawn})
	return p
}

// writeCurve writes the page or the picture of a curve into a file.
func writeCurve(path string, dry bool, page report.Curve) (*pageFile, error) {
	page.Title, page.Generator = "Latency against load", "fiolat "+versionText()
	p := &pageFile{Path: path, dry: dry}
	defer p.Discard()
	err := drawInto(path, p, page.Write, page.Draw)
	if err == nil {
		err = p.Publish()
	}
	return p, err
}

// drawInto writes the picture if a file is one by its name, and else the page.
func drawInto(path string, w io.Writer, page func(io.Writer) error, picture func(w io.Writer, png bool) error) error {
	if endings[ending(path)] == isPicture {
		return picture(w, ending(path) == ".png")
	}
	return page(w)
}

// Kind returns the sink of the nth kind of latency.
func (p *pageFile) Kind(n int) pipeline.Sink { return pageSink{p.kinds[n], p} }

// Last reports whether the nth kind is the last one.
func (p *pageFile) Last(n int) bool { return n+1 == len(p.kinds) }

type pageSink struct {
	*report.Sink
	page *pageFile
}

// Begin creates the temporary file, so that a file that cannot be written fails before a
// long run and not after it.
func (s pageSink) Begin(ctx context.Context, run *pipeline.Run) (err error) {
	if err = s.page.open(); err != nil {
		return err
	}
	return s.Sink.Begin(ctx, run)
}

func (p *pageFile) open() (err error) {
	switch {
	case p.dry || p.temp != nil:
	case p.beside:
		p.temp, err = createPrivate(p.Path)
	default:
		p.temp, err = createFile(p.Path)
	}
	return err
}

// Write writes the next bytes of the page.
func (p *pageFile) Write(b []byte) (n int, err error) {
	if err = p.open(); err != nil {
		return 0, err
	}
	n, err = p.Size.Write(b)
	if p.dry {
		return n, err
	}
	return p.temp.Write(b)
}

// Publish gives the file its name.
func (p *pageFile) Publish() error {
	if p.temp == nil {
		return nil
	}
	err := p.temp.Publish()
	if err == nil {
		p.temp = nil
	}
	return err
}

// Discard removes a file that was not published.
func (p *pageFile) Discard() {
	if p.temp != nil {
		p.temp.Discard() //nolint:errcheck // a hidden file stays behind
	}
}
