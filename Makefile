# `make demo` and `make test` set everything up by themselves, in .venv; `make help` lists the rest.
#
#   PYTHON=python3.12   the interpreter to make .venv with (`make distclean` first to change it)
#   ARGS="-k scores"    more arguments for pytest, or for the benchmarks (ARGS="--only youtube")
#   WORKERS=4           test processes of `make test` and `make test-system`
#   MINUTES=10          how long `make fuzz` looks

PYTHON ?=
ARGS ?=
WORKERS ?= 2
MINUTES ?= 5

.DEFAULT_GOAL := help
.PHONY: help demo test test-system test-engines test-long test-kill test-oldest test-newest fuzz fuzz-short sanitize sanitize-short \
    same-bits bench bench-full bench-quality measured paper docs lint format clean distclean compiled FORCE
.NOTPARALLEL: # two pips at once in one .venv would harm each other

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

demo: .venv/.demo compiled ## cluster an example, output in viewpass-demo/
	.venv/bin/viewpass demo --out viewpass-demo

# One thread in each test process, of BLAS and (LOKY_MAX_CPU_COUNT) of viewpass, so that they do not fight over
# the cores; tests about threads say how many. Work stealing leaves the tests of a
# file in one process, which then makes the file's fixtures once, and ends with both processes busy.
# Bytecode is kept even where the environment says otherwise: hundreds of processes import viewpass.
PYTEST = OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 LOKY_MAX_CPU_COUNT=1 PYTHONDONTWRITEBYTECODE= \
    .venv/bin/python -m pytest -n $(WORKERS) --dist worksteal

test: .venv/.dev compiled ## run the tests that need one process, in three minutes
	$(PYTEST) -m "not system and not long" $(ARGS)

test-system: .venv/.dev compiled ## run commands, Dask clusters, kills, forks, the pages of docs, the examples
	$(PYTEST) -m "system and not long" $(ARGS)

test-engines: .venv/.engines compiled ## install Ray and Spark (half a gigabyte; Spark needs Java), and run the tests of all engines
	.venv/bin/python -m pytest tests/engines tests/sources 'tests/test_docs.py::test_examples_and_inline_code_run[docs/distributed.md]' -m system $(ARGS)

test-long: .venv/.dev compiled ## run the tests that take minutes
	.venv/bin/python -m pytest -m "long and not kill" $(ARGS)

test-kill: .venv/.dev compiled ## end a fit 1,000 times by three signals, and kill Dask workers 200 times, at random moments
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv/bin/python -m pytest -m kill $(ARGS)

test-oldest: .venv/.build ## test the built wheel with the lowest versions of all libraries that it allows
	.venv/bin/python tests/versions.py oldest $(ARGS)

test-newest: .venv/.build ## the same with the highest versions, on the newest Python there is
	.venv/bin/python tests/versions.py newest $(ARGS)

FUZZ = OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 .venv/bin/python -m tests.fuzz

fuzz: .venv/.dev compiled ## damage files, options and inputs, and compare labels, at random (MINUTES=5; ARGS="--only labels")
	$(FUZZ) --minutes $(MINUTES) $(ARGS)

fuzz-short: .venv/.dev compiled ## some of these trials, always the same, in half a minute
	$(FUZZ) --count 50 --seed 0 $(ARGS)

sanitize: .venv/.dev compiled ## run kernel, law, harm and file tests with AddressSanitizer, UBSan, ThreadSanitizer
	bash native/sanitize/run.sh long

sanitize-short: .venv/.dev compiled ## some of these, in two minutes
	bash native/sanitize/run.sh short

same-bits: .venv/.build ## compare results to the bit: compilers, instruction sets, and ARM64 where it can be emulated
	bash native/driver/compare.sh

bench: .venv/.bench compiled ## measure beside the peers, a tenth of the rows; output in out/bench/
	.venv/bin/python -m benchmarks --out out/bench $(ARGS)

bench-full: .venv/.bench compiled ## the same with all rows; output in out/bench-full/
	.venv/bin/python -m benchmarks --full --out out/bench-full $(ARGS)

bench-quality: .venv/.bench compiled ## clusters against classes on the real sets; goes on where it was; output in out/quality/
	.venv/bin/python -m benchmarks.quality --out out/quality $(ARGS)

measured: .venv/.bench compiled ## make docs/measured/ and docs/paper/ anew: hours, goes on where it was (ARGS="--quick --only gaps")
	.venv/bin/python -m benchmarks.measured $(ARGS)

paper: .venv/.demo compiled ## measure the paper's tables and figures again; output in out/paper/ (ARGS=--quick: minutes)
	.venv/bin/viewpass paper --out out/paper $(ARGS)

