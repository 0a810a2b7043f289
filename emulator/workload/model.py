"""Draws the subscriptions of a trial from the `workload:` part of an experiment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np

from emulator.workload.changes import replace_topics
from emulator.workload.source import ContentSource, Rows, TopicSource
from emulator.workload.spec import Popularity, PowerLaw, WorkloadSpec
from emulator.workload.subscriptions import Subscriptions


def draw_subscriptions(
    source: TopicSource, peers: int, trial_end: float, random: np.random.Generator
) -> Subscriptions:
    """What each peer subscribes to, as the kind of subscriptions draws it.

    Raises TraceError for a bad file, and ValueError if a package drew what no plan can have.
    """
    drawn = source.draw(peers, trial_end, random)
    order = np.lexsort((drawn.start, drawn.topic, drawn.peer))
    held = Subscriptions(
        drawn.topics, drawn.peer[order], drawn.topic[order], drawn.start[order], drawn.end[order]
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
    """`held` with this share of each peer's topics changed, in `window` (s of trial time)."""
    if share == 0:
        return held
    return replace_topics(held, share, source.bucket(held.topics), source.topics_are_peers, window, random)


def draw_content(
    source: ContentSource, count: int, events: int, ranges: np.random.Generator, values: np.random.Generator
) -> tuple[Rows, Rows]:
    """What each of `count` subscriptions asks for and each of the events has, as columns of the plan.

    `ranges` and `values` are streams of the workload's own. Raises TraceError for a bad file, and ValueError
    if a package drew what no plan can have.
    """
    asked, told = source.draw_interests(count, ranges), source.draw_events(events, values)
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
    """A range with its ends, also where it is a set of values. Raises ValueError for an empty one."""
    values = sorted(set(part["values"])) if "values" in part else None
    if values is not None:
        part = {"attribute": part["attribute"], "values": values}
        part |= {"low": values[0], "high": values[-1]} if values else {}
    if not part.get("low", math.inf) <= part.get("high", -math.inf):
        raise ValueError(f"a subscription to {part['attribute']} asks for no value at all")
    return part


def workload_problems(workload: WorkloadSpec) -> list[tuple[str, str]]:
    """Key and problem, for each combination that cannot be drawn. Reads no file."""
    source = workload.subscriptions
    if workload.lookups is not None and source is not None:
        text = "is there together with workload.subscriptions. Keep one of them"
        return [("workload.lookups", text)]
    if source is None:
        return _without_subscriptions(workload)
    problems = _role_problems(workload)
    of_source = [(f"workload.subscriptions.{key}", problem) for key, problem in source.problems()]
    if isinstance(source, ContentSource):
        return problems + of_source + _content_problems(workload)
    each = source.topics_in_bucket()
    if not of_source and workload.changes.share > 0 and each:
        size = source.bucket(getattr(source, "topics", 0))
        if 2 * each > size:
            problem = f"a peer has {each} of the {size} topics of a bucket, so too few are left to change to"
            problems.append(("workload.changes.share", problem))
    return of_source + problems


def _role_problems(workload: WorkloadSpec) -> list[tuple[str, str]]:
    publications, roles = workload.publications, workload.roles
    if roles.publisher and publications is not None and publications.publisher == "subscriber":
        text = 'is "subscriber", but the publishers of workload.roles do not subscribe. Set it to any'
        return [("workload.publications.publisher", text)]
    return []


def _without_subscriptions(workload: WorkloadSpec) -> list[tuple[str, str]]:
    problems = []
    if workload.lookups is None:
        problems.append(("workload", "has neither subscriptions nor lookups. Add one of them"))
    if workload.publications is not None:
        problems.append(("workload.publications", "needs workload.subscriptions. Add them, or remove it"))
    if workload.changes.share > 0:
        problems.append(("workload.changes.share", "there are no subscriptions to change. Remove it"))
    if any(workload.roles.numbers(2**20).values()):
        problems.append(("workload.roles", "needs workload.subscriptions. Add them, or remove it"))
    if workload.clients is not None:
        problems.append(("workload.clients", "needs workload.subscriptions. Add them, or remove it"))
    return problems


def _content_problems(workload: WorkloadSpec) -> list[tuple[str, str]]:
    problems = []
    if workload.changes.share > 0:
        problems.append(("workload.changes.share", "ranges are not changed, only topics are. Remove it"))
    if workload.publications is not None and isinstance(workload.publications.rates, PowerLaw | Popularity):
        text = "only topics differ in rate, and these subscriptions are ranges. Remove it"
        problems.append(("workload.publications.rates", text))
    return problems
