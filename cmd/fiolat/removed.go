package main

// removed names what replaces the commands and flags of earlier versions, and the words that they took.
var removed = map[string]string{
	"completion":              "packages complete commands and flags in a shell; docs/install.md says how else",
	"explain":                 "fiolat inspect PATH has what docs/engines.md says of the engines of a run",
	"histogram --format hgrm": "fiolat percentiles --interval run has the percentiles of the whole run",
	"histogram --format hlog": "--format csv, ndjson and parquet have the buckets of each interval",
	"ingest --format parquet": "fiolat percentiles and fiolat histogram write rows and buckets as Parquet, and " +
		"--format ndjson the documents",
	"merge --slice": "merge without it; for more than one machine can merge, see docs/scale.md: " +
		"fiolat histogram --format parquet on each host, and one SQL query",
	"report --chart":       "a picture shows the percentiles over time; buttons on the page save each of its charts",
	"setup --rollup-after": "let cron run fiolat rollup --older-than 720h --interval 1m",
}
