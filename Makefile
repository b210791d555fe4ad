# Each of `make demo` and `make test` does all of its set-up by itself, into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint bench clean

# The stamp is newer than what it was installed from, so a changed pyproject or constraint installs again.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev,torch]"
	touch $@

demo: $(VENV)/.installed
	$(BIN)/tupi demo

test: $(VENV)/.installed
	$(BIN)/python -m pytest

# Speed and memory against peers; takes some minutes, and the machine should have nothing else to do.
bench: $(VENV)/.installed
	$(BIN)/python -m benchmarks.engine

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean:
	rm -rf $(VENV) demo-output
