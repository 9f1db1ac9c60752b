package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/internal/errs"
	"fiolat/internal/render"
	"fiolat/internal/ui"
)

type explainOptions struct {
	engine     string // "": all engines
	fioVersion string // such as fio-3.28; "": a current one
	ioDepth    int    // of the job; 0: more than 1
}

func explainCommand(u *ui.UI) *cli.Command {
	o := &explainOptions{}
	return &cli.Command{
		Name: "explain", ArgsUsage: "[ENGINE]", Usage: "what slat, clat and lat include with each of fio's I/O engines",
		Description: "fiolat explain\n" +
			"fiolat explain io_uring\n" +
			"fiolat explain null --fio-version fio-3.30 --iodepth 8\n\n" +
			"From when fio counts an I/O as issued, and whether it counts slat at all; inspect and the document of a " +
			"run say the same of the run's own engines.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "fio-version", Destination: &o.fioVersion,
				Usage: "`VERSION` of fio, like fio-3.28 (default: a current one)"},
			&cli.IntFlag{Name: "iodepth", Destination: &o.ioDepth, Usage: "`DEPTH` of the job (default: more than 1)"},
		},
		Action: action(u, o),
	}
}

func (o *explainOptions) check(c *cli.Context, bad *errs.Faults) {
	o.engine = c.Args().First()
	if _, _, ok := fiojson.ParseVersion(o.fioVersion); o.fioVersion != "" && !ok {
		bad.Add(fio.Usagef("--fio-version %q: want a version like fio-3.28", o.fioVersion))
	}
	if c.NArg() > 1 {
		bad.Add(fio.Usagef("fiolat explain: want one engine, or none for all"))
	}
}

// run prints what the latencies of an engine include.
func (o *explainOptions) run(_ context.Context, u *ui.UI) error {
	if o.engine != "" {
		e, ok := fiojson.FindEngine(o.engine, o.fioVersion, o.ioDepth)
		if !ok {
			return fio.Usagef("%q is not one of fio's own engines; fiolat explain lists them", o.engine)
		}
		_, err := fmt.Fprintln(u.Stdout, strings.Join(append([]string{e.Sentence()}, e.Notes...), "\n- "))
		return err
	}
	w := &render.Tabs{Out: u.Stdout, Width: ui.Columns(u.Stdout)}
	fmt.Fprintln(w, "engine\thow fio measures it\tslat")
	for _, e := range fiojson.Engines() {
		e, _ = fiojson.FindEngine(e.Name, o.fioVersion, o.ioDepth)
		slat := "no"
		if e.Measure.Slat() {
			slat = "yes"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", e.Name, e.Measure, slat)
	}
	return w.Flush()
}
