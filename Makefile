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

test: $(READY)
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -q

check: $(READY)
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
