package main

// removed names what replaces the flags of earlier versions, and the words that they took.
var removed = map[string]string{
	"histogram --format hgrm": "fiolat percentiles --interval run has the percentiles of the whole run",
	"histogram --format hlog": "--format csv, ndjson and parquet have the buckets of each interval",
	"merge --slice": "merge without it; for more than one machine can merge, see docs/scale.md: " +
		"fiolat histogram --format parquet on each host, and one SQL query",
}
