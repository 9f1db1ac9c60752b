package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"fiolat/esmodel/client"
	"fiolat/esmodel/delivery"
	"fiolat/fio"
	"fiolat/internal/runsource"
	"fiolat/internal/ui"
	"fiolat/pipeline"
)

// printOutcome reports what became of the documents of a run, and returns err.
func printOutcome(o *runsource.Elasticsearch, u *ui.UI, dryRun bool, run *pipeline.Run, summary *pipeline.Summary,
	report delivery.Report, err error) error {
	for _, warning := range report.Warnings {
		u.WarnOnce(warning) // of the cluster rather than of the run
	}
	var incomplete *delivery.IncompleteError
	errors.As(err, &incomplete)
	if incomplete != nil && incomplete.Err != nil { // the cause comes first
		u.Say("error", "%v", incomplete.Err)
		incomplete.Told = true
	}
	if summary != nil {
		printAccount(u, summary, report, documentsText(run, report, u.Verbose))
	}
	if incomplete != nil {
		sayUnfinished(o, u, report)
	}
	if err == nil && dryRun {
		u.Say("info", "dry run: %d documents, %d bytes would be written", report.Total().Made, report.Total().Bytes)
	}
	return err
}

// documentsText returns the account's line on documents. Unless verbose, counts of 0 are left out.
func documentsText(run *pipeline.Run, r delivery.Report, verbose bool) string {
	t := r.Total()
	text := fmt.Sprintf("documents  %d made", t.Made)
	for _, n := range []struct {
		count int64
		what  string
		zero  bool // printed even if 0
	}{
		{t.Written, ", %d written", false},
		{t.Indexed, ", %d indexed", verbose && t.Written == 0},
		{t.Refused, ", %d refused", verbose},
		{t.Spooled, ", %d spooled", verbose},
		{t.Lost, ", %d lost", verbose},
		{t.Deleted, "; %d of other generations deleted", verbose},
	} {
		if n.count > 0 || n.zero {
			text += fmt.Sprintf(n.what, n.count)
		}
	}
	text += fmt.Sprintf(" (run %s)", fio.RunName(run.ID, run.Name))
	for _, refusal := range r.Refusals {
		text += fmt.Sprintf("\nrefused    %d: %s", refusal.Count, refusal)
	}
	return text
}

// sayUnfinished prints where a run's unsent documents are, and the command that sends them.
func sayUnfinished(o *runsource.Elasticsearch, u *ui.UI, r delivery.Report) {
	var files []string
	for _, f := range []struct{ name, what string }{
		{r.SpoolFile, "what could not be sent is in %s"},
		{r.RefusedFile, "what was refused is in %s, with the reasons: correct that first"},
	} {
		if f.name != "" {
			u.Say("error", f.what, fio.Printable(f.name))
			files = append(files, f.name)
		}
	}
	if n := r.Total().Lost; n > 0 {
		u.Say("error", "%s lost: run the same command again to finish", fio.Several(int(n), "document"))
	} else if len(files) > 0 {
		u.Say("error", "to finish: %s", shellLine(o, "load", files...))
	}
}

// shellLine returns a shell command with the Elasticsearch flags that this one was given. Flags never hold secrets.
func shellLine(o *runsource.Elasticsearch, command string, more ...string) string {
	words := slices.Concat([]string{"fiolat", command}, o.Flags(), more)
	for i, w := range words {
		if !plainWord.MatchString(w) {
			words[i] = quoted(w)
		}
	}
	return strings.Join(words, " ")
}

// quoted returns a word for a shell, without characters that cannot be printed: printf's escapes stand for them.
func quoted(word string) string {
	if fio.Printable(word) == word {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder
	for _, c := range []byte(word) {
		if c != '%' && c != '-' && plainWord.Match([]byte{c}) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	return `"$(printf '` + b.String() + `')"`
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+,-]+$`)

// writerTo returns the writer of documents to Elasticsearch, or with no client into files.
// refresh is for runs that are watched while they go on.
func writerTo(o *runsource.Elasticsearch, client *client.Client, refresh bool) (delivery.Writer, error) {
	if client != nil {
		return delivery.NewBulkWriter(client, delivery.BulkConfig{Prefix: o.Prefix, SpoolDir: o.Spool,
			Refresh: refresh})
	}
	return delivery.NewDirWriter(o.Spool, o.Prefix)
}
