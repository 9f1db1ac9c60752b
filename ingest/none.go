package ingest

import (
	"cmp"
	"fmt"
	"path/filepath"

	"fiolat/fio"
	"fiolat/ingest/content"
	"fiolat/ingest/fiojson"
	"fiolat/ingest/source"
	"fiolat/internal/errs"
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
	documents, _ := filepath.Glob(filepath.Join(root, "run.*")) // the pattern is well-formed unless root is odd
	archives, wrote := d.instead(root, maxInstead)
	switch {
	case len(documents) > 0:
		err.Msg, err.Hint = msg+", but "+errs.Some(documents), "of documents, fiolat reads those that ingest --format "+
			"bulk, the default, writes"
	case wrote != "":
		err.Msg, err.Hint = msg+", though "+wrote, "copy them here from where fio, or fio --client, was started"
	case len(archives) > 0:
		err.Msg, err.Hint = msg+", but "+errs.Some(archives), "pass the archive itself"
	}
	return err
}

// maxInstead is how many folders instead looks into.
const maxInstead = 256

// instead finds archives in a folder and those below it, and what says that fio wrote logs: its JSON or a job file.
func (d *discovery) instead(dir string, most int) (archives []string, wrote string) {
	wrote = wroteLogs(d.metasIn(dir))
	for _, e := range d.files.List(dir) {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir() && most > 1:
			most--
			more, by := d.instead(path, most)
			archives, wrote = append(archives, more...), cmp.Or(wrote, by)
		case source.ArchiveStem(e.Name()) != e.Name() && source.ArchiveOf(path) != "":
			archives = append(archives, fio.Printable(path))
		case wrote == "" && d.files.MayBeFio(path, e):
			if kind, err := d.sniff(path); err != nil || kind != content.Job {
				continue
			}
			if j, err := d.jobFile(path); err == nil {
				for _, s := range j.Sections {
					if s.WritesLogs(true) {
						wrote = says(path, "write_hist_log", cmp.Or(s.LogPrefix(true), "NAME"))
					}
				}
			}
		}
	}
	return archives, wrote
}

// wroteLogs returns which logs fio wrote, by its JSON; "" if none.
func wroteLogs(metas []*fiojson.Document) (wrote string) {
	for _, m := range metas {
		for i := range m.Entries {
			for _, option := range []string{"write_lat_log", "write_hist_log"} {
				if name, ok := m.Option(&m.Entries[i], option); ok {
					wrote = says(m.Path, option, cmp.Or(name, m.Entries[i].JobName))
				}
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
