# Each target sets up what it needs from nothing, in .venv, and is quick the second time.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --quiet --disable-pip-version-check
# pip compiles no Python files: Python does it for those that it imports, a tenth of them
export PIP_COMPILE ?= 0
# and keeps them, whatever the shell says: a process that compiles all it imports takes four times as long to start
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo gallery pictures test alone browser minimum campaign lint bench docs wheel release archives native clean

demo: $(VENV)/.view native
	$(BIN)/python examples/demo.py

gallery: $(VENV)/.view $(VENV)/.learning native
	$(BIN)/python examples/gallery --out build/gallery
	@touch build/gallery/.done

# docs/pictures, which are kept with the source
pictures: $(VENV)/.view $(VENV)/.test native
	$(BIN)/python tools/pictures.py

test: $(VENV)/.test lint native browser
	$(BIN)/python -m pytest

# what a stranger has: no collection of model files beside the clone, and nothing installed but `pip install .`
alone: $(VENV)/.test native
	DALEMBERT_CORPUS=build/none $(BIN)/python -m pytest tests/formats
	$(PYTHON) -m venv --clear build/alone
	build/alone/bin/python -m pip --quiet --disable-pip-version-check install .
	build/alone/bin/python tests/campaign/bare.py

# tests of pages need a Chromium; where there is none and it cannot be installed they are skipped
browser:
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || test -n "$$CHROMIUM" || test "$$(id -u)" != 0 || \
	  { apt-get update -qq && apt-get install -qq -y chromium; } >/dev/null 2>&1 || echo "no Chromium: tests in a browser are skipped"

# COUNT random mechanisms from seed SEED on, and runs of RUNS small ones, against oracles that share no code;
# ORDERS mechanisms in other orders and trees; C of the zoo on other processors, as far as qemu-user is there; then the
# tests that are too dear for every day
campaign: $(VENV)/.test native
	$(BIN)/python -m tests.campaign $(or $(COUNT),1000) --seed $(or $(SEED),0)
	$(BIN)/python -m tests.campaign $(or $(RUNS),100) --seed $(or $(SEED),0) --small --runs
	$(BIN)/python -m tests.campaign $(or $(RUNS),100) --seed $(or $(SEED),0) --small --units
	$(BIN)/python -m tests.campaign $(or $(RUNS),100) --seed $(or $(SEED),0) --small --linear
	$(BIN)/python -m tests.campaign.orders $(or $(ORDERS),500) --seed $(or $(SEED),0)
	$(BIN)/python -m tests.campaign.exports
	$(BIN)/python -m tests.campaign.drops --count $(or $(DROPS),300) --seed $(or $(SEED),0)
	$(BIN)/python -m tests.campaign.drops --count $(or $(DROPS),300) --seed $(or $(SEED),0) --stepped
	$(BIN)/python tests/closed_form/near_miss_table.py
	$(BIN)/python -m pytest --dear tests

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/codespell src docs examples benchmarks tools *.md

bench: $(VENV)/.bench native
	$(BIN)/python -m benchmarks

# the site, with the pictures of the gallery; npm brings KaTeX for the formulas, which stay as they are written without it
docs: $(VENV)/.docs build/gallery/.done build/live/playground.html
	@test -d build/node_modules/katex || npm install --silent --no-save --prefix build katex iframe-worker || echo "no KaTeX"
	$(BIN)/mkdocs build --strict

# pages that simulate: the zoo's and the playground
build/live/playground.html: $(VENV)/.view native
	$(BIN)/python tools/live_pages.py build/live

build/gallery/.done:
	$(MAKE) gallery

# the pictures of the cookbook
docs: build/cookbook/.done
build/cookbook/.done: docs/cookbook.md tools/cookbook.py | $(VENV)/.view native
	$(BIN)/python tools/cookbook.py build/cookbook
	@touch $@

# the lowest versions of pyproject.toml, in an environment of their own, and a part of the tests
minimum: native
	$(PYTHON) tools/minimum.py build/minimum

# after `python tools/release.py prepare DATE` and a commit: tests, site, wheel and source archive, release notes
release: $(VENV)/bin/python
	$(BIN)/python tools/release.py check
	$(MAKE) test docs
	$(MAKE) archives

# wheel and source archive of the version, checked
archives: $(VENV)/bin/python
	rm -rf build/archives
	$(PIP) install build
	$(BIN)/python -m build --outdir build/archives .
	$(BIN)/python tools/release.py archives build/archives

wheel: $(VENV)/bin/python
	$(PIP) wheel --no-deps --wheel-dir dist .

# Bitcode of the native functions comes with the install. After an edit it is made anew, by Numba if that is installed.
native: | $(VENV)/bin/python
	@$(BIN)/python -m dalembert.native.build || $(PIP) install --editable .

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# .view, .learning, .test, .bench, .docs: the extra of that name
$(VENV)/.%: $(VENV)/bin/python pyproject.toml setup.py
	$(PIP) install --editable '.[$*]'
	@touch $@

clean:
	rm -rf $(VENV) build dist site src/dalembert/native/shipped .pytest_cache .mypy_cache .ruff_cache
