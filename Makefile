# `make help` explains itself: it prints what stands after ## on a target's line.
.DEFAULT_GOAL := help
.PHONY: docs help run try-slack try-discord test race fuzz mutate breaks chaos simulate bench chart lint fmt build install dist release reproducible ci update

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
DIST ?= dist
CYCLONEDX := github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0

HELM := helm.sh/helm/v3/cmd/helm@v3.21.4
HUGO := github.com/gohugoio/hugo@v0.163.0
GOLANGCI := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
FUZZTIME ?= 30s
TRIM ?= -trimpath

help: ## print this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## start the demo, then open http://127.0.0.1:8080
	go run -v ./cmd/bot

try-slack: ## nod in a stand-in Slack, without an account: open http://127.0.0.1:8091
	go run -v ./tests/standins/fakeslack/cmd -bot

try-discord: ## nod on a stand-in Discord, without an account: open http://127.0.0.1:8092
	go run -v ./tests/standins/fakediscord/cmd -bot

test: ## all tests; what needs more than Go says so and skips
	go test ./...

race: ## all tests with the race detector (needs a C compiler)
	go test -race ./...

fuzz: ## every fuzz target for FUZZTIME (30s) each
	@go list ./... | while read -r p; do \
		go test -list '^Fuzz' "$$p" | grep '^Fuzz' | while read -r f; do \
			echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) "$$p" || exit 1; \
		done || exit 1; \
	done

mutate: ## take each guard of what decides out: some test must notice (hours; SINCE=main: only guards on lines that changed since)
	go run ./tests/tools/mutate -all -within 3h $(if $(SINCE),-since $(SINCE)) $(MUTATE)

breaks: ## take a guard out for each row of tests/suites/attacks: the row must fail (an hour)
	@grep -v '^#\|^[0-9]* - ' tests/suites/attacks/breaks.txt | while read -r row guard; do \
		go run ./tests/tools/mutate -entry "$$guard" -test ./tests/suites/attacks -run '^TestAttacks$$' -args "-test.run=TestAttacks/^$$row-" -timeout 4m </dev/null || exit 1; \
	done

chaos: ## kill, stop and cut off bots and Redis for CHAOS (5m) on each kind of store while people ask and answer; prints what was lost, run twice or stuck
	go test -count=1 -v -timeout 24h ./tests/suites/e2e -run 'TestChaos$$' -chaos $(or $(CHAOS),5m) -chaos.on $(or $(ON),all)

simulate: ## SEEDS (100000) stories of several replicas in which everything breaks, from seed FROM on; the first that goes wrong is told in full
	go test -count=1 -timeout 240h ./tests/suites/simulation -seeds $(or $(SEEDS),100000) -from $(or $(FROM),1)

bench: ## edits, lag and 429s against the stand-in Slack at its floors, minutes long; BENCH='-run P2 -quick -v' to choose (needs redis-server)
	go run ./tests/tools/bench $(BENCH)

chart: ## have Helm itself lint the chart and render what tests compare theirs with; run it after each change there (compiles for minutes)
	@go run $(HELM) lint --strict deploy/helm/nod
	@go run $(HELM) template bot deploy/helm/nod --kube-version 1.30 --set serviceMonitor.enabled=true >cmd/bot/testdata/helm.yaml

docs: ## the documentation as a static site in DIST/site; a link to a page that is not there is an error (compiles for minutes)
	@rm -rf "$(DIST)/site" && go run $(HUGO) --quiet --panicOnWarning --noBuildLock --source docs/site --destination "$(abspath $(DIST))/site"
	@echo "$(DIST)/site/index.html"

lint: ## gofmt, go vet and golangci-lint, each rule with its reason in .golangci.yml
	@test -z "$$(gofmt -l .)" || { gofmt -l .; exit 1; }
	go vet ./...
	go run $(GOLANGCI) run ./...

fmt: ## gofmt everything
	gofmt -w .

build: ## one static program in bin/nod
	CGO_ENABLED=0 go build -trimpath -o bin/nod ./cmd/bot

install: ## nod where go install puts programs: GOBIN, or bin in GOPATH
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o "$$(go env GOBIN | grep . || echo "$$(go env GOPATH)/bin")/nod$$(go env GOEXE)" ./cmd/bot

update: ## write golden files anew; read the diff before you commit it
	go test ./cmd/bot/config ./core/agent/turn -update
	go test ./tests/suites/replicas -run SettingsShow -update-shown
	go test ./adapters/slack/blocks -run "Shapes|Views|Notes" -update-shapes
	go test ./adapters/slack/doctor ./adapters/discord/doctor -run Manifest -update-manifest
	go test ./adapters/discord/components -run "Shapes|Views|Notes|Details" -update-shapes
	go test ./tests/suites/e2e -run Transcripts -update-transcripts
	go test ./tests/suites/e2e -run 'Tasks$$' -update-tasks
	go test ./adapters/web -run 'Cards$$' -update-cards
	go test ./tests/standins/fakeslack/cmd ./tests/standins/fakediscord/cmd -run Cards -update-cards
	go test ./adapters/web -run Golden -update
	go test ./adapters/web -run OpenAPI -update-openapi
	go test ./tests/suites/e2e -run Picture -update-picture

dist: ## nod for each of PLATFORMS in DIST: static programs that say VERSION, with their checksums
	@rm -rf "$(DIST)" && mkdir -p "$(DIST)"
	@for platform in $(PLATFORMS); do \
		os=$${platform%/*}; arch=$${platform#*/}; suffix=; [ "$$os" != windows ] || suffix=.exe; \
		echo "$(DIST)/nod-$(VERSION)-$$os-$$arch$$suffix"; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch go build $(TRIM) -ldflags "-s -w -X main.version=$(VERSION)" -o "$(DIST)/nod-$(VERSION)-$$os-$$arch$$suffix" ./cmd/bot || exit 1; \
	done
	@cd "$(DIST)" && sha256sum nod-* >SHA256SUMS

release: dist ## dist, and what is in each program as an SBOM (CycloneDX): commit and tag first, VERSION is the tag
	@for program in $$(cd "$(DIST)" && ls | grep -v SHA256SUMS); do \
		go run $(CYCLONEDX) bin -json -noserial -std -version "$(VERSION)" -output "$(DIST)/$$program.cdx.json" "$(DIST)/$$program" || exit 1; \
	done
	@cd "$(DIST)" && sha256sum nod-* >SHA256SUMS

reproducible: ## build PLATFORMS again, from a copy in another place and from nothing: the programs must be equal (minutes; commit first)
	@copy=$$(mktemp -d); trap 'rm -rf "$$copy"' EXIT; \
		git clone -q . "$$copy/nod" && $(MAKE) -s dist DIST="$$copy/one" && GOCACHE="$$copy/cache" $(MAKE) -s -C "$$copy/nod" dist VERSION="$(VERSION)" DIST="$$copy/two" && \
		diff "$$copy/one/SHA256SUMS" "$$copy/two/SHA256SUMS" && echo "equal"

ci: ## what CI runs: on Debian, as root, it installs what it needs
	.ci/run
