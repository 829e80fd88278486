# The two commands a stranger needs: `make run` and `make test`. `make help` lists the rest.
SHELL := /bin/bash
PYTHON := .venv/bin/python
# Where a shell has it set, every process would compile every module it imports, each time: 6 s of a core.
unexport PYTHONDONTWRITEBYTECODE

# make run PDFS=folder    a person's own PDFs in place of the samples
# make run ARGS=--exit    end when every document has settled; exit 0 if all ended as they should
# make run PORT=3001      the address of Dagster's UI (loopback)
PDFS ?=
PORT ?=
ARGS ?=

.PHONY: help setup setup-test run api token stop clean test lint samples query pictures bench bench-api bench-intake bench-optimize chaos fuzz mutations

help:
	@echo "make run [PDFS=folder] [ARGS=--exit] [PORT=3000]   take PDFs from an upload to published, accessible files"
	@echo "make stop      stop everything that make run started"
	@echo "make clean     stop, then remove what was stored (.local)"
	@echo "make test      linters, types, tests"
	@echo "make samples   write the sample PDFs to .local/samples"
	@echo "make pictures  take the pictures of the UI for the README, while make run keeps it up"
	@echo "make api                       the editing API alone (make run serves it too)"
	@echo "make token [NAME=user]         a token of the local, fake issuer"
	@echo "make bench [PDFS=folder]       figures of the tag engine"
	@echo "make bench-api                 figures of the API over the embedded AWS"
	@echo "make bench-intake [ARGS=...]   thousands of uploads dropped at once"
	@echo "make bench-optimize [PDFS=folder]   bytes, time and what is lost, against qpdf and Ghostscript; the pixel check"
	@echo "make fuzz [ARGS=\"--minutes 10\"]  the parsers, and whole files, given what nobody meant"
	@echo "make chaos [ARGS=...]          kill, cut, lose, throttle, repeat; then prove that nothing was lost or doubled"
	@echo "make mutations                 which test notices when a condition of the store is gone (half an hour)"
	@echo "make query SQL=\"select ...\"   ask the metrics"

setup:
	@scripts/setup.sh

setup-test:
	@scripts/setup.sh --test

run: setup
	@exec $(PYTHON) -m orchestration.local run $(if $(PDFS),--pdfs "$(PDFS)") $(if $(PORT),--port $(PORT)) $(ARGS)

api: setup
	@exec $(PYTHON) -m orchestration.local api

token: setup
	@$(PYTHON) -m api token $(or $(NAME),local-editor) --keys .local/issuer

stop:
	@if [ -x $(PYTHON) ]; then $(PYTHON) -m orchestration.local stop; fi

clean: stop
	@rm -rf .local
	@echo "removed .local"

lint: setup-test
	$(PYTHON) -m ruff check .
	$(PYTHON) -m mypy --exclude "/\.venv/" $(wildcard pdf resources assets api jobs sensors orchestration infra tests)

test: lint
	$(PYTHON) -m pytest $(ARGS)

samples: setup
	@$(PYTHON) -m tests.corpus --out .local/samples

pictures: setup-test
	@$(PYTHON) -m orchestration.local pictures

query: setup
	@$(PYTHON) -m orchestration.local query "$(SQL)"

bench: setup
	@$(PYTHON) -m tests.bench $(if $(PDFS),--pdfs "$(PDFS)") $(ARGS)

chaos: setup-test
	@$(PYTHON) -m tests.chaos $(ARGS)

bench-api: setup-test
	@$(PYTHON) -m tests.bench_api $(ARGS)

bench-intake: setup-test
	@$(PYTHON) -m tests.bench_intake $(ARGS)

bench-optimize: setup-test
	@$(PYTHON) -m tests.bench_optimize $(if $(PDFS),--pdfs "$(PDFS)") $(ARGS)

fuzz: setup-test
	@$(PYTHON) -m tests.fuzz $(ARGS)

mutations: setup-test
	@$(PYTHON) -m tests.mutation $(ARGS)
