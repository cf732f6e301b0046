# make run   build what is missing and run the quickstart experiment
# make test  build what is missing and run the tests that are not slow
#
# Everything else is below; tools/bootstrap.py keeps .venv and the compiled kernel up to date and
# can be interrupted at any moment.

PYTHON ?= python3
PYTEST_ARGS ?= -n 2 --dist worksteal
BIN := .venv/bin
CODE := $(wildcard simsched tests tools benchmarks)

.DEFAULT_GOAL := help
.PHONY: help setup setup-run run test test-all test-oldest test-matrix lint format bench docs docs-links \
        test-smoke accuracy docs-tables notebooks validate fuzz fuzz-kernel wheel wheel-test clean distclean

help:
	@echo "make run        run experiments/quickstart.yaml"
	@echo "make setup      install what tests, notebooks and documentation need, too, and compile the kernel"
	@echo "make test       run the tests that are not slow"
	@echo "make test-all   run every test"
	@echo "make test-oldest  run some tests with the oldest versions of what simsched needs"
	@echo "make test-smoke  run a few tests with the oldest versions, and on every Python"
	@echo "make test-matrix  run them all with the oldest and with the newest ones on every Python"
	@echo "make lint       check style, types, import order and sizes"
	@echo "make format     let ruff format the code"
	@echo "make bench      measure the engines"
	@echo "make accuracy   renew the record of how near the model comes, and the pages of claims"
	@echo "make docs       make a site of the documentation in build/docs"
	@echo "make docs-links  check the links that lead outside"
	@echo "make docs-tables  write docs/machines.md, metrics.md, policies.md, workloads.md and quickstart.png"
	@echo "make notebooks  make both files of each notebook agree, without outputs"
	@echo "make validate   measure this host, calibrate a model of it and compare"
	@echo "make fuzz       feed mutated files to every reader (FUZZ_COUNT=100000 FUZZ_SEED=1 FUZZ_READERS=...)"
	@echo "make fuzz-kernel  feed random arrays to the C kernel, built with sanitizers"
	@echo "make wheel      build a wheel into dist/"
	@echo "make wheel-test  build source archive and wheel, install and try them without a compiler"
	@echo "make clean      remove what was built;  make distclean: .venv too"
	@echo "PYTHON=...      the Python (3.11 or newer) that .venv is made from"

# What simsched itself needs, and what else is needed to work on it.
SIMSCHED_EXTRAS ?= dask docs notebook test dev
setup setup-run:
	@command -v $(PYTHON) >/dev/null 2>&1 || { \
	  echo "simsched needs Python 3.11 or newer; '$(PYTHON)' is not on the path." \
	       "Name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "simsched needs Python 3.11 or newer; '$(PYTHON)' is" \
	       "$$($(PYTHON) -V 2>&1). Name another: make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) tools/bootstrap.py $(if $(filter setup,$@),$(SIMSCHED_EXTRAS))

run: setup-run
	@$(BIN)/simsched run experiments/quickstart.yaml

# Programs that tests start take half as long when they find the package compiled.
test test-all: export PYTHONDONTWRITEBYTECODE :=
test: setup
	@$(BIN)/python -m pytest -q -m "not slow" $(PYTEST_ARGS)

test-all: setup
	@$(BIN)/python -m pytest -q $(PYTEST_ARGS)

# What depends most on NumPy, pandas, pyarrow, SciPy and the command line's libraries.
OLDEST_TESTS := tests/engine/test_closed_forms.py tests/machine tests/trace tests/workload/importers \
  tests/experiment/test_api.py tests/experiment/test_summary.py tests/reproduction/test_probes_mapreduce.py \
  tests/report tests/cli/test_commands.py tests/packaging
test-oldest: setup
	@$(BIN)/python tools/matrix.py 3.11-oldest --tests "$(OLDEST_TESTS)"

# What touches every library and the compiled parts, in half a minute.
SMOKE_TESTS := tests/engine/test_closed_forms.py tests/machine tests/trace/test_parquet.py tests/workload/importers \
  tests/experiment/test_summary.py tests/experiment/test_api.py
