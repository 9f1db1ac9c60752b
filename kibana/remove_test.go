package kibana

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"fiolat/esmodel"
	"fiolat/esmodel/client"
)

// fioObjects are the objects of the bundle for the prefix fio.
func fioObjects(t *testing.T) []savedObject {
	t.Helper()
	b, err := bundle("fio")
	if err != nil {
		t.Fatal(err)
	}
	out, err := objects(b)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Whatever a bundle ever had stays in shipped.txt, so that an update can take it out.
func TestShipped(t *testing.T) {
	shipped, own := shippedObjects("fio"), fioObjects(t)
	for _, o := range own {
		if !shipped[o] {
			t.Errorf("%s %s is not in shipped.txt (make docs adds it)", o.Type, o.ID)
		}
	}
	if len(own) != 18 || len(shipped) < 60 {
		t.Errorf("%d objects in the bundle, %d in shipped.txt", len(own), len(shipped))
	}
}

func patient(t *testing.T, c Config) Config {
	t.Helper()
	client, err := client.HTTPClient(client.Config{Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	c.HTTP = client
	return c
}

// An update takes out what the new bundle lacks, such as charts that were objects of their own, and Remove all that was
// put there, in each space; what belongs to others stays.
func TestUpdateAndRemove(t *testing.T) {
	k := stub(t, nil)
	foreign := []map[string]any{
		{"space": "default", "type": "dashboard", "id": "fio-mine"},
		{"space": "default", "type": "dashboard", "id": "2c1b5a3e-0d9f-4a51-9f0e-6d8d3c0c6a01"}, // "Save as"
		{"space": "default", "type": "visualization", "id": "lab-run-read"},
		{"space": "perf-lab", "type": "lens", "id": "x"},
	}
	for range 2500 { // more than one page
		foreign = append(foreign, map[string]any{"space": "default", "type": "dashboard", "id": fmt.Sprint("d",
			len(foreign))})
	}
	k.objects = slices.Clone(foreign)
	k.objects = append(k.objects, map[string]any{"space": "default", "type": "visualization", "id": "fio-run-read"},
		map[string]any{"space": "other", "type": "lens", "id": "fio-run-jobs"},
		map[string]any{"space": "perf-lab", "type": "lens", "id": "new-0", "originId": "fio-run-jobs"})

	bundled := len(fioObjects(t))
	for i, space := range []string{"", "perf-lab", ""} {
		res, err := imported(t, Config{URL: k.URL, Space: space})
		if err != nil || res.Objects != bundled || res.Removed != []int{1, 1, 0}[i] || len(res.Warnings) > 0 {
			t.Fatalf("%q: %+v, %v", space, res, err)
		}
	}
	if n := len(k.names("perf-lab")); n != bundled+1 {
		t.Errorf("%d objects in the second space", n)
	}
	for _, space := range []string{"perf-lab", ""} {
		for _, want := range []int{bundled, 0} {
			objects, rules, err := Remove(t.Context(), patient(t, Config{URL: k.URL, Space: space}), "fio")
			if err != nil || objects != want || rules != 0 {
				t.Errorf("%q: %d objects and %d rules removed, %v", space, objects, rules, err)
			}
		}
	}
	if got := k.names("default"); len(got) != len(foreign)-1 {
		t.Errorf("%d objects are left, want %d", len(got), len(foreign)-1)
	}
	if got := k.names("perf-lab"); len(got) != 1 || got[0] != "lens x" {
		t.Errorf("%q are left", got)
	}
	if got := k.names("other"); len(got) != 1 {
		t.Errorf("of a space that was not named: %q", got)
	}
}

func TestRemoveTrouble(t *testing.T) {
	k := stub(t, nil)
	c := patient(t, Config{URL: k.URL})
	if _, err := imported(t, c); err != nil {
		t.Fatal(err)
	}
	k.objects[0]["shared"] = true
	objects, _, err := Remove(t.Context(), c, "fio")
	if err == nil || objects != len(fioObjects(t))-1 || !strings.Contains(err.Error(),
		"exists in multiple namespaces") || !strings.Contains(err.Error(), fmt.Sprint(k.objects[0]["id"])) {
		t.Errorf("%d, %v", objects, err)
	}
	k.refuse = map[string]int{"/api/saved_objects/_find": 403}
	if _, _, err := Remove(t.Context(), c, "fio"); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("may not look: %v", err)
	}
	if res, err := imported(t, c); err != nil || len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0],
		"older fiolat") {
		t.Errorf("an import by who may not look: %+v, %v", res, err)
	}
	k.refuse = map[string]int{"/api/alerting": 403}
	if _, _, err := Remove(t.Context(), c, "fio"); err == nil || !strings.Contains(err.Error(), "Stack Rules") {
		t.Errorf("may not remove rules: %v", err)
	}
}

