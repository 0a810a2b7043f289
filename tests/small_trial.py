"""Small trials on the virtual clock: a plan by hand, and what the telemetry files say afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from emulator.contract import identifiers
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import PEERS, SESSIONS, Plan
from emulator.experiment.run.directory import TrialDirectory
from emulator.experiment.run.fidelity import Fidelity
from emulator.runtime.virtual.run_virtual import run_virtual
from emulator.telemetry import names
from emulator.testing.trial_spans import Span as Span
from emulator.testing.trial_spans import read_spans
from emulator.testing.trial_spans import values as values
from emulator.workload.table_schemas import LOOKUPS, PUBLICATIONS, SUBSCRIPTIONS

Session = tuple[int, float, float]
"""(peer, start, end)"""
Subscription = tuple[int, int, float, float]
"""(peer, topic, start, end)"""
Publication = tuple[float, int, int]
"""(at, publisher, topic)"""


Asked = tuple[float, int, int]
"""(at, peer, key) of a lookup"""


def trial_spec(system: str, peers: int, end: float, **fields: Any) -> TrialSpec:
    """Return a trial of `end` seconds over links of 50 ms."""
    network = {"latency": {"kind": "constant", "rtt": "100 ms"}, "unreachable_after": "2 s"}
    return TrialSpec.model_validate(
        {
            "system": {"name": system},
            "peers": peers,
            "network": network | fields.pop("network", {}),
            "workload": {"subscriptions": {"kind": "random", "topics": 10, "per_peer": 1, "buckets": 1}},
            "phases": {"join": "0 s", "settle": "0 s", "measure": f"{end} s", "drain": "0 s"},
        }
        | fields
    )


def make_plan(
    peers: int,
    sessions: Iterable[Session],
    subscriptions: Iterable[Subscription] = (),
    publications: Iterable[Publication] = (),
    graceful: bool = False,
    locations: Iterable[int] | None = None,
    lookups: Iterable[Asked] = (),
    roles: Mapping[int, str] | None = None,
    attackers: Iterable[int] = (),
) -> Plan:
    """Events and lookups are numbered in order of time, subscriptions in order of peer and topic."""
    counts: Counter[int] = Counter()
    session_rows = []
    for peer, start, end in sorted(sessions):
        session_rows.append((peer, counts[peer], start, end, graceful, "base"))
        counts[peer] += 1
    return Plan(
        peers=_table(
            PEERS,
            [
                (n, at, (roles or {}).get(n, "peer"), 0, n in set(attackers))
                for n, at in enumerate(locations or [0] * peers)
            ],
        ),
        sessions=_table(SESSIONS, session_rows),
        subscriptions=_table(
            SUBSCRIPTIONS,
            [(n, p, t, 1.0, None, s, e, None) for n, (p, t, s, e) in enumerate(sorted(subscriptions))],
        ),
        publications=_table(
            PUBLICATIONS,
            [(n, at, p, topic, None, 8, None) for n, (at, p, topic) in enumerate(sorted(publications))],
        ),
        lookups=_table(
            LOOKUPS, [(n, at, p, identifiers.encode(key)) for n, (at, p, key) in enumerate(sorted(lookups))]
        ),
    )


def _table(schema: pa.Schema, rows: Iterable[tuple[Any, ...]]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema)


class Outcome:
    """A finished trial."""

    def __init__(self, directory: TrialDirectory, fidelity: Fidelity) -> None:
        self.directory = directory
        self.fidelity = fidelity

    @cached_property
    def spans(self) -> list[Span]:
        return read_spans(self.directory.telemetry)

    def deliveries(self) -> Counter[tuple[int, int]]:
        """Return how often each (event, peer) was delivered; a publisher's own is no delivery."""
        return Counter(
            (span.attributes[names.EVENT], span.attributes[names.PEER])
            for span in self.spans
            if span.attributes.get(names.DELIVERED) and names.EVENT in span.attributes
        )

    def relayed(self) -> int:
        """Return copies of events that reached peers which did not ask for them."""
        return sum(s.name == "EventData" and not s.attributes[names.INTERESTED] for s in self.spans)

    def files(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(self.directory.telemetry.iterdir())}


def run(spec: TrialSpec, plan: Plan, path: Path) -> Outcome:
    """Run the trial in `path`, which must be empty."""
    directory = TrialDirectory(path / "run" / "trials" / f"{spec.system.name}-{spec.seed}")
    directory.path.mkdir(parents=True)
    return Outcome(directory, run_virtual(spec, plan, directory, lambda progress: None))


def expected(plan: Plan) -> set[tuple[int, int]]:
    """Return (event, peer) of the peers that are up and subscribed when the event is published."""

    def holds(rows: list[dict[str, Any]], at: float) -> set[int]:
        return {row["peer"] for row in rows if row["start_s"] <= at < row["end_s"]}

    sessions, subscriptions = plan.sessions.to_pylist(), plan.subscriptions.to_pylist()
    return {
        (row["event"], peer)
        for row in plan.publications.to_pylist()
        for peer in holds(sessions, row["at_s"])
        & holds([s for s in subscriptions if s["topic"] == row["topic"]], row["at_s"])
        if peer != row["publisher"]
    }