test-smoke: setup
	@$(BIN)/python tools/matrix.py 3.11-oldest 3.12-newest 3.13-newest --lenient --tests "$(SMOKE_TESTS)"

test-matrix: setup
	@$(BIN)/python tools/matrix.py

# Every check runs, also after one that failed.
lint: setup
	@status=0; \
	check() { echo "-- $$*"; "$(BIN)/$$@" || status=1; }; \
	check ruff check --output-format concise . ; \
	check ruff format --check . ; \
	check mypy ; \
	check lint-imports ; \
	check python tools/check_sizes.py $(CODE) ; \
	check python tools/check_docstrings.py ; \
	check python tools/interface.py --check ; \
	exit $$status

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Runs all published claims, which takes an hour, unless their results are stored.
accuracy: setup
	@$(BIN)/simsched reproduce --quiet --pages docs/published --overwrite > /dev/null
	@$(BIN)/python -m pytest -q -m accuracy --renew-accuracy

bench: setup
	@$(BIN)/python -m benchmarks

SPHINX := $(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --fresh-env --write-all
docs: setup
	@$(SPHINX) --builder html docs build/docs
	@echo "build/docs/index.html"

docs-links: setup
	@$(SPHINX) --builder linkcheck docs build/docs-links

docs-tables: setup
	@for kind in machines policies workloads metrics; do \
	  $(BIN)/simsched list $$kind --markdown > docs/$$kind.md.new && mv docs/$$kind.md.new docs/$$kind.md || exit 1; \
	done
	@$(BIN)/simsched compare cilk bats -e quickstart -o docs/quickstart.png --overwrite --quiet >/dev/null

# Whichever file of a pair is newer is what the other one follows.
notebooks: setup
	@$(BIN)/jupytext --quiet --sync notebooks/*.py
	@$(BIN)/jupyter nbconvert --log-level=ERROR --clear-output --inplace notebooks/*.ipynb
	@$(BIN)/jupytext --quiet --sync notebooks/*.py

VALIDATION := build/validation
validate: setup
	@rm -rf $(VALIDATION)
	@$(BIN)/simsched measure calibration validation -o $(VALIDATION)
	@$(BIN)/simsched calibrate --runs $(VALIDATION)/calibration -o $(VALIDATION)/host.yaml
	@$(BIN)/simsched validate $(VALIDATION)/validation -m $(VALIDATION)/host.yaml -o $(VALIDATION)/report

FUZZ_COUNT ?= 100000
FUZZ_SEED ?= 1
FUZZ := -m tests.robustness.campaign --count $(FUZZ_COUNT) --seed $(FUZZ_SEED)
fuzz: setup
	@nice $(BIN)/python $(FUZZ) $(FUZZ_READERS)

SANITIZED := build/sanitized
fuzz-kernel: export PATH := $(CURDIR)/$(BIN):$(PATH)
fuzz-kernel: setup
	@test -d $(SANITIZED) || meson setup $(SANITIZED) -Db_sanitize=address,undefined -Db_lundef=false \
	  -Doptimization=1 -Ddebug=true -Dkernel_asserts=true >/dev/null
	@nice meson compile -C $(SANITIZED) >/dev/null
	@LD_PRELOAD="$$($${CC:-cc} -print-file-name=libasan.so)" ASAN_OPTIONS=detect_leaks=0,allocator_may_return_null=1 \
	  UBSAN_OPTIONS=halt_on_error=1,print_stacktrace=1 \
	  SIMSCHED_FUZZ_KERNEL="$$(ls $(CURDIR)/$(SANITIZED)/simsched/engine/native/_kernel*.so)" \
	  nice python $(FUZZ) --seconds 60 binding

wheel: setup
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@ls dist

wheel-test: setup
	@$(BIN)/python -m pytest -q tests/packaging

clean:
	rm -rf build dist docs/reference .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find simsched tests tools -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
	find simsched \( -name '*.so' -o -name '.*.so.*' \) -delete

distclean: clean
	rm -rf .venv
