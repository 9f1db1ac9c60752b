package kibana

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// alertRule is a rule of Kibana's alerting.
type alertRule struct {
	id   string // a UUID
	body map[string]any
}

// alertWindow is how far back a rule looks, in minutes of timeField: when an event was stored. Its @timestamp is when
// the breach or trouble began, which may be long ago when a run is ingested.
const (
	alertWindow = 15
	timeField   = "event.ingested"
)

// alertGroups is the number of alerts of a rule at a time; Kibana takes up to 1,000.
const alertGroups = 100

// alertRules returns the rules for the events of a prefix: for SLA breaches, for trouble that the probe finds, and for
// changes for the worse that history has stored. They run every minute and have no actions; users add connectors. Ids
// depend on the space because a rule's id must be
// unique across all spaces.
func alertRules(prefix, space string) []alertRule {
	space = cmp.Or(space, "default")
	var out []alertRule
	type object = map[string]any
	rate := object{"wildcard": object{"change.metric": "*iops"}} // of all metrics only rates are better if higher
	worse := []object{{"bool": object{"should": []object{
		{"bool": object{"filter": []object{rate, {"range": object{"change.share": object{"lt": 0}}}}}},
		{"bool": object{"must_not": rate, "filter": object{"range": object{"change.share": object{"gt": 0}}}}},
	}}}}
	for _, r := range []struct {
		name, action, of string
		only             []object
	}{
		{"SLA broken", "sla-breach", "sla.rule", nil},
		{"the probe finds trouble", "probe-trouble", "probe.target", nil},
		{"a run is slower than those before", "change-point", "change.metric", worse},
	} {
		// Marshal cannot fail: values are strings and numbers.
		query := object{"term": object{"event.action": r.action}}
		if r.only != nil {
			query = object{"bool": object{"filter": append([]object{query}, r.only...)}}
		}
		text, _ := json.Marshal(object{"query": query})
		sum := sha256.Sum256(fmt.Appendf(nil, "fiolat alert rule 1\x00%s\x00%s\x00%s", prefix, space, r.action))
		sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80 // version 4
		out = append(out, alertRule{
			id: fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]),
			body: map[string]any{
				"name": prefix + ": " + r.name, "tags": []string{"fiolat"}, "enabled": true,
				"rule_type_id": ".es-query", "consumer": "stackAlerts", "schedule": map[string]any{"interval": "1m"},
				"actions": []any{},
				"params": map[string]any{
					"searchType": "esQuery", "index": []string{prefix + "-event-*"}, "timeField": timeField,
					"esQuery": string(text),
					"size":    100, "timeWindowSize": alertWindow, "timeWindowUnit": "m", "threshold": []int{0},
					"thresholdComparator": ">",
					"aggType":             "count",
					// An alert for each run and rule, or run and target: one that is there would hide the next.
					"groupBy": "top", "termField": []string{"run.id", r.of}, "termSize": alertGroups,
					// true would miss events that began before the latest one of the previous run.
					"excludeHitsFromPreviousRun": false,
				},
			},
		})
	}
	return out
}

// AlertRules creates the alert rules for the events of a prefix. It returns how many it created and how many existed.
// Existing rules stay unchanged, as users add connectors to them, but those of an older fiolat, which look at
// @timestamp, look at event.ingested from then on. Errors are as of Import.
func AlertRules(ctx context.Context, c Config, prefix string) (made, there int, err error) {
	k, err := c.connect(ctx)
	if err != nil {
		return 0, 0, err
	}
	for _, r := range alertRules(prefix, c.Space) {
		body, err := json.Marshal(r.body)
		if err != nil {
			return made, there, err
		}
		var reply struct{ ID string }
		err = k.call(ctx, apiCall{method: http.MethodPost, path: "/api/alerting/rule/" + r.id, body: body}, &reply)
		var refused *ImportError
		switch {
		case err == nil && reply.ID == r.id:
			made++
		case err == nil:
			return made, there, &ImportError{Msg: fmt.Sprintf("%s answers 200, but made no rule %s", k, r.id),
				Hint: "is that the address of Kibana?"}
		case errors.As(err, &refused) && refused.status == http.StatusConflict:
			there++
			if err = k.renew(ctx, r.id); err != nil {
				return made, there, err
			}
		case errors.As(err, &refused) && refused.status == http.StatusNotFound:
			refused.Hint = "is alerting switched off in this Kibana?"
			return made, there, err
		default:
			return made, there, err
		}
	}
	return made, there, nil
}

// kept are the parts of a rule that an update must repeat, as far as Kibana has them.
var kept = []string{"name", "tags", "schedule", "throttle", "notify_when", "params", "actions", "alert_delay",
	"flapping", "artifacts"}

// renew makes a rule that looks at @timestamp look at when events were stored, and leaves all else in it as it is.
func (k *conn) renew(ctx context.Context, id string) error {
	path := "/api/alerting/rule/" + id
	var rule map[string]any
	if err := k.call(ctx, apiCall{method: http.MethodGet, path: path}, &rule); err != nil {
		return err
	}
	params, _ := rule["params"].(map[string]any)
	if params["timeField"] != "@timestamp" {
		return nil
	}
	params["timeField"] = timeField
	actions, _ := rule["actions"].([]any)
	for _, a := range actions {
		if a, ok := a.(map[string]any); ok {
			delete(a, "connector_type_id") // only in replies
		}
	}
	update := map[string]any{}
	for _, name := range kept {
		if v, ok := rule[name]; ok {
			update[name] = v
		}
	}
	body, err := json.Marshal(update)
	if err != nil {
		return err
	}
	return k.call(ctx, apiCall{method: http.MethodPut, path: path, body: body}, nil)
}
