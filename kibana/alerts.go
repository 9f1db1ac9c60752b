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

// alertWindow is how far back a rule looks, in minutes. An event has the time at which the breach or trouble began,
// but is indexed only once that is certain.
const alertWindow = 15

// alertGroups is the number of alerts of a rule at a time; Kibana takes up to 1,000.
const alertGroups = 100

// alertRules returns the rules for the events of a prefix: one for SLA breaches, one for trouble that the probe finds.
// Both run every minute and have no actions; users add connectors. Ids depend on the space because a rule's id must be
// unique across all spaces.
func alertRules(prefix, space string) []alertRule {
	space = cmp.Or(space, "default")
	var out []alertRule
	for _, r := range []struct{ name, action, of string }{
		{"SLA broken", "sla-breach", "sla.rule"},
		{"the probe finds trouble", "probe-trouble", "probe.target"},
	} {
		// Marshal cannot fail: all values are strings.
		term := map[string]any{"event.action": r.action}
		query, _ := json.Marshal(map[string]any{"query": map[string]any{"term": term}})
		sum := sha256.Sum256(fmt.Appendf(nil, "fiolat alert rule 1\x00%s\x00%s\x00%s", prefix, space, r.action))
		sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80 // version 4
		out = append(out, alertRule{
			id: fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]),
			body: map[string]any{
				"name": prefix + ": " + r.name, "tags": []string{"fiolat"}, "enabled": true,
				"rule_type_id": ".es-query", "consumer": "stackAlerts", "schedule": map[string]any{"interval": "1m"},
				"actions": []any{},
				"params": map[string]any{
					"searchType": "esQuery", "index": []string{prefix + "-event-*"}, "timeField": "@timestamp",
					"esQuery": string(query),
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
// Existing rules stay unchanged, as users add connectors to them. Errors are as of Import.
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
		case errors.As(err, &refused) && refused.status == http.StatusNotFound:
			refused.Hint = "is alerting switched off in this Kibana?"
			return made, there, err
		default:
			return made, there, err
		}
	}
	return made, there, nil
}