func TestVersionAndSpace(t *testing.T) {
	for _, tt := range []struct {
		name, version, space string
		refuse               map[string]int
		fault, warning       string
	}{
		{"oldest", "8.12.0", "", nil, "", ""},
		{"newest", "9.4.1", "perf-lab", nil, "", ""},
		{"not told", "", "", nil, "", ""},
		{"too old", "8.11.4", "", nil, "is version 8.11.4; 8.12 or newer is required; update Kibana", ""},
		{"far too old", "7.17.0", "", nil, "update Kibana", ""},
		{"newer than known", "10.0.0", "", nil, "", "version 10.0.0 is newer"},
		{"no such space", "9.2.0", "perf-lob", nil, `has no space "perf-lob"; make it in Stack Management, Spaces`, ""},
		{"a space for others", "9.2.0", "perf-lab", map[string]int{"/api/spaces": 403},
			`does not let this user see the space "perf-lab" (403)`, ""},
		{"wrong password", "9.2.0", "perf-lab", map[string]int{"/api/spaces": 401},
			"requires authentication (401)", ""},
		{"starting", "9.2.0", "", map[string]int{"/api/status": 503}, "not ready (503)", ""},
		{"no Kibana", "9.2.0", "", map[string]int{"/api/status": 404}, "no Kibana", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := stub(t, nil)
			k.version, k.refuse = tt.version, tt.refuse
			res, err := imported(t, Config{URL: k.URL, Space: tt.space})
			if tt.fault != "" {
				var ie *ImportError
				if !errors.As(err, &ie) || !strings.Contains(err.Error(), tt.fault) || len(k.objects) > 0 {
					t.Errorf("%v, %d objects", err, len(k.objects))
				}
				return
			}
			if err != nil || strings.Join(res.Warnings, "") != "" && tt.warning == "" ||
				!strings.Contains(strings.Join(res.Warnings, ""), tt.warning) {
				t.Errorf("%+v, %v", res, err)
			}
		})
	}
}

// badRule is why Kibana refuses a rule, "" if it does not: unknown keys, or params that are
// not those of the type. x-pack/platform/plugins/shared/alerting/common/routes/rule/apis/create/schemas
// and x-pack/platform/plugins/shared/stack_alerts/server/rule_types/es_query/rule_type_params.ts.
// badUpdate says what the schema of an update, which is strict, refuses.
func badUpdate(rule map[string]any) string {
	allowed := []string{"actions", "alert_delay", "artifacts", "flapping", "name", "notify_when", "params", "schedule",
		"tags", "throttle"}
	for key := range rule {
		if !slices.Contains(allowed, key) {
			return "[request body." + key + "]: definition for this key is missing"
		}
	}
	for _, a := range rule["actions"].([]any) {
		if _, is := a.(map[string]any)["connector_type_id"]; is {
			return "[request body.actions.0.connector_type_id]: definition for this key is missing"
		}
	}
	return ""
}

