// Package indices manages the indices of a cluster: it installs templates, checks mappings, and counts,
// refreshes and deletes documents. It detects the features of a cluster by asking for them, never by its
// version.
package indices

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/elastic/go-elasticsearch/v8/esapi"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
)

// errNoTemplates says that the index templates are missing and may not be created.
var errNoTemplates = errors.New("the index templates are missing")

const noHistogram = "this cluster does not have the histogram field type: latency.histogram is stored but cannot be " +
	"searched or aggregated, so Elasticsearch and Kibana cannot compute percentiles for arbitrary filters and time " +
	"ranges; percentile documents and octave counts do not need it"

// SetupOptions say what Setup installs.
type SetupOptions struct {
	Prefix string
	// DeleteAfter makes the lifecycle policy delete data that is older, by up to a month: an index goes as a
	// whole. 0 keeps an existing policy, or creates one that never deletes; negative removes the deletion from
	// the policy.
	DeleteAfter time.Duration
	// Shards is the number of shards of each new index of histograms; 0 keeps that of an existing template, or is one.
	Shards int
	// Now is the time whose month the first indices are for; zero is the present.
	Now time.Time
}

// SetupItem is one thing that Setup handled.
type SetupItem struct {
	Type   string `json:"type"` // index template, lifecycle policy, index, mapping
	Name   string `json:"name"`
	Action string `json:"action"` // created, updated, unchanged
	Note   string `json:"note,omitempty"`
}

// SetupReport says what Setup found and did.
type SetupReport struct {
	Items []SetupItem `json:"items"`
	// Histogram and Lifecycle say whether the cluster has them.
	Histogram bool     `json:"histogram_type"`
	Lifecycle bool     `json:"lifecycle"`
	Warnings  []string `json:"warnings,omitempty"`
}

func (r *SetupReport) add(typ, name, action string) {
	r.Items = append(r.Items, SetupItem{Type: typ, Name: name, Action: action})
}

func (r *SetupReport) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// Setup installs the index templates and, where the cluster has lifecycle management, the policy, and creates
// an empty index of each kind that has none. It changes nothing that is up to date, so it can be repeated.
// That another template takes the place of one of these is an *OverrideError.
func Setup(ctx context.Context, c *client.Client, o SetupOptions) (*SetupReport, error) {
	return setup(ctx, c, o, checkOverrides)
}

// setup is Setup, with a check between templates and indices.
func setup(
	ctx context.Context, c *client.Client,
	o SetupOptions,
	check func(context.Context, *client.Client, SetupOptions) error,
) (*SetupReport, error) {
	o.Prefix = cmp.Or(o.Prefix, esmodel.DefaultPrefix)
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	if err := esmodel.CheckPrefix(o.Prefix); err != nil {
		return nil, err
	}
	r := new(SetupReport)
	var err error
	if r.Histogram, err = HasHistogram(ctx, c); err != nil {
		return r, err
	}
	if r.Warnings, err = c.CheckVersion(ctx); err != nil {
		return r, err
	}
	if !r.Histogram {
		r.warn("%s", noHistogram)
	}
	if err = setupPolicy(ctx, c, o, r); err != nil {
		return r, err
	}
	there, err := Templates(ctx, c, o.Prefix)
	if err != nil {
		return r, err
	}
	for _, kind := range esmodel.Kinds[1:] {
		if err := setupTemplate(ctx, c, o, kind, there, r); err != nil {
			return r, err
		}
	}
	// The template of runs comes last: to a user who may not see templates, an index of runs that was made from
	// it shows that the others exist, too.
	if err := setupTemplate(ctx, c, o, esmodel.KindRun, there, r); err != nil {
		return r, err
	}
	if err := check(ctx, c, o); err != nil {
		return r, err
	}
	return r, setupIndices(ctx, c, o, r)
}

// Template is esmodel.Template, with the number of shards of an index of histograms.
func Template(prefix string, kind esmodel.Kind, histogram, lifecycle bool, shards int) (map[string]any, error) {
	t, err := esmodel.Template(prefix, kind, histogram, lifecycle)
	if err == nil && kind == esmodel.KindHistogram {
		index := t["template"].(map[string]any)["settings"].(map[string]any)["index"].(map[string]any)
		index["number_of_shards"] = strconv.Itoa(shards)
	}
	return t, err
}

