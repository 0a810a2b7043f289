"""Workloads by topic: draws who subscribes to which topics, and what is published on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from emulator.contract.workload import Drawing, Trial
from emulator.files.input_facts import Facts
from emulator.workload.draw_subscriptions import change_subscriptions, draw_subscriptions
from emulator.workload.participants import Participants
from emulator.workload.publications import draw_publications, publication_columns
from emulator.workload.spec import Publications
from emulator.workload.subscription_sources import TopicSource
from emulator.workload.subscriptions import Subscriptions, begun_after_joins
from emulator.workload.topic_rates import draw_rates

_SUBSCRIPTION_GRACE = 10.0
"""The seconds after a subscription from which on the analysis expects events (`JOIN_GRACE_S` there)."""


def draw_topics(
    source: TopicSource, publications: Publications, trial: Drawing
) -> Mapping[str, Mapping[str, Any]]:
    """Return the columns of the plan's tables of subscriptions and publications."""
    phases, who = trial.phases, trial.participants
    measure = phases.measure_start, phases.measure_end
    held = draw_subscriptions(source, who.number, phases.end, trial.random("subscriptions"))
    trial.tell(held.facts)
    if within := _subscribed_within(trial, source):
        beginnings = trial.random("beginnings")
        held = begun_after_joins(held, phases.join, within, who.sessions, beginnings)
    share = trial.workload.changes.share
    changed = change_subscriptions(held, source, share, measure, trial.stream("changes"))
    if share:
        trial.tell(_changes(held, changed, share))
    subscriptions = _of_subscribers(changed, who)
    rates = draw_rates(
        publications.rates,
        subscriptions.topics,
        publications.events,
        phases.measure,
        trial.random("rates"),
        np.bincount(subscriptions.topic, minlength=subscriptions.topics),
    )
    drawn = draw_publications(
        publications.events,
        publications.publisher == "subscriber",
        measure,
        rates,
        subscriptions,
        who.sessions,
        trial.random("publications"),
        who.publishing(publications.publisher),
    )
    interests = len(subscriptions.peer)
    return {
        "subscriptions": {
            "interest": np.arange(interests),
            "peer": who.peer(subscriptions.peer),
            "topic": subscriptions.topic,
            "rate": rates[subscriptions.topic],
            "ranges": [None] * interests,
            "start_s": subscriptions.start,
            "end_s": subscriptions.end,
            "client": who.client(subscriptions.peer),
        },
        "publications": publication_columns(publications, who, drawn.at, drawn.publisher, topic=drawn.topic),
    }


def _changes(held: Subscriptions, changed: Subscriptions, share: float) -> Facts:
    """Return a warning if fewer topics were changed than asked for, because their buckets have no others."""
    asked, done = share * len(held.peer), len(changed.peer) - len(held.peer)
    by_lot = 2 * asked**0.5  # a share that is no whole number of topics is rounded by lot
    if done >= asked - max(by_lot, 0.02 * asked):
        return Facts()
    text = f"about {asked:,.0f} topics were to be changed, but {done:,} were: buckets have no others"
    return Facts((), (text,))


def _subscribed_within(trial: Trial, source: TopicSource) -> float:
    """Return the seconds after the joins in which peers subscribe; 0 if they do with their join."""
    if source.within is not None:
        return source.within
    settle = trial.phases.settle
    return max(0.0, min(settle / 3, settle - _SUBSCRIPTION_GRACE))


def _of_subscribers(held: Subscriptions, who: Participants) -> Subscriptions:
    """Return the subscriptions of those that may subscribe, while they are there."""
    row, start, end = who.while_there(held.peer, held.start, held.end)
    kept = who.subscribes[held.peer[row]]
    row = row[kept]
    return Subscriptions(held.topics, held.peer[row], held.topic[row], start[kept], end[kept])
