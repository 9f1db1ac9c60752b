package kibana

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// shipped lists every object that any version of the bundle had, a line of type and id without prefix each. An import
// removes those that are no longer in the bundle. Lines are never deleted from the list.
//
//go:embed shipped.txt
var shipped string

// shippedObjects returns the objects of all versions of the bundle for a prefix.
func shippedObjects(prefix string) map[savedObject]bool {
	out := map[savedObject]bool{}
	for line := range strings.Lines(shipped) {
		if typ, id, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			out[savedObject{typ, prefix + id}] = true
		}
	}
	return out
}

// Remove removes from a space what Import and AlertRules of this and earlier versions put there. Copies that users
// saved under another name stay. It returns the number of objects and of rules removed. Errors are as of Import.
func Remove(ctx context.Context, c Config, prefix string) (objects, rules int, err error) {
	k, err := c.connect(ctx)
	if err != nil {
		return 0, 0, err
	}
	for _, r := range alertRules(prefix, c.Space) {
		err = k.call(ctx, apiCall{method: http.MethodDelete, path: "/api/alerting/rule/" + r.id}, nil)
		var refused *ImportError
		switch {
		case err == nil:
			rules++
		case !errors.As(err, &refused) || refused.status != http.StatusNotFound:
			return 0, rules, err
		}
	}
	objects, err = k.remove(ctx, shippedObjects(prefix))
	return objects, rules, err
}

// perPage is the number of objects per page of a listing; Kibana lists at most 10,000 in all.
const perPage = 1000

// remove removes those of the objects that exist. When Kibana imported an object under a new id, as it does for a
// second space, originId is the requested one.
func (k *conn) remove(ctx context.Context, objects map[savedObject]bool) (removed int, err error) {
	if len(objects) == 0 {
		return 0, nil
	}
	types := map[string]bool{}
	for o := range objects {
		types[o.Type] = true
	}
	var found []savedObject
	for page, seen := 1, 0; ; page++ { //nolint:endless // a page without an object is the last
		var reply struct {
			Total   int
			Objects []struct {
				savedObject
				OriginID string `json:"originId"`
			} `json:"saved_objects"`
		}
		if err = k.call(ctx, apiCall{method: http.MethodGet, path: "/api/saved_objects/_find", query: url.Values{
			"type": slices.Sorted(maps.Keys(types)), "fields": {"title"}, "per_page": {strconv.Itoa(perPage)},
			"page": {strconv.Itoa(page)}}}, &reply); err != nil {
			return 0, err
		}
		for _, o := range reply.Objects {
			if objects[o.savedObject] || objects[savedObject{o.Type, o.OriginID}] {
				found = append(found, o.savedObject)
			}
		}
		seen += len(reply.Objects)
		if len(reply.Objects) == 0 || seen >= reply.Total {
			break
		}
	}
	if len(found) == 0 {
		return 0, nil
	}
	body, err := json.Marshal(found)
	if err != nil {
		return 0, err
	}
	var reply struct {
		Statuses []struct {
			savedObject
			Success bool
			Error   struct {
				StatusCode int
				Message    string
			}
		}
	}
	if err := k.call(ctx, apiCall{method: http.MethodPost, path: "/api/saved_objects/_bulk_delete", body: body},
		&reply); err != nil {
		return 0, err
	}
	gone := map[savedObject]bool{}
	left := &ImportError{Hint: "remove them in Stack Management, Saved Objects"}
	for _, s := range reply.Statuses {
		switch {
		case s.Success:
			removed++
			gone[s.savedObject] = true
		case s.Error.StatusCode == http.StatusNotFound: // someone else deleted it meanwhile
			gone[s.savedObject] = true
		default:
			left.Objects = append(left.Objects, k.safe(fmt.Sprintf("%s %s: %s", s.Type, s.ID, s.Error.Message)))
			gone[s.savedObject] = true // and reported
		}
	}
	for _, o := range found {
		if !gone[o] {
			left.Objects = append(left.Objects, fmt.Sprintf("%s %s: Kibana did not report whether it was removed",
				o.Type, o.ID))
		}
	}
	if len(left.Objects) > 0 {
		left.Msg = fmt.Sprintf("Kibana at %s removed %d of %d objects", k, removed, len(found))
		return removed, left
	}
	return removed, nil
}
