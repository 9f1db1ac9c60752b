// Package kibana makes the saved objects that show fiolat's documents in Kibana 8.12
// to 9.x: data views, charts and ten dashboards, as NDJSON for Kibana's import, and
// imports them.
//
// Objects are built from Go types, one for each thing that Kibana stores, with the
// same bytes each time. They are written in the oldest form that Kibana 8.12 reads,
// which later versions upgrade when they read it; Versions of types are therefore
// constants here and never those of the Kibana at hand.
//
// It refuses to average percentiles. Percentile documents are exact, so a panel over
// them picks one scope, and over several quanta shows the worst of them and says so.
// Percentiles over any choice of hosts, jobs and times come from the histogram field,
// always with HDR, for T-Digest can be far off on latencies with several humps.
package kibana
