"""Workloads by content: draws who subscribes to which ranges of attributes, and the attributes of events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emulator.contract.workload import Drawing
from emulator.workload.arrivals import draw_arrivals, draw_publishers
from emulator.workload.draw_boxes import draw_regions
from emulator.workload.draw_subscriptions import draw_content
from emulator.workload.publications import publication_columns
from emulator.workload.spec import Publications
from emulator.workload.subscription_sources import ContentSource, PlacedContentSource


def draw_by_content(
    source: ContentSource, publications: Publications, trial: Drawing
) -> Mapping[str, Mapping[str, Any]]:
    """Return the columns of the plan's tables of subscriptions and publications."""
    phases, who = trial.phases, trial.participants
    subscribes, sessions = who.subscribes, who.sessions
    count = round(source.per_peer * int(subscribes.sum()))
    window = (phases.join, phases.join + source.within)
    peer, start = draw_arrivals(count, window, who.number, sessions, trial.random("arrivals"), subscribes)
    streams = trial.random("ranges"), trial.random("values")
    own = who.peer(peer)
    region = _regions(trial, source)[own] if isinstance(source, PlacedContentSource) else None
    ranges, values = draw_content(source, count, publications.events, *streams, own, region)
    by_subscriber = publications.publisher == "subscriber"
    random = trial.random("publications")
    at = np.sort(random.uniform(phases.measure_start, phases.measure_end, size=publications.events))
    subscribers = (peer, start) if by_subscriber else None
    publisher = draw_publishers(
        at, subscribers, who.number, sessions, random, who.publishing(publications.publisher)
    )
    row, start, end = who.while_there(peer, start, np.full(count, phases.end))
    peer, held = peer[row], len(row)
    return {
        "subscriptions": {
            "interest": np.arange(held),
            "peer": who.peer(peer),
            "topic": [None] * held,
            "rate": [None] * held,
            "ranges": [ranges[interest] for interest in row],
            "start_s": start,
            "end_s": end,
            "client": who.client(peer),
        },
        "publications": publication_columns(publications, who, at, publisher, attributes=values),
    }


def _regions(trial: Drawing, source: PlacedContentSource) -> NDArray[np.int32]:
    """Return the region of each peer."""
    if source.regions == 1:
        return np.zeros(trial.peers, np.int32)
    return draw_regions(source.regions, trial.peers, trial.one_way, trial.random("regions"))
