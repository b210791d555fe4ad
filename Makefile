# Each of `make demo` and `make test` does all of its set-up by itself, into .venv, in whichever order they come.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt

.PHONY: demo test lint coverage bench docs release clean

# The stamps are newer than what they were installed from, so a changed pyproject or constraint installs again.
# What the demo needs: the package and its report. Python compiles what it imports; all of it would take twice as long.
$(VENV)/.demo: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --no-compile --editable ".[report]"
	$(BIN)/python -m pip uninstall --quiet --yes setuptools pip  # 27 MB; `make test` brings pip back
	find $(VENV)/lib -type d -name tests -prune -exec rm -rf {} +  # of numpy, pandas and others: 50 MB that nobody runs
	touch $@

# Everything: all extras, and the tools of whoever works on it.
$(VENV)/.dev: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable ".[dev,torch]"
	touch $(VENV)/.demo $@

demo: $(VENV)/.demo
	$(BIN)/tupi demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest

# The tests once more, counting the branches that they take; fails below the floor in pyproject.toml.
coverage: $(VENV)/.dev
	$(BIN)/python -m pytest --cov=tupi --cov-branch --cov-report=term:skip-covered

# Speed and memory against peers; takes some minutes, and the machine should have nothing else to do.
bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.engine

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The site, into build/site: open index.html there. Fails on a broken link, and on a page that nothing leads to.
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

# Checks version and changelog, builds, and tries what was built in clean environments; uploads nothing.
release: $(VENV)/.dev
	$(BIN)/python -m tests.release

clean:
	rm -rf $(VENV) demo-output dist
