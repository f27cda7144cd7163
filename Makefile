# make demo   the main job on a real survey, in a fresh environment
# make test   the same environment, then every check and test
# make calibrate   what is calibrated at one cell there, over the full grid: before an inference changes
# make bench  figures, as ratios measured in one run
# make site   the documentation, into site/, its notebooks run afresh
# make notebook   the tutorials in JupyterLab, in a folder of your own
# make lint   style and types alone

PYTHON ?= python3
BIN := .venv/bin
# One process a core, each taking tests of the others when it has none left; so BLAS has a thread.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test fast calibrate bench site notebook lint clean

demo: .venv/.demo
	$(BIN)/bayesdp demo --force

test: lint
	$(PYTEST)

fast: .venv/.test
	$(PYTEST) -m "not slow"

calibrate: .venv/.test
	$(PYTEST) -m calibrate

bench: .venv/.test
	$(BIN)/python -m tests.benchmarks.run

site: .venv/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file .mkdocs.yml

# A tutorial that is there already is kept, with its changes; delete it to have it afresh.
notebook: .venv/.notebook
	$(BIN)/python notebooks/_site/notebooks.py tutorials
	$(BIN)/jupyter lab tutorials

lint: .venv/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

.venv/.demo: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable .
	touch $@

.venv/.docs: .venv/.demo
	$(BIN)/pip install --quiet --editable ".[all,docs]"
	touch $@

.venv/.notebook: .venv/.docs
	$(BIN)/pip install --quiet jupyterlab
	touch $@

.venv/.test: .venv/.demo
	$(BIN)/pip install --quiet --editable ".[all,test]"
	touch $@

clean:
	rm -rf .venv demo site bench.json
