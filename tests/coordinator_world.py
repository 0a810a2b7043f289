"""A coordinator of two hosts, and what hosts tell it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import PEERS, SESSIONS, Plan
from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.fleet.coordinator.fidelity_checks import judge
from emulator.workload.table_schemas import LOOKUPS, PUBLICATIONS, SUBSCRIPTIONS
from trellis.v1 import control_pb2

SECOND = 10**9


VERSIONS = {"trellis": "1"}


def _table(schema: pa.Schema, **columns: list[Any]) -> pa.Table:
    """The columns that are left out are null."""
    rows = len(next(iter(columns.values())))
    return pa.table([columns.get(name, [None] * rows) for name in schema.names], schema=schema)


def plan_of(peers: int, end: float = 10.0) -> Plan:
    rows = range(peers)
    return Plan(
        _table(PEERS, peer=[*rows], location=[0] * peers, role=["peer"] * peers),
        pa.table(
            [[*rows], [0] * peers, [0.0] * peers, [end] * peers, [False] * peers, ["base"] * peers],
            schema=SESSIONS,
        ),
        subscriptions=_table(
            SUBSCRIPTIONS,
            interest=[*rows],
            peer=[*rows],
            topic=[7] * peers,
            rate=[1.0] * peers,
            start_s=[0.0] * peers,
            end_s=[10.0] * peers,
        ),
        publications=_table(
            PUBLICATIONS, event=[0], at_s=[5.0], publisher=[peers - 1], topic=[7], payload_bytes=[10]
        ),
        lookups=pa.table([[*rows], [5.0] * peers, [*rows], [bytes(16)] * peers], schema=LOOKUPS),
    )


def spec_of(peers: int, **fields: object) -> TrialSpec:
    return TrialSpec.model_validate(
        {
            "system": {"name": "vitis"},
            "peers": peers,
            "network": {"latency": {"kind": "constant", "rtt": "40 ms"}},
            "workload": {"subscriptions": {"kind": "random"}},
            "phases": {"join": "2 s", "settle": "2 s", "measure": "4 s", "drain": "2 s"},
            "runtime": {"kind": "processes", "hosts": 2},
        }
        | fields
    )


def five_peers() -> Coordinator:
    return Coordinator(spec_of(5), plan_of(5), "experiment", "trial")


def register(
    coordinator: Coordinator, host: str, start: str = "first", address: str = "", at: int = SECOND
) -> control_pb2.Assignment:
    registration = control_pb2.Registration(
        host=host, address=address or f"127.0.0.1:{host[-1]}", versions=VERSIONS, start=start
    )
    return coordinator.register(registration, at)


def begin(coordinator: Coordinator) -> None:
    for host in ("host-0", "host-1"):
        register(coordinator, host)
        coordinator.ready(control_pb2.Ready(host=host, clock_offset_ns=0), SECOND)


def result(host: str, **fields: object) -> control_pb2.HostFidelity:
    return control_pb2.HostFidelity(host=host, **fields)  # type: ignore[arg-type]


def reasons(coordinator: Coordinator, **fields: object) -> str:
    for host in ("host-0", "host-1"):
        coordinator.finish(result(host, **fields), 10 * SECOND)
    return "; ".join(judge(coordinator, VERSIONS).reasons)
