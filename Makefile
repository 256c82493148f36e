# `make run` shows it at work, `make quick` tests in a minute what needs neither processes nor models, `make test` all but
# the browser and what works on copies of the repository, `make ui-test` the page in one, `make all` everything,
# `make seeds` the specifications once more, on Postgres, `make check` holds it to the rules, `make conformance` to the
# protocol, `make clients` tries real ones, `make frameworks` the doors of agent frameworks, `make cluster` a cluster of
# Postgres whose leader changes.
# Each sets up what it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests that follow each other stay together, since they share servers; who has no more to do takes from the others.
# To rewrite the assertions of all tests takes longer than to import them: at first one process does it for all workers.
unexport PYTHONDONTWRITEBYTECODE
REWRITTEN := $(VENV)/rewritten
PYTEST := test -e $(REWRITTEN) || { $(BIN)/python -m pytest --collect-only -q > $(REWRITTEN) || true; }; \
	$(BIN)/python -m pytest -n auto --dist worksteal
# The pip that Python brings may be years old, and then takes twice as long for all else.
NEW_VENV = $(PYTHON) -m venv --upgrade-deps $(VENV)
NEW_ENOUGH = $(PYTHON) -c 'import sys; sys.exit("memoryd needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'

.PHONY: run quick test all seeds check lint types docs models conformance clients frameworks cluster ui-test clean

# The model for other languages is needed for one line of the tour alone, so the tour goes on if it cannot be fetched.
run: $(VENV)/runs
	$(BIN)/memoryd models pull
	-$(BIN)/memoryd models pull --all
	$(BIN)/python examples/tour.py

quick: $(VENV)/quick
	$(PYTEST) -m "not process and not slow and not models and not servers"

test: models
	$(PYTEST) --backend both --durations 5 -m "not browser and not copies and not cluster"

# What a change must pass: besides, the browser, the recipes and slices in copies, and the cluster if `make cluster` was
# run.
all: models
	$(PYTEST) --backend both --durations 5

# What the walk of `make test` does on Postgres, in every case of the specifications.
seeds: models
	$(PYTEST) --backend postgres -m "not storeless" tests/seeds

models: $(VENV)/ready
	$(BIN)/memoryd models pull --all

check: lint types docs

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/ready
	$(BIN)/mypy

docs: $(VENV)/ready
	$(BIN)/python -m pytest -q tests/test_docs.py

conformance: $(VENV)/ready
	$(BIN)/python -m tests.conformance.run

clients: models
	$(BIN)/python -m tests.real_clients.run $(CLIENTS)

# The doors of agent frameworks against the frameworks' own stores, in an environment of its own.
frameworks: build/frameworks/ready
	build/frameworks/bin/python -m pytest -q -W default -o addopts= --confcutdir tests/frameworks tests/frameworks

build/frameworks/ready: pyproject.toml
	$(PYTHON) -m venv build/frameworks
	build/frameworks/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --editable '.[adk,anthropic,langgraph,pydantic-ai]' \
		'langgraph-checkpoint-sqlite>=3,<4' 'openai-agents>=0.24,<1' 'pytest>=9,<10'
	touch $@

# Three servers under Patroni, in an environment of its own; FAULTS="node freeze" tries only these.
cluster: $(VENV)/ready build/cluster/ready
	$(BIN)/python -m tests.cluster.run $(FAULTS)

build/cluster/ready:
	$(PYTHON) -m venv build/cluster
	build/cluster/bin/python -m pip install --quiet --disable-pip-version-check 'patroni[raft]>=4.1,<5' 'psycopg[binary]>=3.3,<4'
	touch $@

# The page and the app in a real browser; it makes the pictures of docs/ui.md.
ui-test: $(VENV)/ready
	MEMORYD_PICTURES=docs/pictures $(BIN)/python -m pytest -q -m browser tests/features

# It includes what the quick tests need.
$(VENV)/ready: pyproject.toml
	$(NEW_ENOUGH)
	test -x $(BIN)/python || $(NEW_VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --editable '.[dev]'
	touch $@ $(VENV)/quick $(VENV)/runs

# memoryd alone, which needs no tools for tests; the first time, pip shows what it fetches.
$(VENV)/runs: pyproject.toml
	$(NEW_ENOUGH)
	test -x $(BIN)/python || $(NEW_VENV)
	$(BIN)/python -m pip install --disable-pip-version-check --editable .
	touch $@

# A quarter of the other's size: no programs of servers, no Node, no driver of a browser.
$(VENV)/quick: pyproject.toml
	$(NEW_ENOUGH)
	test -x $(BIN)/python || $(NEW_VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --editable '.[quick]'
	touch $@

clean:
	rm -rf $(VENV) build/chromium-* build/clients build/cluster build/conformance build/frameworks .mypy_cache .ruff_cache .pytest_cache