func badRule(id string, rule map[string]any) string {
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(id) {
		return "the id is no UUID of version 4"
	}
	allowed := []string{"actions", "alert_delay", "consumer", "enabled", "name", "notify_when", "params",
		"rule_type_id", "schedule", "tags", "throttle"}
	for key := range rule {
		if !slices.Contains(allowed, key) {
			return "[request body." + key + "]: definition for this key is missing"
		}
	}
	params, _ := rule["params"].(map[string]any)
	for key, ok := range map[string]func(v any) bool{
		"size":           func(v any) bool { n, is := v.(float64); return is && n >= 0 && n <= 10000 },
		"timeWindowSize": func(v any) bool { n, is := v.(float64); return is && n >= 1 },
		"timeWindowUnit": func(v any) bool { return slices.Contains([]any{"s", "m", "h", "d"}, v) },
		"threshold":      func(v any) bool { n, is := v.([]any); return is && len(n) == 1 },
		"thresholdComparator": func(v any) bool {
			return slices.Contains([]any{">", "<", ">=", "<=", "between",
				"notBetween"}, v)
		},
		"aggType":  func(v any) bool { return v == "count" },
		"groupBy":  func(v any) bool { return v == "top" },
		"termSize": func(v any) bool { n, is := v.(float64); return is && n >= 1 && n <= 1000 },
		"termField": func(v any) bool { // at most four; of the rules' own events
			n, is := v.([]any)
			return is && len(n) == 2 && n[0] == "run.id" &&
				slices.Contains([]any{"sla.rule", "probe.target", "change.metric"}, n[1])
		},
		"searchType":                 func(v any) bool { return v == "esQuery" },
		"timeField":                  func(v any) bool { s, is := v.(string); return is && s != "" },
		"index":                      func(v any) bool { n, is := v.([]any); return is && len(n) > 0 },
		"excludeHitsFromPreviousRun": func(v any) bool { _, is := v.(bool); return is },
		"esQuery": func(v any) bool {
			var q map[string]any
			s, _ := v.(string)
			return json.Unmarshal([]byte(s), &q) == nil && q["query"] != nil
		},
	} {
		if !ok(params[key]) {
			return fmt.Sprintf("params invalid: [%s]: %v", key, params[key])
		}
		delete(params, key)
	}
	if len(params) > 0 {
		return fmt.Sprintf("params invalid: definition for %v is missing", params)
	}
	schedule, _ := rule["schedule"].(map[string]any)
	if rule["rule_type_id"] != ".es-query" || rule["consumer"] != "stackAlerts" || rule["name"] == "" ||
		schedule["interval"] != "1m" {
		return fmt.Sprint(rule)
	}
	return ""
}

func TestAlertRules(t *testing.T) {
	k := stub(t, nil)
	c := patient(t, Config{URL: k.URL})
	lab := patient(t, Config{URL: k.URL, Space: "perf-lab"})
	for i, tt := range []struct {
		c           Config
		prefix      string
		made, there int
	}{{c, "fio", 3, 0}, {c, "fio", 0, 3}, {lab, "fio", 3, 0}, {c, "lab", 3, 0}} {
		made, there, err := AlertRules(t.Context(), tt.c, tt.prefix)
		if err != nil || made != tt.made || there != tt.there {
			t.Errorf("%d: %d made, %d there, %v", i, made, there, err)
		}
	}
	for _, rule := range k.rules {
		if a, ok := rule["actions"].([]any); !ok || len(a) > 0 {
			t.Errorf("a connector is assumed: %v", rule)
		}
	}
	if _, rules, err := Remove(t.Context(), lab, "fio"); err != nil || rules != 3 || len(k.rules) != 6 {
		t.Errorf("%d removed, %d left, %v", rules, len(k.rules), err)
	}
	var asked []string
	for _, r := range alertRules("fio", "") {
		asked = append(asked, r.body["params"].(map[string]any)["esQuery"].(string))
	}
	for i, action := range []string{esmodel.ActionBreach, esmodel.ActionTrouble, esmodel.ActionChangePoint} {
		if !strings.Contains(asked[i], fmt.Sprintf(`"event.action":%q`, action)) {
			t.Errorf("%s does not ask for %s", asked[i], action)
		}
	}
	// A rule of an older fiolat, to which a user has added a connector, looks at when events were stored from now on.
	old := alertRules("fio", "")[0].id
	connector := map[string]any{"id": "mail", "group": "query matched", "params": map[string]any{"to": "me"},
		"connector_type_id": ".email"}
	k.rules[old]["params"].(map[string]any)["timeField"] = "@timestamp"
	k.rules[old]["name"], k.rules[old]["actions"] = "mine", []any{connector}
	_, there, err := AlertRules(t.Context(), c, "fio")
	got := k.rules[old]
	if err != nil || there != 3 || got["params"].(map[string]any)["timeField"] != "event.ingested" ||
		got["name"] != "mine" || len(got["actions"].([]any)) != 1 || got["enabled"] != true {
		t.Errorf("%d there, %v, %v", there, err, got)
	}
	for status, want := range map[int]string{403: "Stack Rules", 404: "switched off", 400: "refuses with 400"} {
		k.refuse = map[string]int{"/api/alerting": status}
		if _, _, err := AlertRules(t.Context(), c, "fio"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", status, err)
		}
	}
}
