"""Subscriptions of a trial, drawn from the `workload:` part of an experiment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.contract.mistakes import code_of
from emulator.files.trace_error import TraceError
from emulator.workload.changes import replace_topics
from emulator.workload.subscription_sources import ContentSource, PlacedContentSource, Rows, TopicSource
from emulator.workload.subscriptions import Subscriptions


def draw_subscriptions(
    source: TopicSource, peers: int, trial_end: float, random: np.random.Generator
) -> Subscriptions:
    """Return what each peer subscribes to, as the kind of subscriptions draws it.

    Raises TraceError for a bad file, and ValueError if a package drew what no plan can have.
    """
    with code_of(source, "drew no Subscriptions", ValueError, TraceError):
        drawn = source.draw(peers, trial_end, random)
        order = np.lexsort((drawn.start, drawn.topic, drawn.peer))
        held = Subscriptions(
            drawn.topics,
            drawn.peer[order],
            drawn.topic[order],
            drawn.start[order],
            drawn.end[order],
            drawn.facts,
        )
    these = f"subscriptions of kind {getattr(source, 'kind', '?')}"
    for what, numbers, limit in (("peer", held.peer, peers), ("topic", held.topic, held.topics)):
        if len(numbers) and not 0 <= numbers.min() <= numbers.max() < limit:
            raise ValueError(f"{these} have a {what} that is not from 0 to {limit - 1}")
    if np.any(held.end < held.start) or np.any(held.start < 0):
        raise ValueError(f"{these} have one that ends before it starts, or starts below 0")
    return held


def change_subscriptions(
    held: Subscriptions, source: TopicSource, share: float, window: tuple[float, float], random: Random
) -> Subscriptions:
    """Return `held` with this share of each peer's topics changed, in `window` (s of trial time)."""
    if share == 0:
        return held
    return replace_topics(held, share, source.bucket(held.topics), source.topics_are_peers, window, random)


def draw_content(
    source: ContentSource,
    count: int,
    events: int,
    ranges: np.random.Generator,
    values: np.random.Generator,
    peer: NDArray[np.int32] | None = None,
    region: NDArray[np.int32] | None = None,
) -> tuple[Rows, Rows]:
    """Return what each of `count` subscriptions asks for and what each event has, as columns of the plan.

    `ranges` and `values` are streams of the workload's own; `peer` and `region` are those of each
    subscription, for a source to which they matter. Raises TraceError for a bad file, and ValueError if a
    package drew what no plan can have.
    """
    if isinstance(source, PlacedContentSource) and peer is not None and region is not None:
        asked = source.draw_interests_of(peer, region, ranges)
    else:
        asked = source.draw_interests(count, ranges)
    told = source.draw_events(events, values)
    these, domains = f"subscriptions of kind {getattr(source, 'kind', '?')}", source.domains()
    for what, rows, number in (("subscriptions", asked, count), ("events", told, events)):
        if len(rows) != number:
            raise ValueError(f"{these} are {len(rows)} {what} where {number} were asked for")
        for row in rows:
            names = [part["attribute"] for part in row]
            if not names or len(set(names)) < len(names) or not domains.keys() >= set(names):
                known = ", ".join(domains)
                raise ValueError(f"{these}: {what} need attributes, each once, of {known}; one has {names}")
    return [[_closed(part) for part in row] for row in asked], told


def _closed(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the range with its ends, also where it is a set of values. Raises ValueError for an
    empty one."""
    values = sorted(set(part["values"])) if "values" in part else None
    if values is not None:
        part = {"attribute": part["attribute"], "values": values}
        part |= {"low": values[0], "high": values[-1]} if values else {}
    if not part.get("low", math.inf) <= part.get("high", -math.inf):
        raise ValueError(f"a subscription to {part['attribute']} asks for no value at all")
    return part