docs: .venv/.docs compiled ## build the site, with every warning an error and every link checked; output in out/site/
	.venv/bin/python -m docs.site --out out/site $(ARGS)

lint: .venv/.dev compiled ## check style, types, the direction of imports, and the C++
	@failed=; \
	check() { echo "$$*"; "$$@" || failed="$$failed, $${1##*/}$${2:+ $$2}"; }; \
	clang_tidy() { printf '%s\n' $(TIDIED) | xargs -P 2 -n 1 .venv/bin/clang-tidy --quiet -p "$$1"; }; \
	check .venv/bin/ruff check .; \
	check .venv/bin/ruff format --check .; \
	check .venv/bin/mypy; \
	check .venv/bin/lint-imports; \
	check .venv/bin/clang-format --dry-run -Werror $(CPP); \
	mkdir -p build && cat $(SCRIPTS) > build/report.js; \
	check .venv/bin/oxlint --no-ignore build/report.js; \
	database=$$(ls -t build/editable-*/compile_commands.json 2>/dev/null | head -n 1); \
	if [ -n "$$database" ]; then \
	    check clang_tidy "$${database%/*}"; \
	else \
	    echo "clang-tidy skipped: it needs the compiled module's build folder, and there is none."; \
	fi; \
	if [ -n "$$failed" ]; then echo "lint failed: $${failed#, }" >&2; exit 1; fi

format: .venv/.dev ## format the code and mend what ruff can
	.venv/bin/ruff check --fix-only .
	.venv/bin/ruff format .
	.venv/bin/clang-format -i $(CPP)

clean: ## remove caches and build output, keep .venv
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . \( -path ./.venv -o -path ./.git \) -prune -o \
	    -type d \( -name __pycache__ -o -name '*.egg-info' \) -prune -exec rm -rf {} +

distclean: clean ## remove .venv and the output of demo and bench as well
	rm -rf .venv viewpass-demo out/bench out/bench-full out/quality out/site

# ---- the environment --------------------------------------------------------------------------
# .venv/.made   a sound environment; holds the folder it was made in
# .venv/.build  what compiles viewpass: scikit-build-core, nanobind, and cmake and ninja where the machine has none
# .venv/.demo   viewpass and what the demo needs are installed
# .venv/.dev    the developer's tools as well
# .venv/.engines  what `make test-engines` needs besides
# .venv/.bench  the peers that `make bench` measures
# .venv/.docs   Sphinx, and what the example report needs
# .venv/.native the compiled module is as new as native/, and the list of modules as new as src/
# A stamp is written only after success and dates from the start of its install, so that an edit
# of pyproject.toml or native/ meanwhile is not missed.

CPP = $(shell find native -name '*.cpp' -o -name '*.hpp')
# An editable install lists the package's modules: a folder changes when one is added, moved or removed.
NATIVE = native/CMakeLists.txt $(CPP) $(shell find src -type d ! -name __pycache__)
TIDIED = $(filter-out native/fuzz/% native/driver/%,$(filter %.cpp,$(CPP))) # what the module is made of
SCRIPTS = $(addprefix src/viewpass/report/,functions.js map.js page.js) # one script on the page

PIP_INSTALL = .venv/bin/python -m pip install -qq --disable-pip-version-check
# Compiles in build/, which stays: after a change only what has changed is compiled.
INSTALL_VIEWPASS = $(PIP_INSTALL) --no-build-isolation

BUILD_SYSTEM = import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")
ASK_COMPILED = from viewpass.kernels.backend import native, without_module; native or exit(without_module() + " In a checkout: then run make again.")
BUILD_TOOLS = from scikit_build_core.build import get_requires_for_build_editable as tools; print(*tools(), sep="\n")

.venv/.build: .venv/.made pyproject.toml
	@.venv/bin/python -c '$(BUILD_SYSTEM)' > $@.new
	@$(PIP_INSTALL) -r $@.new
	@.venv/bin/python -c '$(BUILD_TOOLS)' > $@.new
	@$(PIP_INSTALL) -r $@.new
	@mv $@.new $@

.venv/.demo: .venv/.build pyproject.toml
	@echo "Installing viewpass and what its demo needs into .venv (a minute or so) ..."
	@: > $@.new
	@$(INSTALL_VIEWPASS) -e '.[demo]'
	@mv $@.new $@
	@touch -r $@ .venv/.native

