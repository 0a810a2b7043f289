VENV := .venv
PYTHON ?= python3
BIN := $(VENV)/bin
BUILDER ?= docker
IMAGES ?=
TAG ?= 0.1.0
REVISION = $(shell git describe --always --dirty --abbrev=12 '--exclude=*')
LOCK := --python-version 3.11 --generate-hashes

.PHONY: environment demo test lint bench images lock clean

environment: $(VENV)/installed generated/stamp

$(VENV)/installed: requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(MAKE) generated/stamp
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

generated/stamp: $(wildcard protos/trellis/v1/*.proto)
	mkdir -p generated/trellis/v1
	$(BIN)/python -m grpc_tools.protoc --proto_path=protos --python_out=generated --pyi_out=generated \
	    --grpc_python_out=generated $^
	touch generated/trellis/__init__.py generated/trellis/v1/__init__.py $@

demo: environment
	$(BIN)/trellis run experiments/quickstart.yaml

test: environment lint
	$(BIN)/pytest

lint: environment
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: environment
	$(BIN)/python -m benchmarks

images:
	$(BUILDER) build --file services/emulator.Dockerfile --build-arg REVISION=$(REVISION) \
	    --tag $(IMAGES)trellis-emulator:$(TAG) .
	$(BUILDER) build --file services/analysis.Dockerfile --build-arg REVISION=$(REVISION) \
	    --tag $(IMAGES)trellis-analysis:$(TAG) .

lock:
	cd requirements && uv pip compile $(LOCK) dev.in -o dev.txt
	cd requirements && uv pip compile $(LOCK) -c dev.txt runtime.in -o runtime.txt
	cd requirements && uv pip compile $(LOCK) -c dev.txt emulator.in -o emulator.txt
	cd requirements && uv pip compile $(LOCK) -c dev.txt build.in -o build.txt

clean:
	rm -rf $(VENV) generated
