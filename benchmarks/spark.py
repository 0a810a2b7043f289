"""Speed of the analysis: spans a second from OTLP files to tables, cold and warm, for two sizes."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from analysis.contract.trials import TrialRecord
from analysis.engine.spark_session import spark_session
from analysis.tables.build_tables import build_tables
from analysis.tables.table_files import TableFiles
from analysis.tables.telemetry_tables import write_telemetry
from emulator.contract.protocol import Event
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import PEERS, SESSIONS, Plan
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.fidelity import Fidelity, HostReport
from emulator.telemetry import names
from emulator.telemetry.context import TraceContext
from emulator.telemetry.recorder import Recorder
from emulator.workload.table_schemas import PUBLICATIONS, SUBSCRIPTIONS
from trellis.v1.pubsub import EventData, Notification

_PEERS = 2_000
_TOPICS = 20
_RECEIVERS = 250
_SPANS_AN_EVENT = 1 + 2 * _RECEIVERS
_SIZES = (400_000, 1_600_000, 6_400_000)
_SPEC = TrialSpec.model_validate(
    {
        "system": {"name": "vitis"},
        "peers": _PEERS,
        "workload": {"subscriptions": {"kind": "random", "topics": _TOPICS, "per_peer": 2}},
    }
)


def record_trial(run: RunDirectory, spans: int) -> TrialRecord:
    """Record a made-up trial of about this many spans: each event is told and sent to 250 peers, a fifth
    relays."""
    directory = run.trial("vitis-1")
    events, end = spans // _SPANS_AN_EVENT, _SPEC.phases.end
    random = np.random.default_rng(1)
    times = np.sort(random.uniform(_SPEC.phases.measure_start, _SPEC.phases.measure_end, events))
    publishers = random.integers(0, _PEERS, events)
    peers = np.arange(_PEERS)
    topics = {"peer": np.repeat(peers, 2), "topic": np.stack([peers, peers + 7], 1).ravel() % _TOPICS}
    tables = [
        (
            PEERS,
            {"peer": peers, "location": peers, "role": "peer", "link_class": 0, "attacker": False},
        ),
        (
            SESSIONS,
            {"peer": peers, "session": 0, "start_s": 1.0, "end_s": end, "graceful": False, "cause": "base"},
        ),
        (
            SUBSCRIPTIONS,
            topics
            | {
                "interest": np.arange(2 * _PEERS),
                "rate": 1.0,
                "ranges": None,
                "start_s": 0.0,
                "end_s": end,
                "client": None,
            },
        ),
        (
            PUBLICATIONS,
            {
                "event": np.arange(events),
                "at_s": times,
                "publisher": publishers,
                "topic": np.arange(events) % _TOPICS,
                "attributes": None,
                "payload_bytes": 256,
                "client": None,
            },
        ),
    ]
    peers_, sessions, subscriptions, publications = (_table(schema, columns) for schema, columns in tables)
    Plan(peers_, sessions, subscriptions=subscriptions, publications=publications).write(directory.plan)
    recorder = Recorder(
        directory.telemetry, "virtual", experiment="bench", trial="vitis-1", seed=1, start_unix_ns=10**18
    )
    for peer in range(_PEERS):
        recorder.operation(recorder.begin(), "join", peer, 10**9, {names.SESSION: 0})
    for event in range(events):
        at, topic = round(times[event] * 1e9), event % _TOPICS
        attributes = {names.EVENT: event, names.INTERESTED: True}
        root = recorder.begin(topic, event)
        recorder.operation(root, "publish", int(publishers[event]), at, attributes)
        told = Notification(event, topic, int(publishers[event]), 1)
        sent = EventData(event, topic, int(publishers[event]), 1, bytes(256))
        receivers = random.choice(_PEERS, _RECEIVERS, replace=False).tolist()
        for depth, peer in enumerate(receivers):
            wanted = depth % 5 > 0
            outcome = Event(event, int(publishers[event]), topic, hops=depth % 7) if wanted else None
            for message, delivered in ((told, None), (sent, outcome)):
                context = TraceContext(root.trace_id, recorder.next_span_id(), 1 + depth % 7, topic, event)
                handled = at + 50_000_000 + depth * 1_000_003
                sender = receivers[depth - 1]
                recorder.hop(context, root.span_id, message, "", sender, peer, at, handled, wanted, delivered)
    for at in (_SPEC.phases.measure_start, _SPEC.phases.measure_end):
        recorder.write_interval(round(at * 1e9), _PEERS, 0)
    recorder.close()
    Fidelity("virtual", "virtual clock", hosts=[HostReport("virtual", _PEERS)]).write(directory.fidelity)
    return _record(run)


def _table(schema: pa.Schema, columns: dict[str, object]) -> pa.Table:
    rows = max(len(c) for c in columns.values() if isinstance(c, np.ndarray))
    arrays = [pa.array(np.broadcast_to(np.asarray(columns[f.name]), rows).tolist(), f.type) for f in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _time(what: Callable[[], object]) -> float:
    begun = time.perf_counter()
    what()
    return time.perf_counter() - begun


def _measure(spark: SparkSession, folder: Path, spans: int) -> tuple[float, float]:
    """Return the seconds that the table of hops takes alone, and those that all tables take."""
    run = RunDirectory(folder / str(spans))
    record = record_trial(run, spans) if not run.path.exists() else _record(run)
    hops = _time(lambda: write_telemetry(spark, TableFiles(run.tables), [record]))
    return hops, _time(lambda: build_tables(spark, run, [record]))


def _record(run: RunDirectory) -> TrialRecord:
    directory = run.trial("vitis-1")
    return TrialRecord(
        "vitis-1", "vitis", {}, _SPEC, directory, {}, json.loads(directory.fidelity.read_text())
    )


def main() -> None:
    """Print seconds and spans a second."""
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, spark_session(optimize=True) as spark:
        print(f"Spark started in {time.perf_counter() - begun:.1f} s")
        for state, sizes in (("cold", _SIZES[:1]), ("warm", _SIZES)):
            for spans in sizes:
                hops, everything = _measure(spark, Path(folder), spans)
                print(
                    f"{state}, {spans:,} spans: to hops {hops:.1f} s = {spans / hops:,.0f} spans/s, "
                    f"to all tables {everything:.1f} s = {spans / everything:,.0f} spans/s"
                )


if __name__ == "__main__":
    main()
