VENV := .venv
PYTHON ?= python3
BIN := $(VENV)/bin
BUILDER ?= docker
IMAGES ?=
PLATFORMS ?=
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
TAG ?= $(VERSION)
HELM ?= helm
REVISION = $(shell git describe --always --dirty --abbrev=12 '--exclude=*')
CORE := $(shell find emulator \( -name '*.py' -o -name '*.[ch]' \) -not -path 'emulator/_compiled/*')
LOCK := --python-version 3.11 --generate-hashes

DOCS := .venv-docs
RELEASE := .venv-release
OBJECT_STORE := .venv-object-store

.PHONY: environment demo test lint bench docs reference images release version lock clean

environment: $(VENV)/installed trellis/v1/stamp emulator/_compiled/stamp $(VENV)/archived

$(VENV)/installed: requirements/dev.txt pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(MAKE) trellis/v1/stamp
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

# With an archive of its classes Java starts Spark in half the time; without, everything works, slower.
$(VENV)/archived: $(VENV)/installed trellis/v1/stamp
	-$(BIN)/python -m analysis.make_class_archive
	touch $@

trellis/v1/stamp: $(wildcard protos/trellis/v1/*.proto) emulator/messages/generate.py \
    emulator/messages/fields.py emulator/messages/options.py
	protos/generate $(BIN)/python

# The protocols are compiled where there is a C compiler; elsewhere everything works, slower.
emulator/_compiled/stamp: $(VENV)/installed trellis/v1/stamp $(CORE)
	$(BIN)/python -m emulator.compiler.build
	mkdir -p emulator/_compiled
	touch $@

demo: environment
	$(BIN)/trellis run experiments/quickstart.yaml

# What needs a cluster runs apart, since pods take the cores, and what needs a kernel for itself runs alone; the
# rooms of the protocols run once more from their source. More processes than cores: some tests wait for programs
# that they have started.
CLUSTER := $(wildcard tests/test_cluster_*.py tests/test_chart_cluster.py)
ALONE := $(addprefix tests/test_network_netem_,delays.py kernel.py peers.py)
FROM_SOURCE := tests/test_gossip_*.py tests/test_messages*.py tests/test_overlays_*.py tests/test_pubsub_[dgr]*.py tests/test_values_*.py

test: environment lint $(OBJECT_STORE)/installed
	$(BIN)/python tests/tried_again.py -n 3 --durations=30 $(addprefix --ignore=,$(CLUSTER) $(ALONE))
	$(BIN)/python tests/tried_again.py -n 2 --durations=20 $(CLUSTER)
	$(BIN)/python tests/tried_again.py $(ALONE)
	TRELLIS_INTERPRETED=1 $(BIN)/pytest -n 2 $(FROM_SOURCE)

# None of this needs what is compiled.
lint: $(VENV)/installed trellis/v1/stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# A server that speaks S3, for tests. It needs other versions of packages that Trellis uses.
$(OBJECT_STORE)/installed: requirements/object-store.txt
	$(PYTHON) -m venv $(OBJECT_STORE)
	$(OBJECT_STORE)/bin/pip install --quiet --disable-pip-version-check --require-hashes \
	    -r requirements/object-store.txt
	touch $@

bench: environment
	$(BIN)/python -m benchmarks

# The site needs only its own tools; a broken link is an error. It is written into site/.
docs: $(DOCS)/installed
	$(DOCS)/bin/mkdocs build --strict

$(DOCS)/installed: requirements/docs.txt
	$(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/docs.txt
	touch $@

# Tests say when these pages differ from the schema and from the help.
reference: environment
	$(BIN)/python -m docs.making

# With PLATFORMS, such as linux/amd64,linux/arm64, an image is a list of one for each, in the registry IMAGES.
ifeq ($(PLATFORMS),)
BUILD = $(BUILDER) build --tag
else ifeq ($(BUILDER),docker)
BUILD = docker buildx build --platform $(PLATFORMS) --push --tag
else
BUILD = $(BUILDER) build --platform $(PLATFORMS) --manifest
PUSH = $(BUILDER) manifest push --all
endif

images:
	$(if $(PLATFORMS),$(if $(IMAGES),,$(error images of several platforms go to a registry: IMAGES=registry.org/me/)))
	for part in emulator analysis; do \
	    $(BUILD) $(IMAGES)trellis-$$part:$(TAG) --file services/$$part.Dockerfile \
	        --build-arg REVISION=$(REVISION) . || exit 1; \
	    $(if $(PUSH),$(PUSH) $(IMAGES)trellis-$$part:$(TAG) || exit 1;) \
	done

# What a release is made of, in dist/: wheel and sdist, the chart, the list of its images, what is in it, and checksums.
release: $(RELEASE)/installed
	rm -rf dist
	$(RELEASE)/bin/python -m build --no-isolation --sdist --wheel --outdir dist .
	$(HELM) package charts/trellis --destination dist
	cp charts/trellis/images.txt dist/trellis-$(VERSION)-images.txt
	$(RELEASE)/bin/cyclonedx-py requirements requirements/runtime.txt --pyproject pyproject.toml \
	    --output-reproducible --output-format JSON --output-file dist/trellis-$(VERSION).cdx.json
	cd dist && sha256sum -- * >SHA256SUMS

$(RELEASE)/installed: requirements/release.txt requirements/build.txt
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/pip install --quiet --disable-pip-version-check --require-hashes \
	    -r requirements/release.txt -r requirements/build.txt
	touch $@

# `make version TO=1.2.3` writes a new version wherever it stands.
version:
	@test -n "$(TO)" || { echo "say which: make version TO=1.2.3" >&2; exit 2; }
	sed -i 's/^version = .*/version = "$(TO)"/' pyproject.toml
	sed -i 's/^\(version\|appVersion\): .*/\1: $(TO)/' charts/trellis/Chart.yaml
	sed -i 's/\(trellis-\(emulator\|analysis\)\):[0-9][0-9.]*/\1:$(TO)/g' \
	    charts/trellis/values.yaml charts/trellis/images.txt docs/kubernetes.md \
	    examples/push-gossip/README.md examples/push-gossip/Dockerfile

lock:
	cd requirements && uv pip compile $(LOCK) dev.in -o dev.txt
	cd requirements && uv pip compile $(LOCK) -c dev.txt emulator.in runtime.in -o runtime.txt
	cd requirements && uv pip compile $(LOCK) -c dev.txt emulator.in -o emulator.txt
	cd requirements && uv pip compile $(LOCK) -c dev.txt build.in -o build.txt
	cd requirements && uv pip compile $(LOCK) docs.in -o docs.txt
	cd requirements && uv pip compile $(LOCK) object-store.in -o object-store.txt
	cd requirements && uv pip compile $(LOCK) -c dev.txt release.in -o release.txt

clean:
	rm -rf $(VENV) $(DOCS) $(RELEASE) $(OBJECT_STORE) dist site trellis/v1 emulator/_compiled
