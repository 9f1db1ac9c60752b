# The checks of this project, which CI runs, too. `make help` lists the targets, CONTRIBUTING.md explains them.

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# Tools have a separate module, to keep their dependencies out of fiolat's.
TOOL := go tool -modfile=$(CURDIR)/tools/go.mod

# Four packages at a time even on fewer cores, because many tests mostly wait. The timeout is for busy machines.
GOTEST := go test -p 4 -timeout 2h

FUZZTIME     ?= 10s# for each fuzz target
BENCH        ?= .# benchmarks to run, a regular expression
BENCHCOUNT   ?= 10
BENCH_PARTS  ?=# parts of bench, all if empty: bench/bench -h lists them
BENCH_ROWS   ?=# of these parts, races with a row that matches this regular expression
BENCH_ROUNDS ?= 5# of bench
MATRIX_RUNS  ?= 60
MATRIX_SEED  ?= 0# of matrix: 0 draws one
ORACLE_CASES ?= 500
MUTANTS      ?= 100
MUTANTS_SEED ?= fixed# a draw whose survivors are known; others only report
SCREENSHOTS  ?= screenshots# folder for screenshots
ES_SERVERS   ?= 8.19.0 9.5.3 8.19.0+security# for integration; +security is one with TLS, users and roles
ES_VERSION   ?= 8.19.0# for demo: or 9.5.3
CHAOS_SERVERS ?= 8.19.0 9.5.3 8.19.0+security 9.5.3+security# for chaos
CHAOS_RUN    ?= .# its faults to try, a regular expression

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build ./fiolat, static, without a Markdown parser that it would only start
	CGO_ENABLED=0 go build -trimpath -tags urfave_cli_no_docs -o fiolat ./cmd/fiolat

.PHONY: test
test: ## go vet and all unit tests, with few draws: no root, network, fio or Elasticsearch
	$(GOTEST) -short -vet=all ./...

# Where goroutines meet. Tests of what cmd/fiolat starts in other packages are in these.
MEET := ./esmodel/... ./ingest/fiolog ./ingest/source ./internal/alert ./internal/metrics ./internal/probe \
	./internal/ui ./pipeline/...

.PHONY: race
race: ## unit tests with the race detector where goroutines meet; and without AVX2 its substitutes
	@# What the race detector found is printed last, where a log that was cut short still has it.
	@reports=$$(mktemp -d); trap 'rm -rf "$$reports"' EXIT; set -x; export GORACE="log_path=$$reports/race"; \
	{ $(GOTEST) -short -race $(MEET) && \
		$(GOTEST) -short -race -run 'Live|Signal|Hangup|Interrupt' ./cmd/fiolat; } || { \
		set +x; head -n 100 "$$reports"/race.* 2>/dev/null; exit 1; }
	GODEBUG=cpu.avx2=off $(GOTEST) -short -count=1 ./fio/fiohist ./ingest/fiolog

.PHONY: arm64
arm64: ## tests of what reads logs, shares out and counts, built for arm64, under qemu-user
	GOARCH=arm64 $(GOTEST) -exec "$$(command -v qemu-aarch64-static || command -v qemu-aarch64)" \
		./fio/fiohist ./ingest/... ./pipeline/logs ./pipeline/intervals

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (10s)
	@grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sort | while IFS=: read -r file name; do \
		echo "$${file%/*} $${name#func }"; \
		go test -run '^$$' -fuzz "^$${name#func }$$" -fuzztime $(FUZZTIME) "$${file%/*}" </dev/null; \
	done

