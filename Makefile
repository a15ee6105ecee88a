# Every target does its own set-up: a machine with python3 >= 3.11 and make is enough.
# Override with e.g. `make test PYTHON=python3.13 PYTEST_ARGS="-k wiki"`.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
EXTRAS := dev,docs,demo,report,warc,bench,spark
OUT    ?= out
FUZZ_SECONDS ?= 600
PYTEST_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup demo test slow lint types docs bench fuzz clean

help:
	@echo "make demo   serve a small web site on loopback, crawl it, learn its rules"
	@echo "make test   run the tests"
	@echo "make slow   run the long end-to-end tests"
	@echo "make lint   ruff, mypy --strict, import contract"
	@echo "make docs   the documentation as a site that opens offline: site/index.html"
	@echo "make bench  speed benchmarks, next to the peers"
	@echo "make fuzz   fuzz every reader, the URL parser, books, the canonicalizer and the learners, 10 minutes each"

setup: $(VENV)/.installed

# The stamp is older than pyproject.toml exactly when dependencies may have changed.
$(VENV)/.installed: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "undust needs Python >= 3.11; say which: make PYTHON=python3.12 ...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { echo "no venv module: on Debian, apt-get install python3-venv"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	@touch $@

demo: setup
	$(BIN)/undust demo $(OUT)/demo

test: setup
	$(BIN)/python -m pytest -q -m "not slow" $(PYTEST_ARGS)

# pytest says 5 for "nothing was marked so"; that is no failure.
slow: setup
	$(BIN)/python -m pytest -q -m slow $(PYTEST_ARGS) || test $$? -eq 5

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(MAKE) --no-print-directory types
	$(BIN)/lint-imports

types: setup
	$(BIN)/mypy

# A link that leads nowhere, a page that no menu has, a name that is not there: each is an error.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: setup
	@for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# Guided by coverage where atheris can be installed, else by mutation of the corpus alone.
fuzz: setup
	-$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[fuzz]'
	@for target in $$($(BIN)/python tests/fuzz/run.py); do \
	    echo "== $$target"; \
	    $(BIN)/python tests/fuzz/run.py $$target --seconds $(FUZZ_SECONDS) --keep $(OUT)/fuzz || exit 1; \
	done

clean:
	rm -rf $(VENV) $(OUT) site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
