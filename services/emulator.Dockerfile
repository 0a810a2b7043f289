ARG PYTHON_IMAGE=python:3.11-slim-bookworm

# Both images begin with this stage, which the second one to be built takes from the cache.
FROM ${PYTHON_IMAGE} AS wheel
WORKDIR /build
COPY . .
RUN services/image/make-wheel

FROM ${PYTHON_IMAGE} AS packages
RUN apt-get update && apt-get install --yes --no-install-recommends binutils
WORKDIR /build
COPY requirements/emulator.txt requirements/
COPY services/image services/image
RUN services/image/install-packages requirements/emulator.txt \
    && services/image/trim-packages \
    && services/image/trim-for-emulator

FROM packages AS code
COPY --from=wheel /wheel /wheel
RUN services/image/install-code \
    && /opt/trellis/bin/python -c 'import emulator.tracing.sdk, services.churn, services.coordinator, services.peer, services.reach, services.results, services.telemetry_gate'

FROM ${PYTHON_IMAGE}
RUN groupadd --gid 65532 trellis \
    && useradd --uid 65532 --gid 65532 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin trellis
COPY --from=packages /build/services/image/trim-system /tmp/trim-system
RUN /tmp/trim-system && rm /tmp/trim-system
COPY --from=packages /opt/trellis /opt/trellis
COPY --from=code /opt/trellis/code /opt/trellis/code
ARG REVISION=
# Idle threads of gRPC's event engine look for work after every message. Without it for connections a program that
# is sent a few messages a second switches context half as often, which tells with hundreds of pods on a node.
ENV GRPC_EXPERIMENTS=-event_engine_client,-event_engine_listener \
    HOME=/tmp \
    OPENBLAS_NUM_THREADS=1 \
    PATH=/opt/trellis/code/bin:/opt/trellis/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    TRELLIS_REVISION=${REVISION}
LABEL org.opencontainers.image.title="Trellis: peers, coordinator, churn and results" \
      org.opencontainers.image.revision=${REVISION}
WORKDIR /opt/trellis
USER 65532:65532
CMD ["trellis", "--help"]