.PHONY: lint
lint: ## gofmt, staticcheck and others (tools/lint) over the code, shellcheck over the scripts
	bad=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$bad" ] || { echo "gofmt -w $$bad" >&2; exit 1; }
	go -C tools build -o $(CURDIR)/tools/lint/lint ./lint
	go vet -vettool=$(CURDIR)/tools/lint/lint -tags 'faults integration matrix oracle otava' ./...
	go -C scripts/bench vet -vettool=$(CURDIR)/tools/lint/lint ./...
	shellcheck .ci/run $$(grep -lsE -d skip '^#!.*bash' scripts/* examples/*)

.PHONY: pre
pre: ## before a commit: gofmt and lint, of the packages with changes alone; scripts/hooks has it as a hook of git
	@files=$$(git diff --name-only --diff-filter=d HEAD -- '*.go' ':!tools' ':!scripts/bench' ':!scripts/dist'); \
	[ -n "$$files" ] || exit 0; \
	bad=$$(gofmt -l $$files); [ -z "$$bad" ] || { echo "gofmt -w $$bad" >&2; exit 1; }; \
	go -C tools build -o $(CURDIR)/tools/lint/lint ./lint; \
	go vet -vettool=$(CURDIR)/tools/lint/lint -tags 'faults integration matrix oracle otava' \
		$$(dirname $$files | sort -u | sed 's|^|./|')

.PHONY: bench
bench: build ## fiolat against fio's programs, cat and plain senders, into docs/benchmarks.md; prints BENCH_PARTS alone
	go -C scripts/bench build -o $(CURDIR)/bench/ .
	bench/bench -parts '$(BENCH_PARTS)' -rows '$(BENCH_ROWS)' -rounds '$(BENCH_ROUNDS)'

.PHONY: bench-go
bench-go: ## Go benchmarks matching BENCH (all), BENCHCOUNT (10) runs, into bench/COMMIT.txt
	@mkdir -p bench
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(BENCHCOUNT) ./... | \
		tee bench/$$(git describe --always --dirty).txt

.PHONY: bench-cmp
bench-cmp: ## benchstat of two such files: make bench-cmp OLD=bench/A.txt NEW=bench/B.txt
	$(TOOL) benchstat $(OLD) $(NEW)

.PHONY: docs
docs: ## write the generated pages of docs/ anew
	go generate ./...

.PHONY: docs-check
docs-check: ## fail if the generated pages are not what the code generates
	@state() { git status --porcelain; git diff HEAD | git hash-object --stdin; }; \
	before=$$(state); $(MAKE) --no-print-directory docs; \
	if [ "$$before" != "$$(state)" ]; then git status --short; git --no-pager diff --stat; \
		echo 'docs-check: generated files are out of date: run `make docs` and commit what it changes' >&2; exit 1; fi

.PHONY: integration
integration: ## tests with fio, and against real Elasticsearch servers of the versions ES_SERVERS
	scripts/integration $(ES_SERVERS)

.PHONY: times
times: export FIOLAT_TEST_TIMES := 1
times: ## tests whose verdict depends on real times, for an idle machine: the probe, fio's I/Os one by one, live
	go test -count=1 -v -tags integration ./internal/probe
	go test -count=1 -v -tags integration -run '^TestFio(Accuracy|Rates|Starts)$$' ./pipeline/plan
	port=$$((10000 + $$$$ % 20000)); exports=$$(scripts/elasticsearch up --port $$port); \
	trap "scripts/elasticsearch down --port $$port" EXIT; eval "$$exports"; \
	go test -count=1 -v -tags integration -timeout 1h \
		-run '^TestServer(LiveInTime|LiveStraggler|SlowDisk|StoppedBindfs|InFlight)$$' ./cmd/fiolat

.PHONY: screenshots
screenshots: ## draw the report page and Kibana's panels in Chromium over real runs, into SCREENSHOTS (screenshots)
	@mkdir -p $(SCREENSHOTS)
	FIOLAT_SCREENSHOTS=$(abspath $(SCREENSHOTS)) go test -count=1 -tags integration \
		-run TestChromiumScreenshots ./report
	port=$$((10000 + $$$$ % 20000)); exports=$$(scripts/elasticsearch up --port $$port); \
	trap "scripts/elasticsearch down --port $$port" EXIT; eval "$$exports"; \
	FIOLAT_SCREENSHOTS=$(abspath $(SCREENSHOTS)) go test -count=1 -tags integration -run 'TestServerPanels/vega_in' ./kibana/gen

.PHONY: chaos
chaos: ## break CHAOS_SERVERS, and fiolat, in the ways of docs/data/chaos.csv (CHAOS_RUN), and write its rows (hours)
	FIOLAT_CHAOS_TABLE=$(CURDIR)/docs/data/chaos.csv FIOLAT_CHAOS_SERVERS='$(CHAOS_SERVERS)' \
		go test -count=1 -timeout 8h -v -tags integration -run 'TestChaos/.*/($(CHAOS_RUN))' ./internal/chaos

.PHONY: matrix
matrix: ## run fio with MATRIX_RUNS (60) random combinations of options, and check fiolat; prints its seed
	go test -count=1 -v -timeout 2h -tags matrix -run '^TestFio$$' ./internal/matrix \
		-random $(MATRIX_RUNS) -seed $(MATRIX_SEED)

.PHONY: same
same: ## compare what fiolat prints and writes with what it did at commit OLD (main), byte for byte
	go run ./scripts/samebytes -old '$(or $(OLD),main)'

.PHONY: mutants
mutants: ## change the code in MUTANTS (100) drawn places and see whether -short tests fail; MUTANTS_SEED draws others
	go run ./scripts/mutants -n $(MUTANTS) -seed '$(MUTANTS_SEED)'

.PHONY: oracle
oracle: ## compare analysis/like with fio's own programs on ORACLE_CASES (500) made-up inputs
	python=$$(scripts/oracle-python); FIOLAT_TEST_PYTHON=$$python FIOLAT_TEST_SIZE=$(ORACLE_CASES) \
		go test -count=1 -timeout 1h -tags oracle ./analysis/like

.PHONY: otava
otava: ## ask Apache Otava for the change points of made-up histories, and write them for the test of analysis/history
	python=$$(scripts/otava-python); FIOLAT_TEST_PYTHON=$$python \
		go test -count=1 -v -timeout 1h -tags otava -run TestOtava ./analysis/history

.PHONY: nightly
nightly: ## what is too long for check: fuzz, oracle, chaos, all draws and races, packages, arm64, Elasticsearch 9, R, Spark
	scripts/ci-deps nightly
	$(MAKE) --no-print-directory fuzz FUZZTIME=1m
	$(MAKE) --no-print-directory oracle
	$(MAKE) --no-print-directory mutants
	$(MAKE) --no-print-directory mutants MUTANTS_SEED=$$(date +%F)
	$(GOTEST) ./...
	FIOLAT_TEST_SIZE=1 $(GOTEST) -race ./...
	$(MAKE) --no-print-directory dist-check
	$(MAKE) --no-print-directory arm64
	FIOLAT_TEST_SIZE=1000 $(GOTEST) -count=1 ./analysis/compare ./fio/fiohist
	FIOLAT_TEST_SIZE=100 $(GOTEST) -count=1 ./analysis/diagnose ./internal/matrix ./fio/sla
	FIOLAT_TEST_SIZE=20 $(GOTEST) -count=1 -run '^TestGate$$' ./analysis/history
	FIOLAT_MUTATIONS=1000 $(GOTEST) -count=1 -run '^TestMutations$$' ./pipeline/plan
	$(GOTEST) -count=1 -tags faults -run '^TestSystemCalls$$' ./cmd/fiolat
	FIOLAT_TEST_SIZE=1 $(MAKE) --no-print-directory integration ES_SERVERS=9.5.3
	table=$$(mktemp); trap 'rm -f "$$table"' EXIT; \
	FIOLAT_CHAOS_TABLE=$$table go test -count=1 -timeout 4h -v -tags integration ./internal/chaos

.PHONY: sbom
sbom: build ## list what is in ./fiolat, as CycloneDX, into fiolat.cdx.json
	scripts/sbom fiolat >fiolat.cdx.json

.PHONY: dist
dist: ## build what is released into dist/, for amd64 and arm64: .tar.gz, .deb and .rpm, SBOMs, checksums
	go run -C scripts/dist . -root $(CURDIR) -out $(CURDIR)/dist

.PHONY: dist-check
dist-check: dist ## build it twice: the same bytes; and install, try and remove the .deb and the .rpm in an empty root
	scripts/dist/check dist

.PHONY: verify
verify: ## all modules, those of the tools too, are what go.sum says, and go.mod gives a reason for each
	@awk '/^\t/ && !/\/\/ ./ { print "go.mod: " $$1 " has no comment that says what it is for"; bad = 1 } \
		END { exit bad }' go.mod
	go mod verify
	go mod verify -modfile=tools/go.mod
	go -C scripts/dist mod verify

.PHONY: demo
demo: ## show fiolat at work on sample logs, with ES_VERSION
	scripts/demo $(ES_VERSION)

.PHONY: check
check: ci-deps verify ## what test leaves out: lint, race, integration, bench, docs-check, and that the tree is as it was
	@before=$$(git status --porcelain); \
	scripts/side-by-side integration 'race lint'; \
	go -C scripts/bench test -short ./...; \
	$(MAKE) --no-print-directory docs-check; \
	if [ "$$before" != "$$(git status --porcelain)" ]; then git status --short; \
		echo 'check: the run above changed files or left some: commit them or add them to .gitignore' >&2; exit 1; fi

.PHONY: ci-deps
ci-deps: ## install what check needs beside Go and is not here
	scripts/ci-deps
