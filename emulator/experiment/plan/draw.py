"""Draws a trial's plan from its spec, each part from a random stream of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from emulator.churn.draw_sessions import cut_by_crash, draw_flash_crowd, draw_sessions
from emulator.churn.sessions import Sessions
from emulator.contract.random_streams import generator, stream
from emulator.experiment.file.combinations import check_plan_inputs
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.tables import LOOKUPS, PEERS, PUBLICATIONS, SESSIONS, SUBSCRIPTIONS, Plan
from emulator.network.build import build_network, draw_locations
from emulator.workload.arrivals import draw_arrivals, draw_publishers
from emulator.workload.boxes import draw_regions
from emulator.workload.draw_subscriptions import change_subscriptions, draw_content, draw_subscriptions
from emulator.workload.lookups import draw_lookups
from emulator.workload.participants import Participants, draw_participants
from emulator.workload.publications import draw_publications
from emulator.workload.rates import draw_rates
from emulator.workload.source import ContentSource, PlacedContentSource, Rows, TopicSource
from emulator.workload.spec import Publications
from emulator.workload.subscriptions import Subscriptions, begun_after_joins

_SUBSCRIPTION_GRACE = 10.0
"""Seconds after a subscription from which on the analysis expects events (`JOIN_GRACE_S` there)."""


def draw_plan(spec: TrialSpec) -> Plan:
    """Everything that the trial will do. The same spec gives the same plan.

    Peers 0 to `peers` - 1; the last ones are the flash crowd, if there is one. Raises ValueError that
    names the key for a combination that cannot be drawn, TraceError for a bad file.
    """
    problems = check_plan_inputs(spec)
    if problems:
        raise ValueError("; ".join(f"{key}: {problem}" for key, problem in problems))
    sessions, base = _sessions(spec)
    location = draw_locations(spec.network, spec.peers, spec.seed)
    stays = sessions.end >= spec.phases.end
    graceful = _random(spec, "graceful").random(len(stays)) < spec.churn.graceful
    if spec.churn.crash is not None:
        graceful &= sessions.end != spec.churn.crash.at
    who = draw_participants(
        spec.workload.roles,
        spec.workload.clients,
        spec.peers,
        sessions,
        spec.phases.end,
        _random(spec, "roles"),
        _random(spec, "clients"),
    )
    return Plan(
        peers=_table(PEERS, np.arange(spec.peers), location, who.role),
        sessions=_table(
            SESSIONS,
            sessions.peer,
            sessions.number(),
            sessions.start,
            sessions.end,
            graceful & ~stays,
            np.where(sessions.peer < base, "base", "flash-crowd"),
        ),
        **_workload(spec, sessions, who),
    )


def _workload(spec: TrialSpec, sessions: Sessions, who: Participants) -> dict[str, pa.Table]:
    """The tables of the plan that say what peers ask for."""
    workload = spec.workload
    if isinstance(workload.subscriptions, ContentSource):
        return _content(spec, workload.subscriptions, who)
    if workload.subscriptions is not None:
        return _topics(spec, workload.subscriptions, who)
    assert workload.lookups is not None
    drawn = draw_lookups(workload.lookups, _measure(spec), spec.peers, sessions, _random(spec, "lookups"))
    return {
        "subscriptions": SUBSCRIPTIONS.empty_table(),
        "publications": PUBLICATIONS.empty_table(),
        "lookups": _table(LOOKUPS, np.arange(len(drawn.at)), drawn.at, drawn.peer, drawn.key),
    }


def _topics(spec: TrialSpec, source: TopicSource, who: Participants) -> dict[str, pa.Table]:
    publications = spec.workload.publications or Publications(events=0)
    held = draw_subscriptions(source, who.number, spec.phases.end, _random(spec, "subscriptions"))
    if within := _subscribed_within(spec, source):
        beginnings = _random(spec, "beginnings")
        held = begun_after_joins(held, spec.phases.join, within, who.sessions, beginnings)
    changes = stream(spec.seed, "plan", "changes")
    changed = change_subscriptions(held, source, spec.workload.changes.share, _measure(spec), changes)
    subscriptions = _of_subscribers(changed, who)
    rates = draw_rates(
        publications.rates,
        subscriptions.topics,
        publications.events,
        spec.phases.measure,
        _random(spec, "rates"),
        np.bincount(subscriptions.topic, minlength=subscriptions.topics),
    )
    drawn = draw_publications(
        publications.events,
        publications.publisher == "subscriber",
        _measure(spec),
        rates,
        subscriptions,
        who.sessions,
        _random(spec, "publications"),
        who.publishes,
    )
    interests = len(subscriptions.peer)
    return {
        "subscriptions": _table(
            SUBSCRIPTIONS,
            np.arange(interests),
            who.peer(subscriptions.peer),
            subscriptions.topic,
            rates[subscriptions.topic],
            [None] * interests,
            subscriptions.start,
            subscriptions.end,
            who.client(subscriptions.peer),
        ),
        "publications": _publications(publications, who, drawn.at, drawn.publisher, topic=drawn.topic),
    }


def _subscribed_within(spec: TrialSpec, source: TopicSource) -> float:
    """Seconds after the joins in which peers subscribe; 0 if they do with their join."""
    if source.within is not None:
        return source.within
    return max(0.0, min(spec.phases.settle / 3, spec.phases.settle - _SUBSCRIPTION_GRACE))


def _of_subscribers(held: Subscriptions, who: Participants) -> Subscriptions:
    """What those ask for who may subscribe, while they are there."""
    row, start, end = who.while_there(held.peer, held.start, held.end)
    kept = who.subscribes[held.peer[row]]
    row = row[kept]
    return Subscriptions(held.topics, held.peer[row], held.topic[row], start[kept], end[kept])


def _content(spec: TrialSpec, source: ContentSource, who: Participants) -> dict[str, pa.Table]:
    subscribes, sessions = who.subscribes, who.sessions
    count = round(source.per_peer * int(subscribes.sum()))
    window = (spec.phases.join, spec.phases.join + source.within)
    arrivals = _random(spec, "arrivals")
    peer, start = draw_arrivals(count, window, who.number, sessions, arrivals, subscribes)
    publications = spec.workload.publications or Publications(events=0)
    streams = _random(spec, "ranges"), _random(spec, "values")
    own = who.peer(peer)
    region = _regions(spec, source)[own] if isinstance(source, PlacedContentSource) else None
    ranges, values = draw_content(source, count, publications.events, *streams, own, region)
    by_subscriber = publications.publisher == "subscriber"
    random = _random(spec, "publications")
    at = np.sort(random.uniform(*_measure(spec), size=publications.events))
    subscribers = (peer, start) if by_subscriber else None
    publisher = draw_publishers(at, subscribers, who.number, sessions, random, who.publishes)
    row, start, end = who.while_there(peer, start, np.full(count, spec.phases.end))
    peer, held = peer[row], len(row)
    return {
        "subscriptions": _table(
            SUBSCRIPTIONS,
            np.arange(held),
            who.peer(peer),
            [None] * held,
            [None] * held,
            [ranges[interest] for interest in row],
            start,
            end,
            who.client(peer),
        ),
        "publications": _publications(publications, who, at, publisher, attributes=values),
    }


def _regions(spec: TrialSpec, source: PlacedContentSource) -> NDArray[np.int32]:
    """The region of each peer."""
    if source.regions == 1:
        return np.zeros(spec.peers, np.int32)
    location = draw_locations(spec.network, spec.peers, spec.seed)
    network = build_network(spec.network, location.tolist(), spec.seed)
    return draw_regions(source.regions, spec.peers, network.one_way, _random(spec, "regions"))


def _publications(
    publications: Publications,
    who: Participants,
    at: NDArray[np.float64],
    publisher: NDArray[np.int32],
    topic: NDArray[np.int32] | None = None,
    attributes: Rows | None = None,
) -> pa.Table:
    none: list[None] = [None] * len(at)
    return _table(
        PUBLICATIONS,
        np.arange(len(at)),
        at,
        who.peer(publisher),
        none if topic is None else topic,
        none if attributes is None else list(attributes),
        np.full(len(at), publications.payload_bytes),
        who.client(publisher),
    )


def _random(spec: TrialSpec, name: str) -> np.random.Generator:
    return generator(spec.seed, "plan", name)


def _table(schema: pa.Schema, *columns: NDArray[Any] | list[Any]) -> pa.Table:
    return pa.table(
        [pa.array(c, field.type) for c, field in zip(columns, schema, strict=True)], schema=schema
    )


def _sessions(spec: TrialSpec) -> tuple[Sessions, int]:
    """All sessions, and the number of peers that are not the flash crowd."""
    sessions, base = _sessions_without_crash(spec)
    crash = spec.churn.crash
    return sessions if crash is None else cut_by_crash(sessions, crash, _random(spec, "crash")), base


def _sessions_without_crash(spec: TrialSpec) -> tuple[Sessions, int]:
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


def _measure(spec: TrialSpec) -> tuple[float, float]:
    return spec.phases.measure_start, spec.phases.measure_end
