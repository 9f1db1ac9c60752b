package main

// removed names what replaces the commands and flags of earlier versions, and the words that they took; of a single
// command also flags that only other commands have.
var removed = map[string]string{
	"--no-repair":                  "pass --repair no",
	"--offsets":                    "pass --offset @FILE",
	"setup --kibana-user":          "set KIBANA_USERNAME and KIBANA_PASSWORD, or pass --es-user",
	"setup --kibana-password-file": "set KIBANA_PASSWORD, or pass --es-password-file",
	"setup --kibana-api-key-file":  "set KIBANA_API_KEY, or pass --es-api-key-file",
	"setup --kibana-ca-cert":       "set KIBANA_CA_CERT, or pass --es-ca-cert",
	"inspect --percentiles":        "fiolat summary has the percentiles of a run",
	"inspect --by":                 "fiolat summary groups by hosts and jobs",
	"inspect --sla":                "fiolat percentiles judges SLA rules",
	"--dry-run":                    "only what sends documents or writes files has it",
	"--sla-file":                   "pass --sla @FILE",
	"completion":                   "packages complete commands and flags in a shell; CONTRIBUTING.md says how else",
	"diagnose --unit":              "each latency has its own unit; in --format json all are in ns",
	"explain":                      "fiolat inspect PATH has what docs/engines.md says of the engines of a run",
	"histogram --format hgrm":      "fiolat percentiles --interval run has the percentiles of the whole run",
	"histogram --format hlog":      "--format csv, ndjson and parquet have the buckets of each interval",
	"ingest --format parquet": "fiolat percentiles and fiolat histogram write rows and buckets as Parquet, and " +
		"--format ndjson the documents",
	"merge --slice": "merge without it; for more than one machine can merge, see docs/scale.md: " +
		"fiolat histogram --format parquet on each host, and one SQL query",
	"probe --baseline":      "it is gone: the data file keeps the expected times for the next probe; or use --window",
	"probe --block":         "it is gone: blocks have 1 MiB",
	"probe --deadline":      "it is gone: what takes 10 s or longer hangs",
	"probe --file":          "it is gone: the small file has 3901 bytes",
	"probe --pool":          "it is gone: each round makes one small file and deletes it",
	"probe --prepare":       "use --duration 1s: the first probe makes the data file",
	"probe --run-name":      "use --run-id or --label",
	"probe --save-baseline": "it is gone: the data file keeps the expected times for the next probe",
	"probe --seed":          "it is gone: blocks are chosen at random",
	"probe --slow":          "it is gone: slow is from 2 times the expected time, very slow from 5",
	"probe --very-slow":     "it is gone: slow is from 2 times the expected time, very slow from 5",
	"report --chart":        "a picture shows the percentiles over time; buttons on the page save each of its charts",
	"report --format":       "the name of the file says it: -o page.html, -o x.png or -o x.svg",
	"setup --rollup-after":  "let cron run fiolat rollup --older-than 720h --interval 1m",
	"summary --sla":         "pass --where 'read p99 < 5ms' for the runs that meet it, or fiolat PATH --sla RULE",
}
