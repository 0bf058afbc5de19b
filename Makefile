# Every target sets up what it needs: on a fresh machine, Python 3.11 and make are enough.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/ready

.PHONY: venv demo run doctor test check lint types imports dependencies coverage bench bench-context bench-endurance bench-memory mutation soak clean

venv: $(READY)

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Bobbin needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(READY)

demo: $(READY)
	$(BIN)/python -m bot demo

run: $(READY)
	$(BIN)/python -m bot run

doctor: $(READY)
	$(BIN)/python -m bot doctor

test: $(READY)
	$(BIN)/python -m pytest -n 2

check: lint types imports dependencies coverage

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/basedpyright

imports: $(READY)
	$(BIN)/lint-imports

dependencies: $(READY)
	$(BIN)/deptry .

coverage: $(READY)
	$(BIN)/python -m pytest -n 2 --cov --cov-report=term:skip-covered

bench: $(READY)
	$(BIN)/python -m bench

bench-context: $(READY)
	$(BIN)/python -m bench.context

soak: $(READY)
	$(BIN)/python -m tests.soak.soak

bench-endurance: $(READY)
	$(BIN)/python -m bench.endurance

mutation: $(READY)
	$(BIN)/python -m tests.mutation $(MODULES)

bench-memory: $(READY)
	$(BIN)/python -m bench.memory

clean:
	rm -rf .venv build *.egg-info .pytest_cache .ruff_cache .hypothesis
