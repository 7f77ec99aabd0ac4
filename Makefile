# Everything a person or CI runs here. `make` alone lists the targets.
# Needs make and Python 3.11+; the rest goes into .venv and .venv-tools, which are safe to delete.

PYTHON ?= python3
VENV := .venv
TOOLS := .venv-tools
RELEASE := .venv-release
BIN := $(VENV)/bin
ARGS ?=
RUNBOOKS ?=

export PIP_DISABLE_PIP_VERSION_CHECK = 1
export PIP_REQUIRE_VIRTUALENV = 1

# Folders are listed too: a removed file changes its folder's time, and the wheel is built again.
SOURCES := $(shell find src -name '.*' -prune -o -name __pycache__ -prune -o -print) README.md LICENSE
# Every script that prints figures; the other modules there are what they share.
BENCHMARKS := $(filter-out __init__ harness raw_backend chats,$(patsubst benchmarks/%.py,%,$(sort $(wildcard benchmarks/*.py))))
GENERATOR := $(shell find dashboards -name '*.py')
WHEEL_DIR := build/wheel
BUILD_WHEEL = rm -rf $(WHEEL_DIR) && \
	{ said=$$($(BIN)/python -m hatchling build -t wheel -d $(WHEEL_DIR) 2>&1) || { echo "$$said"; exit 1; }; }

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-oldest-ag2 check bench dashboards telemetry-reference release-check stability-tables
.PHONY: check-format check-lint check-types check-imports check-dependencies check-docstrings
.PHONY: previews game-day check-operator check-prometheus check-dashboards check-rules check-deploy

help:
	@echo "make setup        make .venv: the wheel, every extra, the test and check tools (LOCKED=1: as CI has them, by hash)"
	@echo "make demo         run the demo, about a minute (ARGS=\"--hold\" keeps it serving)"
	@echo "make test         build the wheel, install it, test it (ARGS=\"-k name\" picks tests)"
	@echo "make test-oldest-ag2   the AG2 adapter on the oldest AG2 that it supports (ARGS=RELEASE tries another)"
	@echo "make check        format, lint, types, imports, dependencies, docstrings, dashboards, rules, deploy files"
	@echo "make bench        run the benchmarks (ARGS=\"recall_cost\" picks one)"
	@echo "make dashboards   write dashboards/*.json and the alert rules again from their Python (RUNBOOKS=URL links them)"
	@echo "make previews     draw the dashboards from a run of the demo into docs/dashboards (chromium, node)"
	@echo "make game-day     ten faults under a real Prometheus, recorded in docs/game-day.md"
	@echo "make telemetry-reference   write docs/telemetry.md again"
	@echo "make stability-tables      write the tables of docs/stability.md again"
	@echo "make release-check         reproducible wheel, versions, lock, licences, SBOM (ARGS=--lock resolves CI's lock anew)"

setup: $(VENV)/.wheel
	@echo "Ready: $(BIN)/memotel is installed with every extra."

demo: $(VENV)/.wheel
	@$(BIN)/memotel demo $(ARGS)

# Safe path and importlib mode keep the source tree out of reach: what is tested is the installed wheel.
# A run that picks tests cannot reach the coverage gate, so only a whole run is held to it.
test: $(VENV)/.wheel
	@echo "Testing the installed wheel ..."
	@$(BIN)/coverage erase
	@MEMOTEL_TEST_WHEEL=1 $(BIN)/python -P -m coverage run -m pytest -n 2 --dist loadfile $(ARGS)
	@$(BIN)/coverage combine -q
	@$(BIN)/coverage report $(if $(ARGS),--fail-under=0)

test-oldest-ag2:
	@$(PYTHON) tools/oldest_ag2.py $(ARGS)

check: check-format check-lint check-types check-imports check-dependencies check-docstrings
check: check-prometheus check-dashboards check-rules check-deploy
	@echo "All checks passed."

check-format: $(VENV)/.wheel
	@echo "Format:" && $(BIN)/ruff format --check .

check-lint: $(VENV)/.wheel
	@echo "Lint:" && $(BIN)/ruff check .

check-types: $(VENV)/.wheel $(TOOLS)/.wheel
	@echo "Types:" && $(BIN)/mypy
	@$(BIN)/mypy --python-executable $(TOOLS)/bin/python --follow-imports=silent dashboards

check-imports: $(VENV)/.wheel
	@echo "Imports point down:" && $(BIN)/lint-imports

check-dependencies: $(VENV)/.wheel
	@echo "Dependencies:" && $(BIN)/deptry src

check-docstrings: $(VENV)/.wheel
	@echo "Docstrings:" && $(BIN)/python tools/docstrings.py src

check-prometheus:
	@echo "Prometheus, its rules, and Alertmanager:" && tools/check-prometheus

check-dashboards: $(TOOLS)/.wheel
	@echo "Dashboards:" && $(TOOLS)/bin/python -m dashboards.generator --check

check-rules: $(VENV)/.wheel
	@echo "Alert rules:" && $(BIN)/python -m dashboards.alerting --check

check-deploy: $(TOOLS)/.wheel
	@echo "Deploy files:" && $(TOOLS)/bin/check-jsonschema --builtin-schema vendor.compose-spec deploy/compose.yaml
	@$(TOOLS)/bin/kubernetes-validate --strict deploy/kubernetes/deployment.yaml deploy/kubernetes/dashboards/*.yaml

bench: $(VENV)/.wheel
	@set -e; for name in $(or $(ARGS),$(BENCHMARKS)); do echo "$$name:"; $(BIN)/python -m benchmarks.$$name; done

dashboards: $(TOOLS)/.wheel
	@$(TOOLS)/bin/python -m dashboards.alerting --runbooks "$(RUNBOOKS)"
	@$(TOOLS)/bin/python -m dashboards.generator --runbooks "$(RUNBOOKS)"

# Pictures for docs/dashboards: needs prometheus, chromium and node. Not part of the tests; about six minutes.
previews: $(VENV)/.wheel
	@cd tools/dashboard-preview && npm ci
	@PYTHONPATH=tests/support $(BIN)/python tools/previews.py $(ARGS)

# Ten faults under a real Prometheus, into docs/game-day.md: needs prometheus. Not part of the tests; about twenty minutes.
game-day: $(VENV)/.wheel
	@PYTHONPATH=tests/support $(BIN)/python -m tools.game_day

# The Prometheus operator's objects against its own schemas: needs node.
check-operator:
	@cd tools/kubernetes-check && npm ci
	@cd tools/kubernetes-check && node check.mjs ../../deploy/kubernetes/podmonitor.yaml ../../deploy/kubernetes/prometheusrule.yaml

# Two identical wheels, version and changelog, CI's lock, licences, SBOM; results in build/release.
release-check: $(RELEASE)/.deps
	@$(RELEASE)/bin/python tools/release_check.py $(ARGS)

stability-tables: $(VENV)/.wheel
	@$(BIN)/python tools/stability_tables.py

telemetry-reference: $(VENV)/.wheel
	@$(BIN)/python tools/telemetry_reference.py

# One stamp per step. `.deps`: third-party packages, again when pyproject.toml changes. `.wheel`: ours, again when src
# changes, without asking the index.
$(VENV)/.deps: pyproject.toml $(if $(LOCKED),.ci/requirements.txt)
	@$(PYTHON) -c 'import sys; sys.exit("memotel needs Python 3.11 or newer: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	@echo "Making $(VENV) with every extra and the test tools (once, about two minutes) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -q --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install -q $(if $(LOCKED),--no-deps --require-hashes -r .ci/requirements.txt,--group build)
	@$(BUILD_WHEEL)
	@$(BIN)/python -m pip install -q $(if $(LOCKED),--no-deps $(WHEEL_DIR)/*.whl,"$$(ls $(WHEEL_DIR)/*.whl)[all,fast]" --group test --group check)
	@touch $@

$(VENV)/.wheel: $(VENV)/.deps $(SOURCES)
	@echo "Building and installing the wheel ..."
	@$(BUILD_WHEEL)
	@$(BIN)/python -m pip install -q --no-deps --force-reinstall $(WHEEL_DIR)/*.whl
	@touch $@

$(TOOLS)/.deps: pyproject.toml
	@echo "Making $(TOOLS) for the dashboard builder and the schema checker (once) ..."
	@test -x $(TOOLS)/bin/python || $(PYTHON) -m venv $(TOOLS)
	@$(TOOLS)/bin/python -m pip install -q --upgrade "pip>=25.1"
	@$(TOOLS)/bin/python -m pip install -q --group tools
	@touch $@

$(TOOLS)/.wheel: $(TOOLS)/.deps $(VENV)/.wheel
	@$(TOOLS)/bin/python -m pip install -q --force-reinstall --no-deps $(WHEEL_DIR)/*.whl
	@$(TOOLS)/bin/python -m pip install -q $(WHEEL_DIR)/*.whl
	@touch $@

$(RELEASE)/.deps: pyproject.toml
	@test -x $(RELEASE)/bin/python || $(PYTHON) -m venv $(RELEASE)
	@$(RELEASE)/bin/python -m pip install -q --upgrade "pip>=25.1"
	@$(RELEASE)/bin/python -m pip install -q --group release
	@touch $@
