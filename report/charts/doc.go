// Package charts builds the Vega-Lite specifications of fiolat's charts, which Kibana's panels and the report page
// share, and embeds the JavaScript libraries that draw them (folder js).
//
// A chart is a struct whose Data says where rows come from and how to transform them into those that the chart needs:
// Elasticsearch's aggregations in a Kibana panel, the page's own data in a report. Latencies are in nanoseconds, times
// in milliseconds since 1970 or since the run's start (Axis).
//
// Charts compute no statistics: percentiles arrive as numbers and are never averaged or interpolated. The exception is
// LoadCurve, whose points are geometric means of runs.
package charts
