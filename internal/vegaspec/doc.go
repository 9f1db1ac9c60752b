// Package vegaspec draws: it writes the Vega-Lite specifications of fiolat's charts,
// which Kibana's panels and the report page share, and holds the libraries that draw
// them (folder js, embedded).
//
// A chart is a builder that takes Data, which says where rows come from and how they
// become the rows that this chart wants: those of Elasticsearch's aggregations in a
// panel of Kibana, the page's own in a report. Latencies are nanoseconds, times are
// milliseconds, since 1970 or since the run's start (Axis).
//
// It refuses to compute statistics: percentiles arrive as numbers and are never
// averaged or interpolated here.
package vegaspec