// OverrideError says that another index template is used in place of one of fiolat's.
type OverrideError struct {
	Template, By string
	// Field is the first that it maps in another way, with the parameter: run.id.type.
	Field string
}

func (e *OverrideError) Error() string {
	return fmt.Sprintf("index template %s has a higher priority than %s and maps its fields in another way (%s); "+
		"lower its priority, take these indices out of its patterns, or copy the mappings of %s into it",
		e.By, e.Template, e.Field, e.Template)
}

// checkOverrides asks the cluster for the mappings that new indices would get.
func checkOverrides(ctx context.Context, c *client.Client, o SetupOptions) error {
	var all struct {
		Templates []storedTemplate `json:"index_templates"`
	}
	if err := c.Call(ctx, client.Request{Op: "read index templates",
		API: esapi.IndicesGetIndexTemplateRequest{}}, &all); err != nil {
		return err
	}
	simulate := func(what esapi.Request) (mappings map[string]any, err error) {
		var reply struct {
			Template struct {
				Mappings map[string]any `json:"mappings"`
			} `json:"template"`
		}
		err = c.Call(ctx, client.Request{Op: "simulate index templates", API: what}, &reply)
		return reply.Template.Mappings, err
	}
	for _, kind := range esmodel.Kinds {
		name, index := o.Prefix+"-"+string(kind), esmodel.Index(o.Prefix, kind, o.Now.UnixNano())
		var used storedTemplate
		for _, t := range all.Templates {
			if t.matches(index) && (used.Name == "" || t.priority() > used.priority()) {
				used = t
			}
		}
		if used.Name == name {
			continue
		}
		want, err := simulate(esapi.IndicesSimulateTemplateRequest{Name: name})
		if err != nil {
			return err
		}
		have, err := simulate(esapi.IndicesSimulateIndexTemplateRequest{Name: index})
		if err != nil {
			return err
		}
		field := cmp.Or(changed("", want["properties"], have["properties"]), changed("", want, have))
		if field != "" {
			return &OverrideError{Template: name, By: used.Name, Field: field}
		}
	}
	return nil
}

// changed returns the first path of a mapping that another does not have in the same way, "" if there is none.
func changed(at string, want, have any) string {
	w, ok := want.(map[string]any)
	if !ok {
		if Canonical(want) == Canonical(have) {
			return ""
		}
		return at
	}
	h, _ := have.(map[string]any)
	for _, k := range slices.Sorted(maps.Keys(w)) {
		if k == "_meta" || k == "meta" {
			continue
		}
		inner := at
		if k != "properties" {
			inner = strings.TrimPrefix(at+"."+k, ".")
		}
		if first := changed(inner, w[k], h[k]); first != "" {
			return first
		}
	}
	return ""
}

// HasHistogram reports whether the cluster has the histogram field type. It simulates a template, which stores
// nothing.
func HasHistogram(ctx context.Context, c *client.Client) (bool, error) {
	err := c.Call(
		ctx,
		client.Request{
			Op:  "ask for the histogram field type",
			API: esapi.IndicesSimulateTemplateRequest{},
			Body: esmodel.MustJSON(map[string]any{
				"index_patterns": []string{"fiolat-asks-for-the-histogram-type-*"},
				"priority":       1 << 30,
				"template": map[string]any{
					"mappings": map[string]any{
						"properties": map[string]any{"h": map[string]string{"type": "histogram"}},
					},
				},
			}),
		},
		new(simulated),
	)
	var refused *client.RefusedError
	if errors.As(err, &refused) && refused.Status == http.StatusBadRequest &&
		strings.Contains(refused.Reason, "histogram") {
		return false, nil
	}
	return err == nil, err
}

// simulated is the reply to a simulation. Another one, as of a proxy, is a temporary error.
type simulated struct {
	Template *struct{} `json:"template"`
}

