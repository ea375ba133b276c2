# demo · test · check · bench · docs; each sets up what it needs, once.
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 2

export XDG_RUNTIME_DIR ?= /tmp
export PYTHON

.PHONY: demo test check bench docs setup clean
.DEFAULT_GOAL := test

setup: $(READY)

$(READY): pyproject.toml .ci/setup $(wildcard plugins/*/pyproject.toml)
	@.ci/setup

demo: $(READY)
	@$(BIN)/ruda demo

# CUDA's compiler needs no GPU: with it, every kernel of the suite is compiled for CUDA as well.
$(VENV)/.cuda: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable "./plugins/cuda[$$($(BIN)/python -c 'from ruda_cuda.probe import *; print(extra(driver_version()))')]" \
		|| echo "CUDA's compiler cannot be had here; its tests will be skipped" >&2
	@touch $@

test: $(VENV)/.cuda
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -q

check: $(VENV)/.cuda
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	@for script in $(filter-out benchmarks/timing.py,$(wildcard benchmarks/*.py)); do $(BIN)/python $$script; done

docs: $(READY)
	@$(BIN)/python .ci/docs

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
