# make help lists the targets.

FUZZTIME ?= 30s

.PHONY: help test test-postgres test-codex race lint fuzz bench soak start eval requirements generate refresh ci

help: ## list the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

test: ## the tests; FORGE_CORPUS=DIR adds those that read session files
	go test ./...

race: ## the tests under the race detector
	go test -race -timeout 20m ./...

lint: ## gofmt, go vet, staticcheck, go mod tidy
	test -z "$$(gofmt -l .)"
	go vet ./...
	go tool -modfile=tools/go.mod staticcheck ./...
	go mod tidy -diff
	go -C tools mod tidy -diff
	go -C internal/sdkoracle mod tidy -diff

fuzz: ## every fuzz target for FUZZTIME (30s)
	.ci/fuzz $(FUZZTIME)

bench: ## benchmarks, one thread
	GOMAXPROCS=1 go test -run '^$$' -bench . -benchmem ./...

test-postgres: ## the session store and the queue of trials on PostgreSQL, with a server of its own (Debian: apt-get install postgresql)
	.ci/postgres go test -p 1 ./session/pgstore ./internal/eval/live/queue

test-codex: ## the Codex engine against the real program, which npm installs into a cache folder
	FORGE_CODEX_PATH="$$(.ci/codex)" go test ./codexapp

SOAKSEED ?= $(shell date +%s)

soak: ## the tests with large inputs and counts; takes long. SOAKSEED repeats a run
	@echo "seed $(SOAKSEED)"
	go test ./contextwindow -run TestCompactProperties -rapid.checks=100000 -rapid.seed=$(SOAKSEED) -timeout 2h
	go test ./internal/app -run Attempts -rapid.checks=10000 -rapid.seed=$(SOAKSEED) -timeout 2h
	FORGE_SOAK=1 go test -timeout 2h ./...

eval: ## the offline evaluation on FORGE_CORPUS, its reports into evals/reports
	go run ./cmd/forge eval all --out evals/reports --commit $$(git rev-parse --short HEAD)

start: ## CPU time of a run up to its first request, and ratios to codex and fzf where they are installed
	go run ./internal/soak start

requirements: ## which requirements a test names, and which are open
	@go run ./internal/archtest/requirements

generate: ## make generated files again
	go generate ./...

refresh: ## renew the catalog's input over the network: CATWALK=v1.2.3
	go run ./internal/catalogdump fetch -out internal/catalogdata/catwalk.json $(if $(CATWALK),-version $(CATWALK))
	go generate ./model/catalog

ci: ## all that must hold before a change lands
	.ci/run
