"""The script of a trial, made of the plan's tables."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from emulator.contract.identifiers import decode
from emulator.contract.workload import WorkloadKind
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import IDENTIFIER, KEPT, PROCESSING, REGION, SECOND, Plan
from emulator.faults.network_faults import NetworkFaults, faults_of
from emulator.files.damage import DamagedFile
from emulator.network.build_network import build_network
from emulator.network.peer_network import Network
from emulator.runtime.rate_changes import rate_changes
from emulator.runtime.script import PLAIN, ComeBack, GiveUp, GoDown, Join, Leave, Script, Step, TakeUp


def script_of(
    plan: Plan, kind: WorkloadKind, trial_end: float, peers: Collection[int] | None = None
) -> Script:
    """Return the script of all peers, or of `peers` alone, for a workload of this kind.

    Whatever lasts until `trial_end`, such as a session, has no step that ends it.
    """
    tables = {name: _rows(plan.tables[name], table.peer, peers) for name, table in kind.tables().items()}
    held = [*kind.held(tables)]
    steps: list[Step] = []
    sessions = _rows(plan.sessions, "peer", peers)
    kept_after = {
        (row["peer"], row["session"] - 1): fault
        for row in sessions
        if (fault := row.get(KEPT.name)) is not None
    }
    """The fault after which a peer goes on, by the session that the fault ends."""
    for row in sessions:
        peer, session, fault = row["peer"], row["session"], row.get(KEPT.name)
        steps.append(Step(row["start_s"], peer, Join(session) if fault is None else ComeBack(session, fault)))
        if (later := kept_after.get((peer, session))) is not None:
            steps.append(Step(row["end_s"], peer, GoDown(later)))
        elif row["end_s"] < trial_end:
            steps.append(Step(row["end_s"], peer, Leave(session, row["graceful"])))
    for each in held:
        if each.end < trial_end:
            steps.append(Step(each.end, each.peer, GiveUp(each.what)))
        if each.start > 0:
            steps.append(Step(each.start, each.peer, TakeUp(each.what)))
    steps += [Step(*asked) for asked in kind.asked(tables)]
    of = PROCESSING.name
    attackers = _rows(plan.peers.filter(plan.peers["attacker"]), "peer", peers)
    chosen = {row["peer"]: decode(given) for row in attackers if (given := row.get(IDENTIFIER.name))}
    slow = {row["peer"]: row[of] for row in _rows(plan.peers, "peer", peers) if row.get(of)}
    return Script(steps, held, _roles(plan.peers, peers), [row["peer"] for row in attackers], chosen, slow)


def network_of(spec: TrialSpec, plan: Plan) -> Network:
    """Return the network between the peers of a plan. Raises what `build_network` and `faults_hit` raise."""
    locations, link_classes = (plan.peers[name].to_pylist() for name in ("location", "link_class"))
    changes = rate_changes(spec.faults, faults_hit(spec, plan))
    return build_network(spec.network, locations, spec.seed, link_classes, changes)


def network_faults(spec: TrialSpec, plan: Plan) -> NetworkFaults | None:
    """Return the faults of a trial's network, None if it has none."""
    return faults_of(spec.faults, faults_hit(spec, plan), second_sides(spec, plan), plan.peers.num_rows)


def faults_hit(spec: TrialSpec, plan: Plan) -> list[list[int]]:
    """Return the peers that each fault of the trial hits, none for one that hits the bootstrap service.

    Raises DamagedFile if the plan lacks those of a fault.
    """
    hit: list[list[int]] = [[] for _ in spec.faults]
    for row in plan.faults.to_pylist():
        hit[row["fault"]].append(row["peer"])
    for fault, peers in zip(spec.faults, hit, strict=True):
        if fault.hits is not None and not peers:
            raise DamagedFile(f'the plan has no peers for the fault "{fault.name}". Draw it again')
    return hit


def second_sides(spec: TrialSpec, plan: Plan) -> list[list[int]]:
    """Return the peers in the second of the two groups between which each fault holds, none for a fault of
    another kind."""
    second: list[list[int]] = [[] for _ in spec.faults]
    rows = plan.faults.to_pylist()
    if SECOND.name in plan.faults.column_names:
        for row in rows:
            if row[SECOND.name]:
                second[row["fault"]].append(row["peer"])
        return second
    region = plan.peers[REGION.name].to_pylist() if REGION.name in plan.peers.column_names else []
    for row in rows:
        links = spec.faults[row["fault"]].links
        if links is not None and links.between and region[row["peer"]] in links.between[1].regions:
            second[row["fault"]].append(row["peer"])
    return second


def _roles(table: pa.Table, peers: Collection[int] | None) -> dict[int, str]:
    """Return the roles of those that are not plain peers."""
    if "role" not in table.column_names:
        return {}
    return {row["peer"]: row["role"] for row in _rows(table, "peer", peers) if row["role"] != PLAIN}


def _rows(table: pa.Table, key: str, peers: Collection[int] | None) -> list[dict[str, Any]]:
    if peers is not None:
        table = table.filter(pc.is_in(table[key], pa.array(sorted(peers), table[key].type)))
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows
