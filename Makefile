# Everything here is also one plain go command; see README.md.
GO ?= go
export CGO_ENABLED = 0
export SOTTO_DATA ?= $(CURDIR)/../shared/data
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
# Packages with goroutines, for the race detector (which needs cgo).
RACE = ./node ./node/p2p ./node/endpoint ./sim ./bench ./experiment/run ./experiment/sweep ./experiment/tune ./experiment/owner ./internal/parallel ./privacy ./privacy/ledger ./oracle ./topology ./cmd/...

.PHONY: release release-check build check fmt vet staticcheck test race bench data module results-check pretrained-check studies

build:
	$(GO) build -o bin/sotto -ldflags "-X main.releaseCommit=$$(git rev-parse HEAD 2>/dev/null)$$(git diff --quiet HEAD 2>/dev/null || echo -dirty)" ./cmd/sotto

# Archives, bills of materials and SHA256SUMS in dist; VERSION=v1.2.3 names the release.
release:
	sh internal/release.sh dist

# One platform, made twice: the same bytes.
release-check:
	@dir=$$(mktemp -d) && trap "rm -rf $$dir" EXIT && for k in 1 2; do \
		PLATFORMS=$$($(GO) env GOOS)/$$($(GO) env GOARCH) sh internal/release.sh $$dir/$$k >/dev/null || exit 1; done && \
		diff -r $$dir/1 $$dir/2 && (cd $$dir/1 && sha256sum -c --quiet SHA256SUMS) && echo "twice the same bytes: $$(ls $$dir/1 | wc -l) files"

check: fmt vet staticcheck test race

fmt:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "gofmt: the files above are not formatted"; exit 1; }

vet:
	$(GO) vet ./...
	GOARCH=arm64 $(GO) vet ./...
	$(GO) vet -tags operator ./...

staticcheck:
	$(GO) run $(STATICCHECK) ./...

test:
	$(GO) test ./...

race:
	CGO_ENABLED=1 $(GO) test -race -short $(RACE)
	CGO_ENABLED=1 $(GO) test -race -short -run Split ./model

bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...

# Compare the data folder with the published sums.
data:
	$(GO) run ./cmd/sotto data verify

# make module PATH=example.org/you/sotto renames the module, for whoever publishes it.
ifeq ($(origin PATH),command line)
MODULE := $(PATH)
override PATH := /usr/local/bin:/usr/bin:/bin
endif
module:
	@sh internal/module.sh '$(MODULE)'

# Make one random row of docs/results/runs.csv, of the studies' cells.csv or of a study that is no sweep again and compare it bit for bit.
results-check:
	$(GO) run ./internal/verifyresults

# Train the models that come with the program again (some minutes) and compare them bit for bit.
pretrained-check: build
	@for name in glyphs fashion-mnist; do \
		dir=$$(mktemp -d) && bin/sotto run examples/pretrain-$$name.toml --out $$dir >/dev/null && \
		cmp $$dir/*/model.safetensors experiment/pretrained/$$name.safetensors && rm -r $$dir && echo "$$name: the same bytes" || exit 1; done

# Every study of "sotto reproduce" at its smallest size, in a folder that is removed; figures are read from their tables' runs.
studies: build
	@dir=$$(mktemp -d) && trap 'rm -rf '$$dir EXIT && for s in $$(bin/sotto reproduce list | cut -d' ' -f1); do \
		if [ $$s = seed001-movielens ] && [ ! -f "$$SOTTO_DATA/ml-100k/u.data" ]; then echo "left out: $$s needs ml-100k/u.data"; continue; fi; \
		bin/sotto reproduce $$s --scale smoke --dir $$dir/$$(echo $$s | sed 's/figure1/table1/; s/figure2/table4/') || exit 1; done