func (s *simulated) Check() error {
	if s.Template == nil {
		return errors.New("the reply is not about an index template")
	}
	return nil
}

// month is the longest month: an index may be created so long before the last I/O in it, and without a rollover
// min_age counts from its creation.
const month = 31 * 24 * time.Hour

// setupPolicy installs the lifecycle policy, if the cluster has lifecycle management.
func setupPolicy(ctx context.Context, c *client.Client, o SetupOptions, r *SetupReport) error {
	req := client.Request{
		Op:  "read lifecycle policy " + o.Prefix,
		API: esapi.ILMGetLifecycleRequest{Policy: o.Prefix},
	}
	var policies map[string]struct {
		Policy struct {
			Phases struct {
				Delete *struct {
					MinAge string `json:"min_age"`
				} `json:"delete"`
			} `json:"phases"`
		} `json:"policy"`
	}
	err := c.Call(ctx, req, &policies)
	var refused *client.RefusedError
	var no *client.ForbiddenError
	switch {
	case errors.As(err, &no) && no.Status == http.StatusForbidden && o.DeleteAfter == 0:
		r.warn(
			"lifecycle policy %q was not changed: that requires the cluster privilege manage_ilm; indices are never "+
				"deleted",
			o.Prefix,
		)
		return nil
	case errors.As(err, &refused) && refused.Status != http.StatusNotFound:
		// No such API: 400 or 405 in a build without the module.
		if o.DeleteAfter > 0 {
			r.warn("this cluster has no lifecycle management: nothing will be deleted")
		}
		return nil
	case err != nil && (refused == nil || refused.Type != "resource_not_found_exception"):
		return err
	}
	r.Lifecycle = true
	policy, exists := policies[o.Prefix]
	body, want := Policy(o.DeleteAfter)
	have := ""
	if d := policy.Policy.Phases.Delete; d != nil {
		have = d.MinAge
	}
	if exists && (o.DeleteAfter == 0 || want == have) {
		r.addPolicy(o, have, "unchanged")
		return nil
	}
	req.Op, req.API = "store lifecycle policy "+o.Prefix, esapi.ILMPutLifecycleRequest{Policy: o.Prefix}
	req.Body = esmodel.MustJSON(body)
	if err := c.Call(ctx, req, nil); err != nil {
		return err
	}
	r.addPolicy(o, want, done(exists))
	return nil
}

// Policy returns the lifecycle policy, and the min_age by which it deletes, "" if deleteAfter is not positive.
func Policy(deleteAfter time.Duration) (policy map[string]any, minAge string) {
	phases := map[string]any{"hot": map[string]any{"min_age": "0ms", "actions": map[string]any{}}}
	if deleteAfter > 0 {
		minAge = strconv.FormatInt(int64((deleteAfter+month)/time.Second), 10) + "s"
		phases["delete"] = map[string]any{"min_age": minAge, "actions": map[string]any{"delete": map[string]any{}}}
	}
	return map[string]any{"policy": map[string]any{
		"_meta":  map[string]any{"description": "indices of fiolat; see fiolat setup --help"},
		"phases": phases,
	}}, minAge
}

// addPolicy adds the lifecycle policy, with what its min_age means.
func (r *SetupReport) addPolicy(o SetupOptions, minAge, action string) {
	note := ": data is never deleted"
	switch {
	case o.DeleteAfter > 0:
		days := func(d time.Duration) string { return strconv.FormatFloat(math.Round(d.Hours()/2.4)/10, 'f', -1, 64) }
		note = fmt.Sprintf(": data is kept %s to %s days", days(o.DeleteAfter), days(o.DeleteAfter+month))
	case minAge != "":
		note = ": an index, of a month, is deleted " + minAge + " after it was created"
	}
	r.Items = append(r.Items, SetupItem{Type: "lifecycle policy", Name: o.Prefix, Action: action, Note: note})
}

func done(existed bool) string {
	if existed {
		return "updated"
	}
	return "created"
}

// storedTemplate is an index template as Elasticsearch shows it.
type storedTemplate struct {
	Name     string         `json:"name"`
	Template map[string]any `json:"index_template"`
}

