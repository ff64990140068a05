# Two commands: `make arena` runs the whole job on generated data, `make test` tests every property.
PYTHON ?= python3
# The build of PyTorch: `make arena TORCH=cpu`, or cu126 and the like; without it pip's own choice.
TORCH ?=
BIN := .venv/bin
# many tests wait for processes that it started, so there is work for one more than the cores
WORKERS := $(shell $(PYTHON) -c 'import os; print(os.cpu_count() + 1)')
# the tests start many processes, which must not compile the package anew each time
unexport PYTHONDONTWRITEBYTECODE

.PHONY: arena install develop test test-all lint docs dist browser clean

arena: install
	$(BIN)/longarena tour

install: .venv/.installed

# Without compiling: pip would compile all of PyTorch, Python only what it imports.
.venv/.installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "longarena needs Python 3.11 or newer; set PYTHON=/path/to/python3.11")'
	$(PYTHON) -m venv .venv
	$(if $(TORCH),$(BIN)/pip install --quiet --no-compile --constraint constraints.txt torch --index-url https://download.pytorch.org/whl/$(TORCH))
	$(BIN)/pip install --quiet --no-compile --constraint constraints.txt --editable .
	touch $@

develop: .venv/.developed

.venv/.developed: .venv/.installed
	$(BIN)/pip install --quiet --no-compile --constraint constraints.txt --editable '.[dev]'
	touch $@

# Every property; where it is dear, only on the mechanisms that stand for the others
# (tests/representatives.py).
test: develop browser
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal --durations 10 -m 'not alone'

# The same properties on every mechanism, variant and length, and what wants the machine for itself.
test-all: develop browser
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal --durations 10 -m 'not alone' --everywhere
	$(BIN)/pytest -q -m alone tests/measure/test_session.py

lint: develop
	$(BIN)/pre-commit run --all-files --show-diff-on-failure

# The pages of docs/ as a site in site/; a broken link is an error (with --quiet it would not be).
docs: develop
	$(BIN)/mkdocs build --strict

# Wheel and sdist in dist/. What an earlier build left would go into the wheel.
dist: develop
	rm -rf build dist
	$(BIN)/python -m build --no-isolation

# The page is tested in a real browser; Debian's Chromium is installed where that is possible.
browser:
	@command -v chromium >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium; } >/dev/null 2>&1 \
		|| echo "no Chromium here and none could be installed: the browser tests will be skipped"

clean:
	rm -rf .venv build dist report runs site
