# Each target sets up what it needs from nothing, in .venv, and is quick the second time.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo gallery test lint bench docs clean

demo: $(VENV)/.view
	$(BIN)/python examples/demo.py

gallery: $(VENV)/.view
	$(BIN)/python examples/gallery build/gallery

test: $(VENV)/.test lint
	$(BIN)/python -m pytest

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

docs: $(VENV)/.docs
	$(BIN)/mkdocs build --strict

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# .view, .test, .bench, .docs: the extra of that name
$(VENV)/.%: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

clean:
	rm -rf $(VENV) build site .pytest_cache .mypy_cache .ruff_cache
