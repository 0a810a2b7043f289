"""Points that are encoded by hand have the bytes that the protobuf library writes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.metrics.v1 import metrics_pb2
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from emulator.contract.gauges import Gauge
from emulator.telemetry import names
from emulator.telemetry.metric_batch import MetricBatch
from emulator.telemetry.span_encoding import resource

TEXT = st.text(min_size=1, max_size=200)
INTEGERS = st.integers(-(2**63), 2**63 - 1)
ATTRIBUTES = st.dictionaries(TEXT, INTEGERS | st.text(max_size=200), max_size=5)
GAUGES = st.builds(Gauge, st.text(), st.text(), st.sampled_from([None, "higher", "lower"]))
TIMES = st.integers(1, 2**62)


@given(
    sums=st.lists(st.tuples(st.sampled_from(["sent", "lost"]), INTEGERS, ATTRIBUTES), max_size=6),
    gauges=st.lists(st.tuples(st.sampled_from(["up", "share"]), st.floats(), ATTRIBUTES), max_size=6),
    said=GAUGES,
    times=st.tuples(TIMES, TIMES),
    of=st.dictionaries(TEXT, INTEGERS, max_size=3),
)
def test_a_batch_has_the_bytes_of_the_protobuf_library(
    sums: list[tuple[str, int, dict[str, int | str]]],
    gauges: list[tuple[str, float, dict[str, int | str]]],
    said: Gauge,
    times: tuple[int, int],
    of: dict[str, int | str],
) -> None:
    start, at = times
    encoded = resource(of)
    batch = MetricBatch(encoded, "trellis", start, at)
    data = metrics_pb2.MetricsData()
    all_metrics = data.resource_metrics.add(resource=Resource.FromString(encoded))
    scope = all_metrics.scope_metrics.add()
    scope.scope.name = "trellis"
    metrics: dict[str, metrics_pb2.Metric] = {}

    def metric(name: str) -> metrics_pb2.Metric:
        if name not in metrics:
            metrics[name] = scope.metrics.add(name=name)
        return metrics[name]

    def finish(point: metrics_pb2.NumberDataPoint, attributes: dict[str, int | str]) -> None:
        point.time_unix_nano = start + at
        for key, value in attributes.items():
            held = point.attributes.add(key=key).value
            if isinstance(value, int):
                held.int_value = value
            else:
                held.string_value = value

    for name, total, attributes in sums:
        batch.add_sum(name, total, attributes)
        filled = metric(name).sum
        filled.aggregation_temporality = metrics_pb2.AGGREGATION_TEMPORALITY_CUMULATIVE
        filled.is_monotonic = True
        finish(filled.data_points.add(start_time_unix_nano=start, as_int=total), attributes)
    for name, value, attributes in gauges:
        batch.add_gauge(name, value, attributes)
        finish(metric(name).gauge.data_points.add(as_double=value), attributes)
    if "up" in metrics:
        batch.describe("up", said)
        metrics["up"].unit, metrics["up"].description = said.unit, said.text
        if said.better:
            metrics["up"].metadata.add(key=names.BETTER).value.string_value = said.better
    assert batch.points == len(sums) + len(gauges)
    assert batch.encode() == data.SerializeToString()
