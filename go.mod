module fiolat

go 1.26.0

require (
	codeberg.org/go-fonts/liberation v0.5.0 // pictures: their letters
	github.com/cenkalti/backoff/v5 v5.0.3 // pauses between attempts: exponential, with jitter
	github.com/chromedp/cdproto v0.159.0 // tests: names of what chromedp sends to the browser
	github.com/chromedp/chromedp v0.22.1 // tests: a real browser draws the charts
	github.com/elastic/elastic-transport-go/v8 v8.9.0 // several nodes, credentials
	github.com/elastic/go-elasticsearch/v8 v8.19.7 // requests (esapi); its root package would add 800 packages to compile
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // histograms read back, in half the time of encoding/json
	github.com/klauspost/compress v1.20.4 // zstd and gzip, read and written fast
	github.com/parquet-go/parquet-go v0.25.1 // Parquet; v0.32 makes the binary 2.8 MB larger
	github.com/prometheus/client_golang v1.23.2 // metrics in the formats that Prometheus and node_exporter read
	github.com/prometheus/client_model v0.6.2 // native histograms
	github.com/prometheus/common v0.66.1 // tests: the parser of that text
	github.com/rogpeppe/go-internal v1.16.0 // tests: whole commands as scripts, with what they print (testscript)
	github.com/schollz/progressbar/v3 v3.19.1 // the bar on a terminal
	github.com/tdewolff/minify/v2 v2.24.25 // tests: scripts and styles of pages without what only their readers need, at go generate
	github.com/urfave/cli/v2 v2.27.7 // commands, flags, help
	go.uber.org/goleak v1.3.0 // tests: no goroutine is left behind
	golang.org/x/image v0.30.0 // pictures: reads the font
	golang.org/x/sync v0.25.0 // errgroup: workers and their first error; singleflight: one request for many who need it
	golang.org/x/sys v0.50.0 // probe: advice about the cache, free space, names of errors; ingest, fiohist: what the processor can do
	golang.org/x/term v0.48.0 // is standard error a terminal?
	gonum.org/v1/gonum v0.17.0 // incomplete beta function: tails of the binomial and of Student's distribution
	gonum.org/v1/plot v0.17.0 // pictures: one canvas for SVG and PNG (vg); its package plot adds 5 MB of fonts
)

require (
	codeberg.org/go-latex/latex v0.2.0 // indirect
	git.sr.ht/~sbinet/gg v0.7.0 // indirect
	github.com/ajstarks/svgo v0.0.0-20211024235047-1546f124cd8b // indirect
	github.com/andybalholm/brotli v1.1.0 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/cpuguy83/go-md2man/v2 v2.0.7 // indirect
	github.com/go-logr/logr v1.4.3 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/golang/freetype v0.0.0-20170609003504-e2365dfdc4a0 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/kr/text v0.2.0 // indirect
	github.com/mitchellh/colorstring v0.0.0-20190213212951-d06e56a500db // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/pierrec/lz4/v4 v4.1.21 // indirect
	github.com/prometheus/procfs v0.16.1 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/russross/blackfriday/v2 v2.1.0 // indirect
	github.com/tdewolff/parse/v2 v2.8.20 // indirect
	github.com/xrash/smetrics v0.0.0-20240521201337-686a1a2994c1 // indirect
	go.opentelemetry.io/otel v1.29.0 // indirect
	go.opentelemetry.io/otel/metric v1.29.0 // indirect
	go.opentelemetry.io/otel/trace v1.29.0 // indirect
	go.yaml.in/yaml/v2 v2.4.2 // indirect
	golang.org/x/text v0.28.0 // indirect
	golang.org/x/tools v0.36.0 // indirect
	google.golang.org/protobuf v1.36.8 // indirect
)
