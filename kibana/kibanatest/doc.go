// Package kibanatest models what Kibana's client does with saved objects, so that tests see what a user would: it
// opens dashboards, merges controls and queries, finds where links and drilldowns lead, builds the searches of Vega
// and Lens panels, and assigns the replies.
//
// Each rule cites its source in elastic/kibana. Paths are as in 8.12; from 9.0 on "src/plugins" is
// "src/platform/plugins/{shared,private}" and "x-pack/plugins" is "x-pack/platform/plugins/{shared,private}".
//
// Not modelled: the length of Lens's "auto" time buckets (the caller passes it), the second request of a "terms"
// column with an "Other" bucket, and how Lens draws.
package kibanatest