// version returns _meta.fiolat.version of a template, 0 without one.
func (t storedTemplate) version() int {
	meta, _ := t.Template["_meta"].(map[string]any)
	return metaVersion(meta)
}

// shards returns the number of shards that the template sets, 0 if it sets none.
func (t storedTemplate) shards() (n int) {
	template, _ := t.Template["template"].(map[string]any)
	settings, _ := template["settings"].(map[string]any)
	index, _ := settings["index"].(map[string]any)
	n, _ = strconv.Atoi(fmt.Sprint(index["number_of_shards"]))
	return n
}

func (t storedTemplate) priority() float64 {
	p, _ := t.Template["priority"].(float64)
	return p
}

func (t storedTemplate) matches(index string) bool {
	patterns, _ := t.Template["index_patterns"].([]any)
	return slices.ContainsFunc(patterns, func(p any) bool {
		ok, _ := path.Match(fmt.Sprint(p), index)
		return ok
	})
}

func metaVersion(meta map[string]any) int {
	ours, _ := meta["fiolat"].(map[string]any)
	v, _ := ours["version"].(float64)
	return int(v)
}

// Templates returns the existing templates of a prefix, by name.
func Templates(ctx context.Context, c *client.Client, prefix string) (map[string]storedTemplate, error) {
	var reply struct {
		Templates []storedTemplate `json:"index_templates"`
	}
	err := c.Call(
		ctx,
		client.Request{Op: "read index templates", API: esapi.IndicesGetIndexTemplateRequest{Name: prefix + "-*"}},
		&reply,
	)
	var refused *client.RefusedError
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return nil, nil
	}
	out := map[string]storedTemplate{}
	for _, t := range reply.Templates {
		out[t.Name] = t
	}
	return out, err
}

func setupTemplate(
	ctx context.Context,
	c *client.Client,
	o SetupOptions,
	kind esmodel.Kind,
	there map[string]storedTemplate,
	r *SetupReport,
) error {
	name := o.Prefix + "-" + string(kind)
	have, exists := there[name]
	want, err := Template(o.Prefix, kind, r.Histogram, r.Lifecycle, cmp.Or(o.Shards, have.shards(), 1))
	if err != nil {
		return err
	}
	if exists && same(want, have.Template) {
		r.add("index template", name, "unchanged")
		return nil
	}
	if v := have.version(); v > esmodel.TemplateVersion {
		r.warn(
			"index template %s was made by a newer fiolat (template version %d, this one has %d) and was not changed",
			name,
			v,
			esmodel.TemplateVersion,
		)
		r.add("index template", name, "unchanged")
		return nil
	}
	store := func() error {
		return c.Call(ctx, client.Request{Op: "store index template " + name,
			API: esapi.IndicesPutIndexTemplateRequest{Name: name}, Body: esmodel.MustJSON(want)}, nil)
	}
	err = store()
	var refused *client.RefusedError
	if errors.As(err, &refused) && refused.Status == http.StatusBadRequest {
		if names := withoutSettings(want, refused.Reason); len(names) > 0 {
			if w := fmt.Sprintf("this cluster decides on the settings %s itself: the index templates are without them",
				strings.Join(names, ", ")); !slices.Contains(r.Warnings, w) {
				r.warn("%s", w)
			}
			err = store()
		}
	}
	if err != nil {
		return err
	}
	r.add("index template", name, done(exists))
	return nil
}

// settingName is an index setting in what a server says of a template.
var settingName = regexp.MustCompile(`\bindex(\.[a-z_]+)+`)

// withoutSettings removes the settings of a template that a server names, as Elastic Cloud Serverless does where it
// refuses them, and returns their names.
func withoutSettings(template map[string]any, reason string) (names []string) {
	settings := template["template"].(map[string]any)["settings"].(map[string]any)
	for _, name := range settingName.FindAllString(reason, -1) {
		path := strings.Split(name, ".")
		at := settings
		for _, p := range path[:len(path)-1] {
			at, _ = at[p].(map[string]any)
		}
		last := path[len(path)-1]
		if _, ok := at[last]; ok {
			delete(at, last)
			names = append(names, name)
		}
	}
	return names
}