.venv/.dev: .venv/.build pyproject.toml
	@echo "Installing viewpass and the developer's tools into .venv (a minute or so) ..."
	@: > $@.new
	@$(INSTALL_VIEWPASS) -e '.[demo,dev]'
	@mv $@.new $@
	@touch -r $@ .venv/.demo .venv/.native

.venv/.engines: .venv/.dev
	@echo "Installing Ray, Spark and a local object store into .venv (a few minutes) ..."
	@: > $@.new
	@$(PIP_INSTALL) 'setuptools>=70.1' # builds PySpark, which comes as source
	@$(INSTALL_VIEWPASS) -e '.[demo,dev,engines]'
	@mv $@.new $@
	@touch -r $@ .venv/.native

.venv/.bench: .venv/.build pyproject.toml
	@echo "Installing viewpass and the peers of its benchmarks into .venv (some minutes) ..."
	@: > $@.new
	@$(PIP_INSTALL) setuptools wheel # what builds peers that come as source
	@$(INSTALL_VIEWPASS) -e '.[bench]'
	@mv $@.new $@
	@touch -r $@ .venv/.native

.venv/.docs: .venv/.build pyproject.toml
	@echo "Installing viewpass and what builds its site into .venv (a minute or so) ..."
	@: > $@.new
	@$(INSTALL_VIEWPASS) -e '.[docs]'
	@mv $@.new $@
	@touch -r $@ .venv/.native

.venv/.native: .venv/.build $(NATIVE)
	@echo "Compiling native/ ..."
	@: > $@.new
	@$(INSTALL_VIEWPASS) --no-deps -e .
	@mv $@.new $@

# After an install above, which compiles too, there is nothing left for .native to do.
# Without a module the stamp goes, so that the next run tries again.
compiled: .venv/.native
	@.venv/bin/python -c '$(ASK_COMPILED)' || rm -f .venv/.native

# Fails for an environment that is broken, half-made, moved from elsewhere or too old. pip writes
# INSTALLER after all else of a package, and renames to ~name what it is about to replace.
define VENV_SOUND
import os, pathlib, sys, sysconfig
import pip._internal.cli.main
site = pathlib.Path(sysconfig.get_path("purelib"))
whole = all((d / "INSTALLER").exists() for p in ("*.dist-info", "~*") for d in site.glob(p))
here, made = os.getcwdb(), pathlib.Path(".venv/.made")
activate = pathlib.Path(".venv/bin/activate")
placed = made.read_bytes() == here if made.exists() else here + b"/.venv" in activate.read_bytes()
own = sys.prefix != sys.base_prefix
sys.exit(not (own and whole and placed and sys.version_info >= (3, 11)))
endef
export VENV_SOUND

ASK_VERSION = import sys; v = sys.version_info; print("%s %d.%d" % ("new" if v >= (3, 11) else "old", v[0], v[1]))

# Looked at on every run, but touched only when .venv is made anew: the installs above follow then.
.venv/.made: FORCE
	@if .venv/bin/python -I -c "$$VENV_SOUND" >/dev/null 2>&1; then \
	    if [ ! -e $@ ]; then printf %s "$$(pwd -P)" > $@; fi; \
	    exit 0; \
	fi; \
	python=; found=; \
	for name in $(if $(PYTHON),"$(PYTHON)",python3 python3.13 python3.12 python3.11); do \
	    answer=$$("$$name" -c '$(ASK_VERSION)' 2>/dev/null) || continue; \
	    case $$answer in \
	        "new "*) python=$$name; version=$${answer#new }; break;; \
	        "old "*) found="$$found, $$name is $${answer#old }";; \
	    esac; \
	done; \
	if [ -z "$$python" ]; then \
	    { echo "viewpass needs Python 3.11 or newer: $(if $(PYTHON),PYTHON=$(PYTHON) is not one,none is on the PATH)$$found."; \
	      echo "Install one, or name it: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)"; } >&2; \
	    exit 1; \
	fi; \
	if [ -e .venv ]; then echo "The folder .venv is broken or half-made: making it anew."; fi; \
	echo "Making .venv with $$python ($$version) ..."; \
	if ! { "$$python" -m venv --clear .venv && .venv/bin/python -m pip --version >/dev/null; } >&2; then \
	    { echo; \
	      echo "$$python ($$version) could not make a virtual environment; its own words are above."; \
	      echo "If they speak of venv, ensurepip or pip, a system package is missing:"; \
	      echo "  Debian, Ubuntu: apt install python3-venv (or python$$version-venv)"; \
	      echo "  elsewhere: the package that has Python's modules venv and ensurepip"; \
	      echo "Then run make again."; } >&2; \
	    exit 1; \
	fi; \
	printf %s "$$(pwd -P)" > $@
