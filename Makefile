# One way to work, for people and for CI alike. `make demo` and `make test` set up everything they need in .venv.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Python compiles the few modules that are imported; compiling all of them in advance takes an eighth of the disk.
PIP    := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check --no-warn-script-location
CODE   := src tests scripts benchmarks examples
# An active environment or a PYTHONPATH of the caller must not leak into ours.
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME

.DEFAULT_GOAL := help
.PHONY: help demo test lint format pytest soundness real bench bench-freivalds device findings other-stacks studies docs clean

help: ## List what make can do.
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 18

demo: $(VENV)/demo.stamp ## Check three kernels; the third one is wrong on purpose.
	@KC=$(BIN)/kc bash scripts/demo.sh

test: lint pytest ## Check style and types, then run the tests.

lint: $(VENV)/test.stamp ## Check style and types.
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

pytest: $(VENV)/test.stamp ## Run the tests.
	$(BIN)/python -m pytest -n 2 --dist loadfile

format: $(VENV)/test.stamp ## Put the code and the contracts into their one form.
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format
	$(BIN)/kc fmt src/kernel_contracts/contracts/library/*.kc

soundness: $(VENV)/test.stamp ## Compare ten thousand derived bounds with conforming executions.
	$(BIN)/python benchmarks/soundness.py

real: $(VENV)/test.stamp ## Check every operation of NumPy and PyTorch with five seeds; none may be accused.
	$(BIN)/python benchmarks/real_kernels.py

bench: $(VENV)/test.stamp ## Measure what a bound costs, and the table beside assert_close.
	$(BIN)/python benchmarks/bound_cost.py
	$(BIN)/python benchmarks/check_cost.py
	$(BIN)/python benchmarks/assert_close_table.py

bench-freivalds: $(VENV)/test.stamp ## Measure verified products and the guard: cost, floors, false alarms.
	$(BIN)/python benchmarks/freivalds.py
	$(BIN)/python benchmarks/freivalds_alarms.py
	$(BIN)/python benchmarks/guard.py

device: $(VENV)/test.stamp ## On a machine with CUDA: the library, Triton, verified products and the guard there (six minutes).
	$(BIN)/python benchmarks/device.py

findings: $(VENV)/test.stamp ## Measure again what array libraries do that a contract forbids.
	$(BIN)/python benchmarks/findings.py

other-stacks: ## Install the stacks that no test needs in .venv-other, and measure them.
	@$(PYTHON) -m venv .venv-other
	@.venv-other/bin/python -m pip install --quiet --no-compile --disable-pip-version-check --editable .
	.venv-other/bin/python benchmarks/other_stacks.py --install

studies: $(VENV)/test.stamp ## Run the case studies and write their pages (about five minutes).
	for name in ascend sakana amd; do $(BIN)/python studies/$$name/study.py || exit 1; done

docs: $(VENV)/test.stamp ## Write the generated reference pages again.
	$(BIN)/python scripts/generate_docs.py

clean: ## Remove the environment and every cache.
	rm -rf $(VENV) .venv-other build dist .kc .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is newer than pyproject.toml when the environment fits it.

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; say make PYTHON=python3.12")'
	@echo "Making an environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: pyproject.toml | $(BIN)/python
	@echo "Installing kernel_contracts (under a minute)"
	@$(PIP) --editable .
	@touch $@

$(VENV)/test.stamp: pyproject.toml | $(BIN)/python
	@echo "Installing kernel_contracts and what its tests need, PyTorch among it (a few minutes, once)"
	@$(PIP) --editable '.[test]'
	@touch $@ $(VENV)/demo.stamp
