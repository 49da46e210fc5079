# Two commands on a fresh machine: `make demo` and `make test`. Everything lives in $(VENV).
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# One thread per process: tests start several processes, and two spinning OpenMP teams on two cores are slower than one each.
TEST_ENV := HF_HUB_OFFLINE=1 WANDB_MODE=offline OMP_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help install demo test test-slow test-versions lint docs format clean

help: ## show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

install: $(STAMP) ## make the virtual environment and install the package with all extras

$(STAMP): pyproject.toml constraints-cpu.txt tools/install.sh tools/check_torchaudio.py
	bash tools/install.sh "$(PYTHON)" "$(VENV)"
	@touch $@

demo: $(STAMP) ## train and evaluate on the embedded demo cohort, with a picture at the end
	$(BIN)/python -m omni_bench task=region model=timeconv_cnn

test: $(STAMP) ## fast tests, under ten minutes on two cores
	$(TEST_ENV) $(BIN)/python -m pytest -n 2

test-slow: $(STAMP) ## the rest: full sizes, kills and restarts, whole runs
	$(TEST_ENV) $(BIN)/python -m pytest -n 2 -m slow --timeout=1800

test-versions: ## fast tests with the oldest, then with the newest libraries that pyproject.toml allows
	for age in oldest newest; do \
	  bash tools/install.sh "$(PYTHON)" "$(VENV)-$$age" $$age && \
	  $(TEST_ENV) "$(VENV)-$$age/bin/python" -m pytest -n 2 || exit 1; \
	done

lint: $(STAMP) ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(STAMP) ## build the documentation, warnings as errors
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build

format: $(STAMP) ## rewrite the sources in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove the environment and what builds left
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-newest dist build docs/_build .pytest_cache .mypy_cache .ruff_cache
