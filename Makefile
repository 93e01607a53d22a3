# Every step of CI is a target here; `make help` lists them.

export GOWORK := off
MODULES := . adapt/gosdk adapt/mcpgo examples/notes

.PHONY: help build test lint race floors real peers peers-all peers-real bench fuzz clean

help: ## show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build the binary into ./mcprove
	go build -trimpath -gcflags=github.com/mcprove/mcprove/internal/check=-l -gcflags=github.com/mcprove/mcprove/internal/cli=-l -gcflags=github.com/mcprove/mcprove/internal/probe=-l -gcflags=github.com/mcprove/mcprove/mock=-l -gcflags=github.com/mcprove/mcprove/contract=-l -gcflags=github.com/mcprove/mcprove/report=-l -gcflags=github.com/mcprove/mcprove/session=-l -gcflags=github.com/mcprove/mcprove/surface=-l -gcflags=github.com/mcprove/mcprove/transport=-l -gcflags=github.com/santhosh-tekuri/jsonschema/...=-l -gcflags=go.yaml.in/yaml/v4/...=-l -ldflags "-s -w" -o mcprove ./cmd/mcprove

test: ## run all tests of all modules
	@for m in $(MODULES); do (cd $$m && go test -timeout 20m ./...) || exit 1; done

lint: ## gofmt, go vet and staticcheck
	@files=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$files" ]; then echo "gofmt would change:"; echo "$$files"; exit 1; fi
	@for m in $(MODULES); do (cd $$m && echo "vet and staticcheck in $$m" && go vet ./... && go tool -modfile=$(CURDIR)/tools/go.mod staticcheck ./...) || exit 1; done
	GOOS=windows go vet ./internal/proc ./transport
	GOOS=darwin go vet ./internal/proc ./transport

race: ## run the tests with the race detector, the long ones short
	@for m in $(MODULES); do (cd $$m && go test -race -short -timeout 20m ./...) || exit 1; done

floors: ## check which package may import which
	go test -count=1 .

real: ## test against real servers, and judge them (.ci/real-servers and .ci/sdk-servers install them into .real)
	go test -count=1 -timeout 30m -parallel 2 -tags real -v -run Real ./internal/cli ./mcptest

peers: ## run the official conformance suite against the mock, and against a quarter of the faults (.ci/conformance installs it into .peers)
	go test -count=1 -short -timeout 15m -parallel 6 -tags peers -v -run Conformance ./internal/cli

peers-all: ## the same against all faults, which takes minutes: for a release, and whoever changes rules or faults
	go test -count=1 -timeout 30m -parallel 6 -tags peers -v -run Conformance ./internal/cli

peers-real: ## run the suite at 2025-11-25 against the real servers too, and hold check against it (what make real and make peers need)
	go test -count=1 -timeout 15m -tags 'peers real' -v -run ConformanceRealServers ./internal/cli

bench: ## benchmarks, each with its ratio to a floor of the same run
	go test -run xxx -bench . -benchtime 1s ./surface ./contract ./internal/schemaset ./wire ./transport ./spec ./report ./mock ./record ./authtest
	go test -count=1 -tags bench -v -run Bench ./internal/cli ./mcptest
	cd adapt/gosdk && go test -count=1 -tags bench -v -run Bench .
	cd adapt/mcpgo && go test -count=1 -tags bench -v -run Bench .

FUZZTIME ?= 10m
fuzz: ## run every fuzz target for FUZZTIME
	@for p in $$(go list ./...); do \
	  for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz'); do \
	    echo "$$p $$f"; go test -run xxx -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$p || exit 1; \
	  done; \
	done

clean: ## remove what was built
	rm -rf mcprove dist
