ARG PYTHON_IMAGE=python:3.11-slim-bookworm

# Both images begin with this stage, which the second one to be built takes from the cache.
FROM ${PYTHON_IMAGE} AS wheel
WORKDIR /build
COPY . .
RUN services/image/make-wheel

FROM ${PYTHON_IMAGE} AS packages
RUN apt-get update && apt-get install --yes --no-install-recommends binutils
WORKDIR /build
COPY requirements/runtime.txt requirements/
COPY services/image services/image
RUN services/image/install-packages requirements/runtime.txt \
    && services/image/trim-packages \
    && services/image/trim-for-analysis

FROM packages AS code
COPY --from=wheel /wheel /wheel
RUN services/image/install-code \
    && /opt/trellis/bin/python -c 'import emulator.tracing.sdk, services.analysis, services.spark_driver, trellis.on_spark.driver, analysis.engine.cluster_session, analysis.pipeline, analysis.report.report'

FROM ${PYTHON_IMAGE}
RUN groupadd --gid 65532 trellis \
    && useradd --uid 65532 --gid 65532 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin trellis
COPY --from=packages /opt/trellis /opt/trellis
COPY --from=code /opt/trellis/code /opt/trellis/code
COPY --chmod=755 services/analysis-entrypoint /opt/trellis/bin/entrypoint
ARG REVISION=
ENV HOME=/tmp \
    OPENBLAS_NUM_THREADS=1 \
    PATH=/opt/trellis/code/bin:/opt/trellis/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    TRELLIS_REVISION=${REVISION}
LABEL org.opencontainers.image.title="Trellis: analysis with Spark" \
      org.opencontainers.image.revision=${REVISION}
WORKDIR /opt/trellis
USER 65532:65532
ENTRYPOINT ["/opt/trellis/bin/entrypoint"]
CMD ["trellis", "--help"]
