package ingest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"fiolat/fio"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/source"
)

// noneBelow returns the error for a folder without logs, which says what is there instead.
func (d *discovery) noneBelow(root string) error {
	const msg = "no fio histogram logs (NAME_clat_hist.N.log) below it"
	err := &fio.NoLogsError{ParseError: fio.ParseError{File: root, Msg: msg, Hint: "add write_hist_log=NAME and " +
		"log_hist_msec=1000 to the job, run fio again, and pass the folder with its logs"}}
	if len(d.warnings) > 0 {
		err.Msg, err.Hint = msg+" that can be read", d.warnings[0]
		return err
	}
	packed := slices.DeleteFunc(slices.Clone(d.packed),
		func(e *source.PackedError) bool { return !under(e.File, root) })
	if len(packed) > 0 {
		e, more := packed[0], ""
		if len(packed) > 1 {
			more = fmt.Sprintf(" (and %d more)", len(packed)-1)
		}
		err.Msg, err.Hint = fmt.Sprintf("%s, but %s%s: %s", msg, fio.Printable(e.File), more, e.Msg), e.Hint
		return err
	}
	for f := range d.texts(root) {
		kind, unread := d.sniff(f)
		if f.isEmptyJSON() {
			err.Msg, err.Hint = msg+"; "+fio.Printable(f.path)+" is empty", "fio was killed, or could not write it: run it again"
			return err
		}
		if unread == nil && kind != JSONFile {
			unread = d.output(f.path)
		}
		if bad, ok := errors.AsType[*fio.ParseError](unread); ok {
			err.Msg, err.Hint = msg+"; "+fio.Printable(f.path)+": "+bad.Msg, bad.Hint
			return err
		}
	}
	documents, _ := fs.Glob(os.DirFS(root), "run.*") // the pattern is well-formed
	for i, name := range documents {
		documents[i] = filepath.Join(root, name)
	}
	wrote := d.wroteBelow(root, maxBelow)
	switch {
	case len(documents) > 0:
		err.Msg, err.Hint = msg+", but "+fio.Some(documents), "of documents, fiolat reads those that ingest --format "+
			"bulk, the default, writes"
	case wrote != "":
		err.Msg, err.Hint = msg+", though "+wrote, "copy them here from where fio, or fio --client, was started"
	}
	return err
}

// maxBelow is how many folders wroteBelow looks into.
const maxBelow = 256

// wroteBelow returns which logs fio wrote by its JSON or a job file in a folder or those below it; "" if none.
func (d *discovery) wroteBelow(dir string, most int) string {
	wrote := wroteLogs(d.metasIn(dir))
	for _, f := range d.list(dir) {
		switch {
		case f.mode.IsDir() && most > 1:
			most--
			wrote = cmp.Or(wrote, d.wroteBelow(f.path, most))
		case wrote == "" && d.isText(f):
			j, err := d.job(f)
			if err != nil || j == nil {
				continue
			}
			for _, s := range j.Sections {
				if s.WritesLogs(true) {
					prefix, _ := s.LogPrefix(true)
					wrote = says(f.path, "write_hist_log", cmp.Or(prefix, "NAME"))
				}
			}
		}
	}
	return wrote
}

// wroteLogs returns which logs fio wrote, by its JSON; "" if none.
func wroteLogs(metas []*fiojson.Document) (wrote string) {
	for m, e := range entriesIn(metas...) {
		for _, option := range []string{"write_lat_log", "write_hist_log"} {
			if name, ok := m.Option(e, option); ok {
				wrote = says(m.Path, option, cmp.Or(name, e.JobName))
			}
		}
	}
	return wrote
}

func says(path, option, name string) string {
	what := "_clat.N.log"
	if option == "write_hist_log" {
		what = "_clat_hist.N.log"
	}
	return fmt.Sprintf("by %s fio writes %s (%s)", fio.Printable(path), fio.Printable(filepath.Base(name)+what), option)
}
