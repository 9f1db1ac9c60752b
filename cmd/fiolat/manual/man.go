package manual

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"
)

// Write writes a man page for fiolat, and one for each command, into a folder.
func Write(app *cli.App, codes []ExitCode, dir string) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH FIOLAT 1\n.SH NAME\nfiolat \\- %s\n.SH SYNOPSIS\n.B fiolat\n.I COMMAND\n[flags] [arguments]\n",
		roff(app.Usage))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n.PP\nFlags may stand before or after the paths. Standard output "+
		"is data; progress, warnings and the account go to standard error.\n.SH COMMANDS\n", roff(app.Description))
	for _, c := range app.Commands {
		if c.Hidden {
			continue
		}
		fmt.Fprintf(&b, ".TP\n.BR fiolat-%s (1)\n%s\n", roff(c.Name), roff(c.Usage))
		if err := os.WriteFile(filepath.Join(dir, "fiolat-"+c.Name+".1"), commandPage(c), 0o644); err != nil {
			return err
		}
	}
	b.WriteString(".SH EXIT STATUS\n")
	for _, e := range codes {
		fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", e.Code, roff(e.Meaning))
	}
	return os.WriteFile(filepath.Join(dir, "fiolat.1"), b.Bytes(), 0o644)
}

func commandPage(c *cli.Command) []byte {
	var b bytes.Buffer
	name := roff("fiolat-" + c.Name)
	fmt.Fprintf(&b, ".TH %s 1\n.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B fiolat %s\n[flags] %s\n", strings.ToUpper(name),
		name, roff(c.Usage), roff(c.Name), roff(c.ArgsUsage))
	examples, text, _ := strings.Cut(c.Description, "\n\n")
	if text != "" {
		fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", roff(text))
	}
	b.WriteString(".SH OPTIONS\n")
	for _, f := range c.VisibleFlags() {
		d, ok := f.(cli.DocGenerationFlag)
		if !ok {
			continue
		}
		word, usage := Placeholder(d.GetUsage())
		fmt.Fprintf(&b, ".TP\n.B \\-\\-%s\n", roff(f.Names()[0]))
		if d.TakesValue() {
			b.Truncate(b.Len() - 1)
			fmt.Fprintf(&b, " %s\n", roff(word))
		}
		fmt.Fprintf(&b, "%s", roff(usage))
		if value := strings.Trim(d.GetValue(), `"`); d.TakesValue() && value != "" && value != "0" && value != "[]" {
			fmt.Fprintf(&b, " (default: %s)", roff(value))
		}
		if env := d.GetEnvVars(); len(env) > 0 {
			fmt.Fprintf(&b, " [$%s]", roff(strings.Join(env, ", $")))
		}
		b.WriteString("\n")
	}
	if examples != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(examples))
	}
	b.WriteString(".SH SEE ALSO\n.BR fiolat (1)\n")
	return b.Bytes()
}

// roff escapes text for troff.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
