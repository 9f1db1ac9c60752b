// Package kibana builds the saved objects that show fiolat's documents in Kibana 8.12 to 9.x (data views, charts and
// ten dashboards), writes them as NDJSON for Kibana's import, and imports them.
//
// The output is deterministic. Objects have the oldest format that Kibana 8.12 reads; later versions migrate it on
// import. The type versions are therefore constants and do not depend on the Kibana at hand.
//
// No panel averages percentiles, except that a point of the load curve is the geometric mean of the runs of a setting.
// Percentile documents are exact: a panel over them selects one scope, and where a point covers several quanta it
// shows the worst of them and says so. Percentiles over any selection of hosts, jobs and times come from the histogram
// field, always with HDR, because T-Digest can be far off on multimodal latencies.
package kibana
