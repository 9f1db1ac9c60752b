package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"fiolat/ingest"
)

func explainCommand(u *ui) *cli.Command {
	return &cli.Command{
		Name: "explain", ArgsUsage: "[ENGINE]", Usage: "what slat, clat and lat include with each of fio's I/O engines",
		Description: "fiolat explain\n" +
			"fiolat explain io_uring\n" +
			"fiolat explain null --fio-version fio-3.30 --iodepth 8\n\n" +
			"From when fio counts an I/O as issued, and whether it counts slat at all; inspect and the document of a run say the same of the run's own engines.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "fio-version", Usage: "`VERSION` of fio, like fio-3.28 (default: a current one)"},
			&cli.IntFlag{Name: "iodepth", Usage: "`DEPTH` of the job (default: more than 1)"},
		},
		Action: action(u, readExplainOptions, explain),
	}
}

// explainOptions are what fiolat explain is asked for.
type explainOptions struct {
	Engine     string // "": all engines
	FioVersion string // such as fio-3.28; "": a current one
	IODepth    int    // of the job; 0: more than 1
}

func readExplainOptions(c *cli.Context) (o explainOptions, err error) {
	o = explainOptions{Engine: c.Args().First(), FioVersion: c.String("fio-version"), IODepth: c.Int("iodepth")}
	if _, _, ok := ingest.ParseVersion(o.FioVersion); o.FioVersion != "" && !ok {
		return o, usagef("--fio-version %q: want a version like fio-3.28", o.FioVersion)
	}
	if c.NArg() > 1 {
		return o, usagef("fiolat explain: want one engine, or none for all")
	}
	return o, nil
}

func explain(_ context.Context, o explainOptions, u *ui) error {
	if o.Engine != "" {
		e, ok := ingest.FindEngine(o.Engine, o.FioVersion, o.IODepth)
		if !ok {
			return usagef("%q is not one of fio's own engines; fiolat explain lists them", o.Engine)
		}
		_, err := fmt.Fprintln(u.stdout, strings.Join(append([]string{e.Sentence()}, e.Notes...), "\n- "))
		return err
	}
	w := tabwriter.NewWriter(u.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "engine\thow fio measures it\tslat")
	for _, e := range ingest.Engines() {
		e, _ = ingest.FindEngine(e.Name, o.FioVersion, o.IODepth)
		slat := "no"
		if e.Measure.Slat() {
			slat = "yes"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", e.Name, e.Measure, slat)
	}
	return w.Flush()
}

// enginePage is docs/engines.md.
func enginePage() string {
	var b strings.Builder
	b.WriteString(`# What fio's latencies include, by I/O engine

<!-- Made from ingest/engine.go by "make docs"; do not edit. -->

fio notes when it takes an I/O up (start), when it counts it as issued, and when it sees it complete:
slat = issued - start, clat = completed - issued, lat = completed - start. So slat + clat = lat, and the engines differ in when
"issued" is and in whether slat is counted at all. Sources: fio's wiki page "How does fio measure latency" (Vincent Fu, of fio
3.30), and fio's source from 3.30 to 3.42. A test runs the engines that run anywhere and compares which of the three have samples.

Side by side (Kibana's dashboard "what latency is made of", [kibana.md](kibana.md), and "fiolat report --kind all", [report.md](report.md), which says whether
they add up; inspect says so of fio's own totals, job by job): means add up, percentiles do not. With a synchronous engine slat is
missing or near zero by construction, and says nothing about the submission; ask an asynchronous one.
`)
	for _, m := range ingest.Measures {
		fmt.Fprintf(&b, "\n## %s%s\n\n%s.\n\n| engine | notes |\n|---|---|\n", strings.ToUpper(m.String()[:1]), m.String()[1:], m.Sentence())
		for _, e := range ingest.Engines() {
			if e.Measure == m {
				fmt.Fprintf(&b, "| `%s` | %s |\n", e.Name, strings.Join(e.Notes, "; "))
			}
		}
	}
	return b.String()
}
