"""Draws a trial's plan from its spec, each part from a random stream of its own."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from emulator.churn.model import draw_flash_crowd, draw_sessions
from emulator.churn.sessions import Sessions
from emulator.experiment.plan import PEERS, PUBLICATIONS, SESSIONS, SUBSCRIPTIONS, Plan
from emulator.experiment.spec import TrialSpec
from emulator.experiment.streams import generator
from emulator.network.model import host_count, place
from emulator.workload.patterns import draw_pattern, pattern_problems
from emulator.workload.publications import draw_publications
from emulator.workload.rates import draw_rates
from emulator.workload.spec import BucketPattern
from emulator.workload.subscriptions import Subscriptions, held_throughout


def draw_plan(spec: TrialSpec) -> Plan:
    """Everything that the trial will do. The same spec gives the same plan.

    Peers 0 to `peers` - 1; the last ones are the flash crowd, if there is one. Raises ValueError that
    names the key for a combination that cannot be drawn, TraceError for a bad file.
    """
    problems = check_plan_inputs(spec)
    if problems:
        raise ValueError("; ".join(f"{key}: {problem}" for key, problem in problems))
    subscriptions = _subscriptions(spec)
    publications = spec.workload.publications
    rates = draw_rates(
        publications.rates,
        subscriptions.topics,
        publications.events,
        spec.phases.measure,
        _random(spec, "rates"),
    )
    sessions, base = _sessions(spec)
    drawn = draw_publications(
        publications.events,
        publications.publisher == "subscriber",
        (spec.phases.measure_start, spec.phases.measure_end),
        rates,
        subscriptions,
        sessions,
        _random(spec, "publications"),
    )
    location = place(spec.peers, host_count(spec.network.latency), _random(spec, "locations"))
    stays = sessions.end >= spec.phases.end
    graceful = _random(spec, "graceful").random(len(stays)) < spec.churn.graceful
    return Plan(
        peers=_table(PEERS, np.arange(spec.peers), location),
        sessions=_table(
            SESSIONS,
            sessions.peer,
            sessions.number(),
            sessions.start,
            sessions.end,
            graceful & ~stays,
            np.where(sessions.peer < base, "base", "flash-crowd"),
        ),
        subscriptions=_table(
            SUBSCRIPTIONS,
            subscriptions.peer,
            subscriptions.topic,
            rates[subscriptions.topic],
            subscriptions.start,
            subscriptions.end,
        ),
        publications=_table(
            PUBLICATIONS,
            np.arange(publications.events),
            drawn.at,
            drawn.publisher,
            drawn.topic,
            np.full(publications.events, publications.payload_bytes),
        ),
    )


def check_plan_inputs(spec: TrialSpec) -> list[tuple[str, str]]:
    """Key path and problem for each combination that `draw_plan` would refuse. Draws nothing."""
    problems: list[tuple[str, str]] = []
    crowd = spec.churn.flash_crowd
    if crowd is not None and crowd.peers >= spec.peers:
        problems.append(
            (
                "churn.flash_crowd.peers",
                f"{crowd.peers}, but they are counted in the {spec.peers} peers of the trial",
            )
        )
    if crowd is not None and crowd.at + crowd.within > spec.phases.end:
        problems.append(
            (
                "churn.flash_crowd.at",
                f"the crowd joins until {crowd.at + crowd.within:g} s, "
                f"but the trial ends at {spec.phases.end:g} s",
            )
        )
    if isinstance(spec.workload.subscriptions, BucketPattern):
        problems += [
            (f"workload.subscriptions.{key}", problem)
            for key, problem in pattern_problems(spec.workload.subscriptions)
        ]
    return problems


def _random(spec: TrialSpec, name: str) -> np.random.Generator:
    return generator(spec.seed, "plan", name)


def _table(schema: pa.Schema, *columns: np.ndarray) -> pa.Table:
    return pa.table(
        [pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)], schema=schema
    )


def _sessions(spec: TrialSpec) -> tuple[Sessions, int]:
    """All sessions, and the number of peers that are not the flash crowd."""
    phases, crowd = spec.phases, spec.churn.flash_crowd
    base = spec.peers - (crowd.peers if crowd else 0)
    sessions = draw_sessions(spec.churn.model, base, phases.join, phases.end, _random(spec, "sessions"))
    if crowd is None:
        return sessions, base
    late = draw_flash_crowd(crowd, base, phases.end, _random(spec, "flash-crowd"))
    return (
        Sessions(
            np.concatenate([sessions.peer, late.peer]),
            np.concatenate([sessions.start, late.start]),
            np.concatenate([sessions.end, late.end]),
        ),
        base,
    )


def _subscriptions(spec: TrialSpec) -> Subscriptions:
    source = spec.workload.subscriptions
    random = _random(spec, "subscriptions")
    if isinstance(source, BucketPattern):
        topic = draw_pattern(source, spec.peers, random)
        peer = np.repeat(np.arange(spec.peers), source.per_peer)
        return held_throughout(source.topics, peer, topic.ravel(), spec.phases.end)
    raise NotImplementedError(source.kind)
