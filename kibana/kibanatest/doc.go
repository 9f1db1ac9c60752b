// Package kibanatest does with saved objects what Kibana's client does with them, so that tests can see what
// a user of Kibana would: it opens dashboards, merges filters, controls and queries, follows links and
// drilldowns, makes the searches of Vega and Lens panels, and assigns the answers.
//
// Each rule says where in elastic/kibana it was read. Paths are those of 8.12; from 9.0 on "src/plugins" is
// "src/platform/plugins/{shared,private}" and "x-pack/plugins" is "x-pack/platform/plugins/{shared,private}".
//
// Not modelled: the length of time buckets that Lens calls "auto" (the caller says it), the second request of
// a "terms" column with an "Other" bucket, and how Lens draws.
package kibanatest