// same compares a template with what the server returns for it, which has some numbers and booleans as strings,
// and more at the top level: dates, and what people may have added, such as components for their own settings.
func same(want, have map[string]any) bool {
	for k, v := range want {
		if Canonical(v) != Canonical(have[k]) {
			return false
		}
	}
	return true
}

// Canonical returns a text that is equal for values that Elasticsearch considers equal.
func Canonical(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, strconv.Quote(k)+":"+Canonical(v[k]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, Canonical(e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case float64:
		return strconv.Quote(strconv.FormatFloat(v, 'f', -1, 64))
	case bool:
		return strconv.Quote(strconv.FormatBool(v))
	case string:
		return strconv.Quote(v)
	}
	return "null"
}

// setupIndices creates an empty index of the current month for each kind that has none, and adds new fields to
// indices that were made from an older template, or from none. What can no longer be changed, or may not be, is
// a warning, because the templates are in place all the same.
//
// The index of runs is created here because an ingest with only its own privileges recognizes by it that the
// templates exist. The ingest must not create it, because without templates its fields would be guessed. The
// others are created because Kibana's data views get all of their fields only from an index.
func setupIndices(ctx context.Context, c *client.Client, o SetupOptions, r *SetupReport) error {
	prefix := o.Prefix
	var all []string
	for _, k := range esmodel.Kinds {
		all = append(all, esmodel.Pattern(prefix, k))
	}
	var indices map[string]struct {
		Mappings map[string]any `json:"mappings"`
	}
	err := c.Call(
		ctx,
		client.Request{
			Op:  "read mappings",
			API: esapi.IndicesGetMappingRequest{Index: all, IgnoreUnavailable: new(true), AllowNoIndices: new(true)},
		},
		&indices,
	)
	var no *client.ForbiddenError
	if errors.As(err, &no) && no.Status == http.StatusForbidden {
		r.warn("indices that exist already are not checked: %v", err)
	} else if err != nil {
		return err
	}
	newest := map[esmodel.Kind]string{}
	for _, name := range slices.Sorted(maps.Keys(indices)) {
		if kind, ok := esmodel.KindOf(prefix, name); ok {
			newest[kind] = name
		}
	}
	for _, kind := range esmodel.Kinds {
		if name, exists := newest[kind]; exists {
			r.add("index", name, "unchanged")
			continue
		}
		name := esmodel.Index(prefix, kind, o.Now.UnixNano())
		err := c.Call(
			ctx,
			client.Request{Op: "create index " + name, API: esapi.IndicesCreateRequest{Index: name}},
			nil,
		)
		var refused *client.RefusedError
		switch {
		case err == nil:
			r.add("index", name, "created")
		case errors.As(err, &refused) && refused.Type == "resource_already_exists_exception":
			r.add("index", name, "unchanged")
		case errors.As(err, &no) && no.Status == http.StatusForbidden && kind == esmodel.KindRun:
			r.warn("users who may not look at templates cannot ingest as long as there is no index %s: %v", name, err)
		case errors.As(err, &no) && no.Status == http.StatusForbidden:
			r.warn(
				"Kibana lacks most fields of %s until there is such an index: %v",
				esmodel.Pattern(prefix, kind),
				err,
			)
		default:
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(indices)) {
		kind, ok := esmodel.KindOf(prefix, name)
		have := indices[name].Mappings
		meta, _ := have["_meta"].(map[string]any)
		if !ok || metaVersion(meta) >= esmodel.TemplateVersion {
			continue
		}
		t, err := esmodel.Template(prefix, kind, r.Histogram, r.Lifecycle)
		if err != nil {
			return err
		}
		want := t["template"].(map[string]any)["mappings"].(map[string]any)
		want["properties"] = newFields(want["properties"], have["properties"])
		err = c.Call(
			ctx,
			client.Request{
				Op:   "update mapping of " + name,
				API:  esapi.IndicesPutMappingRequest{Index: []string{name}},
				Body: esmodel.MustJSON(want),
			},
			nil,
		)
		var refused *client.RefusedError
		switch {
		case err == nil:
			r.add("mapping", name, "updated")
		case errors.As(err, &refused), errors.As(err, &no):
			r.warn("index %s was made without these templates and keeps its fields: %v", name, err)
		default:
			return err
		}
	}
	return nil
}

// newFields returns the fields of a mapping that another does not have, or has with another type, which Elasticsearch
// then refuses. It would also refuse the whole mapping for one field that is there and is indexed in another way.
func newFields(want, have any) map[string]any {
	out := map[string]any{}
	there, _ := have.(map[string]any)
	for name, field := range want.(map[string]any) {
		f := maps.Clone(field.(map[string]any))
		old, exists := there[name].(map[string]any)
		if exists && f["properties"] != nil && old["properties"] != nil {
			f = map[string]any{"properties": newFields(f["properties"], old["properties"])}
		} else if exists && f["properties"] == nil && f["type"] == old["type"] {
			continue
		}
		out[name] = f
	}
	return out
}

// EnsureTemplates makes sure, before anything is indexed, that the templates exist: an index made without them
// has guessed fields forever. It installs what is missing if it may. For a user who may not read templates it
// checks whether the index of runs was made from ours. The error is errNoTemplates if they are missing and may
// not be installed.
func EnsureTemplates(ctx context.Context, c *client.Client, prefix string) (warnings []string, err error) {
	there, err := Templates(ctx, c, prefix)
	var no *client.ForbiddenError
	if errors.As(err, &no) && no.Status == http.StatusForbidden {
		return nil, ensureFromRuns(ctx, c, prefix, no)
	}
	if err != nil {
		return nil, err
	}
	missing, old := 0, 0
	for _, k := range esmodel.Kinds {
		t, ok := there[prefix+"-"+string(k)]
		if !ok {
			missing++
		} else if t.version() < esmodel.TemplateVersion {
			old++
		}
	}
	if missing+old == 0 {
		if warnings, err = c.CheckVersion(ctx); err != nil {
			return nil, err
		}
		if t := there[prefix+"-"+string(esmodel.KindHistogram)]; !strings.Contains(
			Canonical(t.Template),
			`"type":"histogram"`,
		) {
			warnings = append(warnings, noHistogram)
		}
		return warnings, nil
	}
	// The mappings of the indices in use are checked later.
	r, err := setup(ctx, c, SetupOptions{Prefix: prefix},
		func(context.Context, *client.Client, SetupOptions) error { return nil })
	if errors.As(err, &no) && no.Status == http.StatusForbidden {
		if missing > 0 {
			return r.Warnings, fmt.Errorf(
				"%w: run \"fiolat setup\" as a user with the required privileges: %w",
				errNoTemplates,
				err,
			)
		}
		return append(
			r.Warnings,
			"the index templates were made by an older fiolat: run \"fiolat setup\" as a user with the required "+
				"privileges",
		), nil
	}
	if r != nil {
		warnings = r.Warnings
	}
	return warnings, err
}

// ensureFromRuns checks whether the index of runs, which Setup creates, has our fields. It creates nothing,
// because without templates the index would have guessed fields.
func ensureFromRuns(ctx context.Context, c *client.Client, prefix string, because error) error {
	var reply struct {
		Fields map[string]map[string]struct {
			Meta map[string][]string `json:"meta"`
		} `json:"fields"`
	}
	index := esmodel.Index(prefix, esmodel.KindRun, 0)
	err := c.Call(
		ctx,
		client.Request{
			Op:  "read the fields of " + index,
			API: esapi.FieldCapsRequest{Index: []string{index}, Fields: []string{"run.id"}},
		},
		&reply,
	)
	var refused *client.RefusedError
	if err != nil && !(errors.As(err, &refused) && refused.Status == http.StatusNotFound) {
		return err
	}
	for _, f := range reply.Fields["run.id"] {
		if len(f.Meta["fiolat"]) > 0 {
			return nil
		}
	}
	return fmt.Errorf(
		"%w: run \"fiolat setup\" as a user with the required privileges: %w",
		errNoTemplates,
		because,
	)
}
