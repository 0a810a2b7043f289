"""Draws a trial's plan from its spec, each part from a random stream of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from emulator.churn.draw_sessions import cut_by_crash, draw_flash_crowd, draw_sessions
from emulator.churn.models import Static
from emulator.churn.sessions import Sessions, either, joined
from emulator.contract.identifiers import encode
from emulator.contract.random_streams import generator
from emulator.experiment.file.cross_checks import check_plan_inputs
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_workload import draw_workload
from emulator.experiment.plan.fault_sessions import (
    JOINS,
    await_bootstrap,
    check_pauses,
    crash,
    ends_in_pause,
    until_pauses,
)
from emulator.experiment.plan.inputs_file import facts_of
from emulator.experiment.plan.tables import (
    FAULTS,
    IDENTIFIER,
    KEPT,
    PEERS,
    PROCESSING,
    REGION,
    SECOND,
    SESSIONS,
    Plan,
)
from emulator.experiment.plan.undrawable import Undrawable, drawn_from
from emulator.faults.draw import at_one_place, draw_group, draw_sides, meetings, overlaps
from emulator.faults.identities import Target, around
from emulator.faults.outages import Outages
from emulator.files.input_facts import Facts
from emulator.network.build_network import draw_locations, draw_regions_of
from emulator.network.peer_classes import draw_classes
from emulator.workload.participants import Participants, draw_participants
from emulator.workload.presence import NobodyUp


def draw_plan(spec: TrialSpec) -> Plan:
    """Return everything that the trial will do. The same spec gives the same plan.

    The peers are 0 to `peers` - 1; the last ones are the flash crowd, if there is one. Raises Undrawable,
    which names the key, for a combination that cannot be drawn or a bad file.
    """
    problems = check_plan_inputs(spec)
    if problems:
        raise Undrawable(list(problems))
    with drawn_from("network.latency"):
        location = draw_locations(spec.network, spec.peers, spec.seed)
        region = draw_regions_of(spec.network, location, spec.peers, spec.seed)
    with drawn_from("churn.model"):
        sessions, base = _sessions(spec, region)
    graceful = _random(spec, "graceful").random(len(sessions.end)) < spec.churn.graceful
    if spec.churn.crash is not None:
        graceful &= sessions.end != spec.churn.crash.at
    who = _participants(spec, sessions, region)
    without_faults = sessions, who
    spared = spec.attackers.spared if spec.attackers is not None else ()
    attackers = draw_group(spec.attackers, who.role, region, _random(spec, "attackers"), spared)
    if spec.attackers is not None and spec.attackers.identities is not None:
        location = at_one_place(location, attackers, spec.attackers.identities)
        region = at_one_place(region, attackers, spec.attackers.identities) if len(region) else region
    sides = [
        draw_sides(fault, who.role, region, _random(spec, f"fault {fault.name}")) for fault in spec.faults
    ]
    hit = [np.union1d(first, second) for first, second in sides]
    if problems := meetings(sides) + overlaps(spec.faults, hit):
        raise Undrawable(problems)
    kept = np.full(len(sessions.peer), JOINS, np.int32)
    if any(fault.crash is not None or fault.bootstrap is not None for fault in spec.faults):
        sessions, graceful, kept = crash(sessions, graceful, spec.faults, hit)
        sessions, graceful, kept = await_bootstrap(sessions, graceful, kept, Outages(spec.faults))
        who = _participants(spec, sessions, region)
    check_pauses(sessions, spec.faults, hit)
    graceful &= (sessions.end < spec.phases.end) & ~ends_in_pause(sessions, spec.faults, hit)
    numbers = np.arange(spec.peers)
    bandwidth, roles, regions = spec.network.bandwidth, who.role.tolist(), region.tolist()
    of_links = [] if bandwidth is None else bandwidth.classes
    places = location.tolist()
    link_classes = np.array(draw_classes(of_links, roles, regions, places, _random(spec, "links")), np.int32)
    of_workload: list[Facts] = []
    answers = until_pauses(sessions, spec.faults, hit)
    if answers is not sessions:
        who = _participants(spec, answers, region)
    with drawn_from(f"workload.{spec.workload.kind.key}"):
        try:
            asked = draw_workload(spec, location, region, answers, who, of_workload.append)
        except NobodyUp as error:
            if answers is without_faults[0] or not _is_drawable(spec, location, region, *without_faults):
                raise
            text = "Crash or pause fewer peers, or end the faults sooner (`for`)"
            raise Undrawable([("faults", f"{error.told}. {text}")]) from None
    peers = _table(PEERS, numbers, location, who.role, link_classes, np.isin(numbers, attackers))
    if len(region):
        peers = peers.append_column(REGION, pa.array(region, REGION.type))
    if spec.processing is not None and spec.processing.classes:
        of_peers = spec.processing.classes
        slowness = draw_classes(of_peers, roles, regions, places, _random(spec, "processing"))
        peers = peers.append_column(PROCESSING, pa.array(slowness, PROCESSING.type))
    if spec.attackers is not None and "subscriptions" in asked:
        for topic in spec.attackers.topics:
            _check_topic(topic, "attackers.behaviour", asked)
    if spec.attackers is not None and spec.attackers.near is not None:
        chosen = _identifiers(spec.attackers.near, attackers, asked)
        peers = peers.append_column(IDENTIFIER, pa.array(map(chosen.get, range(spec.peers)), IDENTIFIER.type))
    cause = np.where(sessions.peer < base, "base", "flash-crowd")
    held = _table(SESSIONS, sessions.peer, sessions.number(), sessions.start, sessions.end, graceful, cause)
    if any(fault.keeps_state for fault in spec.faults):
        held = held.append_column(KEPT, pa.array(kept, KEPT.type, mask=kept == JOINS))
    plan = Plan(
        peers=peers,
        sessions=held,
        faults=_faults(spec, hit, [second for _, second in sides]),
        **asked,
    )
    with drawn_from("network.latency"):  # whose numbers are read here, if no other part needs them
        plan.inputs = facts_of(spec, plan, sum(of_workload, start=Facts()))
    return plan


def _is_drawable(
    spec: TrialSpec,
    location: NDArray[np.int32],
    region: NDArray[np.str_],
    sessions: Sessions,
    who: Participants,
) -> bool:
    """Return whether the workload finds the peers up that it needs."""
    try:
        draw_workload(spec, location, region, sessions, who, lambda facts: None)
    except NobodyUp:
        return False
    return True


def _participants(spec: TrialSpec, sessions: Sessions, region: NDArray[np.str_]) -> Participants:
    """Draw who does what; the roles do not depend on the sessions."""
    with drawn_from("workload.roles"):
        return draw_participants(
            spec.workload.roles,
            spec.workload.clients,
            spec.peers,
            sessions,
            spec.phases.end,
            _random(spec, "roles"),
            _random(spec, "clients"),
            region,
        )


def _identifiers(
    near: Target, attackers: NDArray[np.int32], asked: Mapping[str, pa.Table]
) -> dict[int, bytes]:
    """Return the identifiers of the attackers. Raises Undrawable if nobody ever has the topic."""
    if near.topic is not None:
        _check_topic(near.topic, "attackers.near.topic", asked)
    return {peer: encode(identifier) for peer, identifier in around(near, attackers.tolist()).items()}


def _check_topic(topic: int, key: str, asked: Mapping[str, pa.Table]) -> None:
    """Raise Undrawable if nobody ever has the topic."""
    topics = [table["topic"] for table in asked.values() if "topic" in table.column_names]
    if not any(pc.any(pc.equal(column, topic)).as_py() for column in topics):
        text = f"no peer has the topic {topic} or publishes on it. Name one that somebody has"
        raise Undrawable([(key, text)])


def _faults(
    spec: TrialSpec, hit: Sequence[NDArray[np.int32]], second: Sequence[NDArray[np.int32]]
) -> pa.Table:
    """Return the table of the peers that each fault hits. Its last column says which of them are `second`,
    unless regions do."""
    parts, sides = [FAULTS.empty_table()], list[bool]()
    for index, (fault, peers) in enumerate(zip(spec.faults, hit, strict=True)):
        parts.append(_table(FAULTS, np.full(len(peers), index), np.full(len(peers), fault.name), peers))
        sides += np.isin(peers, second[index]).tolist()
    table = pa.concat_tables(parts)
    between = [fault.links for fault in spec.faults if fault.links is not None and fault.links.between]
    if all(links.is_between_regions for links in between):
        return table
    return table.append_column(SECOND, pa.array(sides, SECOND.type))


def _random(spec: TrialSpec, name: str) -> np.random.Generator:
    return generator(spec.seed, "plan", name)


def _table(schema: pa.Schema, *columns: NDArray[Any] | list[Any]) -> pa.Table:
    return pa.table(
        [pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)], schema=schema
    )


def _sessions(spec: TrialSpec, region: NDArray[np.str_]) -> tuple[Sessions, int]:
    """Return all sessions, and the number of peers that are not the flash crowd."""
    sessions, base = _sessions_without_crash(spec, region)
    crash = spec.churn.crash
    if crash is None:
        return sessions, base
    among = None if crash.region is None else np.isin(region, crash.region)
    return cut_by_crash(sessions, crash, _random(spec, "crash"), among), base


def _sessions_without_crash(spec: TrialSpec, region: NDArray[np.str_]) -> tuple[Sessions, int]:
    phases, crowd = spec.phases, spec.churn.flash_crowd
    base = spec.peers - (crowd.peers if crowd else 0)
    sessions = draw_sessions(spec.churn.model, base, phases.join, phases.end, _random(spec, "sessions"))
    if spec.churn.region is not None:
        staying = draw_sessions(Static(), base, phases.join, phases.end, _random(spec, "sessions"))
        goes = np.isin(region, spec.churn.region)
        sessions = either(goes, sessions, staying)
    if crowd is None:
        return sessions, base
    late = draw_flash_crowd(crowd, base, phases.end, _random(spec, "flash-crowd"))
    return joined(sessions, late), base
