package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fiolat/analysis/history"
	"fiolat/esmodel"
	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/internal/tempfile"
	"fiolat/internal/ui"
)

// reportedChanges are the change points that were reported, by series. Series without any are listed, too.
type reportedChanges map[string][]history.Reported

// stateVersion is the version of the file's format.
const stateVersion = 1

type stateFile struct {
	Version int             `json:"version"`
	Series  reportedChanges `json:"series"`
}

func readState(path string) (reportedChanges, error) {
	f := stateFile{Series: reportedChanges{}}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f.Series, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err == nil && f.Version != stateVersion {
		err = fmt.Errorf("its version is %d, not %d", f.Version, stateVersion)
	}
	if err != nil {
		return nil, fio.Usagef("--state %s: %v: name a file that history wrote, or a new one",
			fio.Printable(path), err)
	}
	if f.Series == nil {
		f.Series = reportedChanges{}
	}
	return f.Series, nil
}

// lockState waits until no other fiolat is at work on a state in the directory, and keeps others waiting until the
// result is closed. The file itself is replaced.
func lockState(ctx context.Context, path string) (*os.File, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, fio.Usagef("--state %s: not a regular file", fio.Printable(path))
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, fio.Usagef("--state %s: %v", fio.Printable(path), err)
	}
	for errors.Is(tempfile.Lock(dir), tempfile.ErrLocked) {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), dir.Close())
		}
	}
	return dir, nil
}

func (s reportedChanges) write(path string) error {
	f, err := tempfile.CreateAt(path)
	if err != nil {
		return fio.Usagef("--state %s: %v", fio.Printable(path), err)
	}
	e := json.NewEncoder(f)
	e.SetIndent("", " ")
	if err = e.Encode(stateFile{stateVersion, s}); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Publish()
}

// judge applies --fail-if-changed: it prints the changes that were not reported before, and those that were, of another
// run, and remembers both. Of a series of which nothing was remembered, those that are found without its latest runs
// count as reported. The error is errChanged if there is a new one.
func (r *historyReader) judge(ctx context.Context, all []history.Series, u *ui.UI) (err error) {
	if r.failIfChanged == 0 {
		return nil
	}
	told := reportedChanges{}
	switch {
	case r.state != "":
		lock, failed := lockState(ctx, r.state)
		if failed != nil {
			return failed
		}
		defer lock.Close()
		told, err = readState(r.state)
	case r.store:
		var found []stored.Change
		found, err = stored.Reported(ctx, r.source.Client, r.es.Prefix)
		for _, c := range found {
			told[c.Of.Series] = append(told[c.Of.Series],
				history.Reported{Run: c.Run.ID, Start: &c.Run.Start, Metric: c.Of.Metric, Change: c.Of.Share})
		}
	}
	if err != nil {
		return err
	}
	var remember []stored.Change
	var tell alerts
	fired := false
	suite := &junitSuite{Name: "fiolat history"}
	for i := range all {
		s := &all[i]
		if n := len(s.Runs); n <= history.Settled {
			u.Say("info", "%s: %s: --fail-if-changed judges a series of more than %d runs", fio.Printable(s.Title()),
				fio.Several(n, "run"), history.Settled)
		}
		known, ok := told[s.Name]
		if !ok {
			known = []history.Reported{}
			before := history.Gate(s.Without(r.failIfChanged), r.metrics, r.minChange)
			for k := range before {
				for _, c := range before[k].Changes {
					known = append(known, history.NewReported(&before[k], c))
				}
			}
		}
		told[s.Name] = known
		results := r.gated[i]
		for k := range results {
			res := &results[k]
			added, moved := res.News(known)
			var why []string
			for _, c := range res.Changes {
				change := r.change(s, res, c)
				isNew, isMoved := slices.Contains(added, c), slices.Contains(moved, c)
				if isNew || isMoved {
					text := fio.Printable(s.Title()) + ": " + change.Text
					if isMoved {
						text = "corrected: " + text
						u.Finding(text)
					} else {
						u.Finding("changed: " + text)
						why, fired = append(why, change.Text), true
					}
					_, id, doc := esmodel.ChangeEvent(r.es.Prefix, esmodel.ActionChangeReported, change.Run,
						change.Of, text)
					tell.add(s.Name, finding{id, text, doc})
					told[s.Name] = append(told[s.Name], history.NewReported(res, c))
				}
				if isNew || isMoved || !ok {
					remember = append(remember, change)
				}
			}
			suite.add(fio.Printable(s.Name), res.Metric, strings.Join(why, "; "), len(s.Runs) <= history.Settled)
		}
	}
	switch {
	case r.state != "":
		err = told.write(r.state)
	case r.store:
		err = stored.StoreReported(ctx, r.source.Client, r.es.Prefix, remember)
	}
	if err == nil && r.format == formatJUnit {
		err = suite.write(u.Stdout)
	}
	if err != nil {
		return err
	}
	if fired {
		err = errChanged
	}
	return afterPrint(errors.Join(err, r.alerts.send(u, tell)))
}

// runName returns the name or id of a run and the day of its start, if known.
func runName(name, id string, start *time.Time) string {
	if name == "" {
		name = id
	}
	if start != nil {
		name += ", " + start.UTC().Format(time.RFC3339)
	}
	return fio.Printable(name)
}
