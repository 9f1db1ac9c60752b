package indices

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
	"fiolat/esmodel/esmodeltest"
)

func actions(r *SetupReport) string {
	var out []string
	for _, i := range r.Items {
		out = append(out, i.Name+" "+i.Action)
	}
	return strings.Join(out, ", ")
}

func TestSetup(t *testing.T) {
	for _, o := range []esmodeltest.Options{{}, {Histogram: true}, {Histogram: true, Lifecycle: true}} {
		s := esmodeltest.New(t, o)
		c := testClient(t, client.Config{Addresses: []string{s.URL}})
		first, err := Setup(t.Context(), c, SetupOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if first.Histogram != o.Histogram || first.Lifecycle != o.Lifecycle ||
			len(first.Warnings) == 0 != o.Histogram ||
			strings.Contains(actions(first), "unchanged") {
			t.Errorf("%+v: %+v", o, first)
		}
		again, err := Setup(t.Context(), c, SetupOptions{})
		if err != nil || strings.Contains(actions(again), "created") || strings.Contains(actions(again), "updated") {
			t.Errorf("again: %s, %v", actions(again), err)
		}
		text := Canonical(s.Template("fio-histogram"))
		if strings.Contains(text, `"type":"histogram"`) != o.Histogram ||
			strings.Contains(text, `"lifecycle":{"name":"fio"}`) != o.Lifecycle ||
			!strings.Contains(text, `"number_of_shards":"1"`) || !strings.Contains(text, `"codec"`) {
			t.Errorf("%+v: %s", o, text)
		}
		if strings.Contains(Canonical(s.Template("fio-run")), "lifecycle") {
			t.Error("the index of runs would be deleted one day")
		}
		// What people change by hand comes back, and only that.
		s.Template("fio-run")["priority"] = 7.0
		third, err := Setup(t.Context(), c, SetupOptions{})
		if err != nil || strings.Count(actions(third), "updated") != 1 ||
			!strings.Contains(actions(third), "fio-run updated") {
			t.Errorf("%s, %v", actions(third), err)
		}
		for _, shards := range []int{4, 0} { // 0 keeps them
			if _, err := Setup(t.Context(), c, SetupOptions{Shards: shards}); err != nil ||
				!strings.Contains(Canonical(s.Template("fio-histogram")), `"number_of_shards":"4"`) ||
				!strings.Contains(Canonical(s.Template("fio-percentiles")), `"number_of_shards":"1"`) {
				t.Errorf("%d shards: %v", shards, err)
			}
		}
	}
}

func TestLifecycleNeverDeletesUnlessAsked(t *testing.T) {
	_, c := standIn(t)
	const day = 24 * time.Hour
	for _, step := range []struct {
		after          time.Duration
		action, minAge string
		note           string
	}{
		{0, "created", "", "never deleted"},
		{day, "updated", "2764800s", "kept 1 to 32 days"}, // 32 d: the index of a month is older than its last I/O
		{day, "unchanged", "2764800s", "kept 1 to 32 days"},
		{30 * day, "updated", "5270400s", "kept 30 to 61 days"},
		{0, "unchanged", "5270400s", "5270400s after it was created"}, // somebody asked for it once
		{-1, "updated", "", "never deleted"},
	} {
		r, err := Setup(t.Context(), c, SetupOptions{DeleteAfter: step.after})
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(r.Items, func(i SetupItem) bool { return i.Type == "lifecycle policy" })
		if at < 0 || r.Items[at].Action != step.action || !strings.Contains(r.Items[at].Note, step.note) {
			t.Errorf("%+v: %+v", step, r.Items)
		}
		var p map[string]struct {
			Policy struct {
				Phases map[string]struct {
					MinAge string `json:"min_age"`
				} `json:"phases"`
			} `json:"policy"`
		}
		err = c.Call(t.Context(), client.Request{Method: "GET", Path: "/_ilm/policy/fio"}, &p)
		if got := p["fio"].Policy.Phases["delete"].MinAge; err != nil || got != step.minAge {
			t.Errorf("%+v: the policy says %q, %v", step, got, err)
		}
	}
	none := esmodeltest.New(t, esmodeltest.Options{})
	c = testClient(t, client.Config{Addresses: []string{none.URL}})
	if r, err := Setup(t.Context(), c, SetupOptions{DeleteAfter: time.Hour}); err != nil ||
		!strings.Contains(strings.Join(r.Warnings, ""), "nothing will be deleted") {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestPolicyNotSeen: a 404 that does not say that there is no policy, as of a reply cut short, is not a cluster without
// policies.
func TestPolicyNotSeen(t *testing.T) {
	s, c := standIn(t)
	s.Inject(esmodeltest.Fault{Match: func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/_ilm/") },
		Reply: func(b []byte) []byte { return b[:len(b)/2] }})
	if r, err := Setup(t.Context(), c, SetupOptions{}); err == nil || len(r.Items) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Kibana knows a field only from an index: each kind has one from the first day on.
func TestSetupMakesFirstIndices(t *testing.T) {
	s, c := standIn(t)
	setup := func(day int) *SetupReport {
		t.Helper()
		r, err := Setup(t.Context(), c, SetupOptions{Now: time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	s.Inject(
		esmodeltest.Fault{
			Times:  -1,
			Status: 403,
			Type:   "security_exception",
			Reason: "action [x] is unauthorized for user [bob], this action is granted by the index privileges " +
				"[create_index,manage,all]",
			Match: func(r *http.Request) bool {
				return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "2026.11")
			},
		},
	)
	r := setup(1)
	if strings.Count(strings.Join(r.Warnings, "\n"), "until there is such an index") != 4 {
		t.Errorf("%+v", r)
	}
	s.Heal()
	if err := c.Call(t.Context(), client.Request{Method: "PUT", Path: "/fio-probe-2026.10"}, nil); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		day  int
		want string
	}{
		{30, "fio-run unchanged, fio-histogram-2026.11 created, fio-percentiles-2026.11 created, fio-probe-2026.10 " +
			"unchanged, fio-event-2026.11 created"},
		{31, "fio-run unchanged, fio-histogram-2026.11 unchanged, fio-percentiles-2026.11 unchanged, " +
			"fio-probe-2026.10 unchanged, fio-event-2026.11 unchanged"}, // 1 December
	} {
		if got := actions(setup(tt.day)); !strings.Contains(got, tt.want) {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

// An index from before the templates gets their fields, but none that it has, indexed in another way.
func TestSetupUpdatesIndices(t *testing.T) {
	_, c := standIn(t)
	for _, r := range []client.Request{
		{Method: "PUT", Path: "/fio-run"},
		{Method: "PUT", Path: "/fio-run/_mapping", Body: []byte(`{"properties":{"logs":{"properties":{"count":` +
			`{"type":"long"}}},"rolling":{"type":"keyword"}}}`)},
	} {
		if err := c.Call(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Setup(t.Context(), c, SetupOptions{})
	if err != nil || !strings.Contains(actions(r), "fio-run unchanged, fio-histogram-") ||
		!strings.HasSuffix(actions(r), "created, fio-run updated") {
		t.Errorf("%s, %v", actions(r), err)
	}
	r, err = Setup(t.Context(), c, SetupOptions{})
	if err != nil || strings.Contains(actions(r), "updated") {
		t.Errorf("%s, %v", actions(r), err)
	}
}

func noTemplates(r *http.Request) bool { return strings.Contains(r.URL.Path, "_index_template") }

// An ingest makes templates if it may; if it may not even look, it trusts an index
// of runs that was made from them, and nothing else.
func TestEnsureTemplates(t *testing.T) {
	const reason = "action [x] is unauthorized for user [bob], this action is granted by the cluster privileges " +
		"[manage_index_templates,manage,all]"
	no := func(match func(*http.Request) bool) esmodeltest.Fault {
		return esmodeltest.Fault{Times: -1, Status: 403, Type: "security_exception", Reason: reason, Match: match}
	}
	put := func(r *http.Request) bool { return noTemplates(r) && r.Method != http.MethodGet }
	t.Run("may", func(t *testing.T) {
		s, c := standIn(t)
		if _, err := EnsureTemplates(t.Context(), c, "fio"); err != nil || s.Template("fio-run") == nil {
			t.Error(err)
		}
		before := len(s.Requests("PUT"))
		if _, err := EnsureTemplates(t.Context(), c, "fio"); err != nil || len(s.Requests("PUT")) != before {
			t.Errorf("%v, %d", err, len(s.Requests("PUT"))-before)
		}
	})
	for name, match := range map[string]func(*http.Request) bool{"may not look": noTemplates, "may look": put} {
		t.Run(name, func(t *testing.T) {
			s, c := standIn(t)
			s.Inject(no(match))
			for range 2 {
				_, err := EnsureTemplates(t.Context(), c, "fio")
				var forbidden *client.ForbiddenError
				if !errors.Is(err, errNoTemplates) || !errors.As(err, &forbidden) ||
					forbidden.Privilege != "manage_index_templates" ||
					!strings.Contains(err.Error(), "fiolat setup") {
					t.Errorf("%v", err)
				}
			}
			s.Heal()
			if r, err := Setup(t.Context(), c, SetupOptions{}); err != nil {
				t.Errorf("%+v, %v", r, err)
			}
			s.Inject(no(match))
			if _, err := EnsureTemplates(t.Context(), c, "fio"); err != nil {
				t.Errorf("after setup: %v", err)
			}
		})
	}
	t.Run("without the histogram type", func(t *testing.T) {
		s := esmodeltest.New(t, esmodeltest.Options{})
		c := testClient(t, client.Config{Addresses: []string{s.URL}})
		for range 2 {
			if w, err := EnsureTemplates(t.Context(), c, "fio"); err != nil || len(w) != 1 ||
				!strings.Contains(w[0], "histogram") {
				t.Errorf("%q, %v", w, err)
			}
		}
	})
	t.Run("of another version", func(t *testing.T) {
		s, c := standIn(t)
		if _, err := Setup(t.Context(), c, SetupOptions{}); err != nil {
			t.Fatal(err)
		}
		version := func(v float64) {
			for _, k := range esmodel.Kinds {
				s.Template("fio-" + string(k))["_meta"] = map[string]any{"fiolat": map[string]any{"version": v}}
			}
		}
		version(esmodel.TemplateVersion + 1)
		if r, err := Setup(t.Context(), c, SetupOptions{}); err != nil || strings.Contains(actions(r), "updated") ||
			len(r.Warnings) != len(esmodel.Kinds) {
			t.Errorf("newer: %s, %v", actions(r), err)
		}
		version(0)
		if _, err := EnsureTemplates(t.Context(), c, "fio"); err != nil ||
			metaVersion(s.Template("fio-run")["_meta"].(map[string]any)) != esmodel.TemplateVersion {
			t.Errorf("older: %v", err)
		}
		version(0)
		s.Inject(no(put))
		if w, err := EnsureTemplates(t.Context(), c, "fio"); err != nil ||
			!strings.Contains(strings.Join(w, ""), "older fiolat") {
			t.Errorf("older, may not: %q, %v", w, err)
		}
	})
}

// TestOverride: another template may take the place of fiolat's if it maps its fields in the same way.
func TestOverride(t *testing.T) {
	settings := map[string]any{"index": map[string]any{"refresh_interval": "30s"}}
	ours, err := esmodel.Template("fio", esmodel.KindHistogram, true, true)
	if err != nil {
		t.Fatal(err)
	}
	same := ours["template"].(map[string]any)["mappings"]
	id := func(typ string) map[string]any {
		return map[string]any{"properties": map[string]any{"@timestamp": map[string]any{"type": "date"},
			"run": map[string]any{"properties": map[string]any{"id": map[string]any{"type": typ}}}}}
	}
	for _, tt := range []struct {
		name     string
		priority int
		template map[string]any
		field    string
	}{
		{"other type", 500, map[string]any{"mappings": id("text")}, "fio.bs.type"},
		{"no mappings", 500, map[string]any{"settings": settings}, "@timestamp.type"},
		{"lower priority", 300, map[string]any{"mappings": id("text")}, ""},
		{"the same mappings with more settings", 500, map[string]any{"mappings": same, "settings": settings}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, c := standIn(t)
			if err := c.Call(t.Context(), client.Request{Method: "PUT", Path: "/_index_template/other",
				Body: esmodel.MustJSON(map[string]any{"index_patterns": []string{"fio-histogram-*"},
					"priority": tt.priority, "template": tt.template})}, nil); err != nil {
				t.Fatal(err)
			}
			_, err := Setup(t.Context(), c, SetupOptions{})
			var o *OverrideError
			if tt.field == "" && err != nil ||
				tt.field != "" && (!errors.As(err, &o) || *o != OverrideError{"fio-histogram", "other", tt.field}) {
				t.Errorf("%v", err)
			}
			if n := len(s.Requests("PUT /fio-histogram-")); n == 1 == (tt.field != "") {
				t.Errorf("%d indices made", n)
			}
		})
	}
}

// TestSetupMayNotReadMappings: who may not read mappings is told that no index was checked; other errors end setup.
func TestSetupMayNotReadMappings(t *testing.T) {
	for _, tt := range []struct {
		status int
		warned bool
	}{{403, true}, {400, false}} {
		s, c := standIn(t)
		s.Inject(esmodeltest.Fault{Times: -1, Status: tt.status, Type: "security_exception", Reason: "no",
			Match: func(r *http.Request) bool {
				return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/_mapping")
			}})
		r, err := Setup(t.Context(), c, SetupOptions{})
		said := strings.Contains(strings.Join(r.Warnings, "\n"), "indices that exist already are not checked: ")
		if said != tt.warned || (err == nil) != tt.warned {
			t.Errorf("%d: %v, warned of %q", tt.status, err, r.Warnings)
		}
	}
}
