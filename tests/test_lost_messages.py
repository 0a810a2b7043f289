"""Messages that the network's loss takes are counted by type, in each runtime, and told in time."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from pyspark.sql import SparkSession
from realtime_world import Parts, World
from recorded_telemetry import points, read, spans
from tables_page import columns_of

from analysis.tables.lost_messages import LOST_MESSAGES, lost_messages
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.directory import RunDirectory
from emulator.network.peer_network import LOSS
from emulator.runtime.virtual.run_virtual import run_virtual
from emulator.telemetry import names
from trellis.v1.overlay import Goodbye
from trellis.v1.pubsub import EventData

ALL = 0.999999
"""The share of loss that leaves nothing of a few thousand messages."""
NETWORKS: dict[str, dict[str, Any]] = {
    "delays alone": {"network": {"loss": ALL}},
    "kept order": {"network": {"loss": ALL, "order": "kept"}},
    "links in order": {"network": {"loss": ALL, "bandwidth": {"up": "10 Mbit/s"}}},
    "fair links": {"network": {"loss": ALL, "bandwidth": {"up": "10 Mbit/s", "discipline": "fair"}}},
    "classes of links": {
        "network": {
            "bandwidth": {"classes": [{"name": "poor", "share": 1.0, "up": "10 Mbit/s", "loss": ALL}]}
        }
    },
    "bursts": {"network": {"loss": {"kind": "bursts", "mean": ALL, "burst": 1_000_000}}},
}


def totals(folder: Path) -> dict[str, Counter[str]]:
    """Return the last readings of the counters of sent and lost messages, by metric and message type."""
    last: dict[str, dict[tuple[str, ...], float]] = {}
    for name, found in points(folder).items():
        for attributes, value in found:
            key = tuple(
                str(attributes.get(each, "")) for each in (names.MESSAGE_TYPE, names.CHANNEL, names.TRAFFIC)
            )
            last.setdefault(name, {})[key] = value
    summed: dict[str, Counter[str]] = {}
    for name, by_key in last.items():
        for key, value in by_key.items():
            summed.setdefault(name, Counter())[key[0]] += int(value)
    return summed


def lost_in_operations(folder: Path, metric: str) -> int:
    """Return the last reading of a counter of lost messages, of those in operations."""
    last = {
        (attributes[names.MESSAGE_TYPE], attributes.get(names.CHANNEL)): value
        for attributes, value in points(folder).get(metric, [])
        if attributes[names.TRAFFIC] == "operation"
    }
    return int(sum(last.values()))


def marks(folder: Path) -> list[tuple[Span, dict[str, Any]]]:
    """Return the spans that mark lost messages, with their attributes."""
    each = [(span, read(span.attributes)) for span in spans(folder)]
    return [(span, mark) for span, mark in each if mark.get(names.OBSERVED) == LOSS]


def run(folder: Path, more: dict[str, Any]) -> dict[str, Counter[str]]:
    spec = TrialSpec.model_validate(
        {
            "system": {"name": "vitis"},
            "peers": 12,
            "workload": {
                "subscriptions": {"kind": "random", "topics": 5, "per_peer": 3, "buckets": 1},
                "publications": {"events": 10},
            },
            "phases": {"join": "2 s", "settle": "3 s", "measure": "5 s", "drain": "5 s"},
            "telemetry": {"metrics_interval": "5 s"},
        }
        | more
    )
    directory = RunDirectory(folder / "run").trial("trial")
    directory.telemetry.mkdir(parents=True)
    run_virtual(spec, draw_plan(spec), directory, lambda progress: None)
    return totals(directory.telemetry)


@pytest.mark.parametrize("checked", ["1", ""], ids=["messages", "rows"])
@pytest.mark.parametrize("name", NETWORKS)
def test_every_message_that_vanishes_is_counted_and_marked_in_the_trace_of_its_operation(
    name: str, checked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRELLIS_CHECK", checked)
    found = run(tmp_path, NETWORKS[name])
    assert found[names.SENT_MESSAGES].total() > 50
    assert found[names.LOST_MESSAGES] == found[names.SENT_MESSAGES]
    assert found[names.LOST_BYTES] == found[names.SENT_BYTES]
    folder = RunDirectory(tmp_path / "run").trial("trial").telemetry
    told = marks(folder)
    assert told and len(told) == lost_in_operations(folder, names.LOST_MESSAGES)
    assert sum(mark[names.VALUE] for _, mark in told) == lost_in_operations(folder, names.LOST_BYTES)
    operations = {span.trace_id for span in spans(folder) if not span.parent_span_id}
    assert {span.trace_id for span, _ in told} <= operations and all(span.parent_span_id for span, _ in told)
    assert all(mark[names.PEER] != mark[names.SUBJECT] for _, mark in told)


def test_a_network_without_loss_has_no_such_counters(tmp_path: Path) -> None:
    found = run(tmp_path, {})
    assert names.SENT_MESSAGES in found
    assert not {names.LOST_MESSAGES, names.LOST_BYTES} & found.keys()
    assert not marks(RunDirectory(tmp_path / "run").trial("trial").telemetry)


@pytest.mark.parametrize("loss", [ALL, 0.0])
def test_a_host_in_real_time_counts_what_its_peers_lose(loss: float, tmp_path: Path) -> None:
    world = World(tmp_path, loss=loss)
    peer = world.add(0, Parts)
    peer.environment.send(1, Goodbye())
    peer.environment.send(3, Goodbye())
    peer.part.send(3, EventData(event=7))
    world.host.recorder.write_interval(1, 1, 0)
    world.host.recorder.flush()
    world.close()
    lost = {"Goodbye": 2, "EventData": 1} if loss else {}
    assert totals(tmp_path).get(names.LOST_MESSAGES, Counter()) == lost
    (recovery,) = (span for span in spans(tmp_path) if span.name == names.RECOVERY)
    told = [(span.parent_span_id, mark[names.SUBJECT], mark[names.CHANNEL]) for span, mark in marks(tmp_path)]
    assert told == ([(recovery.span_id, 3, "a")] if loss else [])


def test_readings_become_the_messages_of_each_interval(spark: SparkSession) -> None:
    of = "maintenance", "overlay", "maintenance"
    traced = "maintenance", "overlay", "operation"
    read = [
        ("a", 5.0, names.SENT_MESSAGES, 10.0, "Ping", *of),
        ("a", 10.0, names.SENT_MESSAGES, 30.0, "Ping", *of),
        ("b", 5.0, names.SENT_MESSAGES, 7.0, "Ping", *of),
        ("b", 10.0, names.SENT_MESSAGES, 7.0, "Ping", *of),
        ("a", 10.0, names.LOST_MESSAGES, 2.0, "Ping", *of),
        ("a", 10.0, names.LOST_BYTES, 90.0, "Ping", *of),
        ("b", 5.0, names.LOST_MESSAGES, 1.0, "Ping", *of),
        ("b", 10.0, names.LOST_MESSAGES, 1.0, "Ping", *of),
        ("b", 5.0, names.LOST_BYTES, 40.0, "Ping", *of),
        ("b", 10.0, names.LOST_BYTES, 40.0, "Ping", *of),
        ("a", 5.0, names.SENT_MESSAGES, 99.0, "Pong", *of),  # none of them was lost
    ]
    columns = (
        "trial string, host string, at_s double, name string, value double, message string, kind string, "
        "channel string, traffic string, incarnation int"
    )
    points = [("t", *row, 0) for row in read]
    points.append(("lossless", "a", 5.0, names.SENT_MESSAGES, 4.0, "Ping", *of, 0))
    points.append(("t", "a", 5.0, names.SENT_MESSAGES, 3.0, "Ping", *traced, 0))
    points.append(("t", "c", 20.0, names.SENT_MESSAGES, 6.0, "Ping", *of, 0))  # none was sent before 15 s
    tables = {
        "points": spark.createDataFrame(points, columns),
        "trials": spark.createDataFrame([("t", 5.0), ("lossless", 5.0)], "trial string, interval_s double"),
    }
    found = lost_messages(tables)
    assert found.dtypes == spark.createDataFrame([], LOST_MESSAGES).dtypes == columns_of("lost_messages")
    assert {(row.trial, *tuple(row)[4:]) for row in found.collect()} == {
        ("t", "maintenance", 0.0, 5.0, 17, 1, 40),
        ("t", "maintenance", 5.0, 10.0, 20, 2, 90),
        ("t", "maintenance", 15.0, 20.0, 6, 0, 0),
        ("t", "operation", 0.0, 5.0, 3, 0, 0),
        ("lossless", "maintenance", 0.0, 5.0, 4, 0, 0),
    }
