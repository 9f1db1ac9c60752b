package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"fiolat/esmodel/stored"
	"fiolat/fio"
	"fiolat/internal/history"
	"fiolat/internal/tempfile"
	"fiolat/internal/ui"
)

// reportedChanges are the change points that were reported, by series. Series without any are listed, too.
type reportedChanges map[string][]history.Reported

// stateVersion is that of the format of the file.
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

// judge applies --fail-if-changed: it prints the changes that were not reported before, and remembers them. Of a series
// of which nothing was remembered, those that are found without its latest runs count as reported.
func (r *historyReader) judge(ctx context.Context, all []history.Series, u *ui.UI) (err error) {
	if r.failIfChanged == 0 {
		return nil
	}
	told := reportedChanges{}
	switch {
	case r.state != "":
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
	var news, remember []stored.Change
	for i := range all {
		s := &all[i]
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
		results := history.Gate(s, r.metrics, r.minChange)
		for k := range results {
			res := &results[k]
			fresh := res.News(known)
			for _, c := range res.Changes {
				change := r.change(s, res, c)
				isNew := slices.Contains(fresh, c)
				if isNew {
					told[s.Name] = append(told[s.Name], history.NewReported(res, c))
					news = append(news, change)
				}
				if isNew || !ok {
					remember = append(remember, change)
				}
			}
		}
	}
	for _, c := range news {
		u.Finding("changed: " + fio.Printable(c.Of.Series) + ": " + c.Text)
	}
	switch {
	case r.state != "":
		err = told.write(r.state)
	case r.store:
		err = stored.StoreReported(ctx, r.source.Client, r.es.Prefix, remember)
	}
	if err == nil && len(news) > 0 {
		err = errChanged
	}
	return err
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
