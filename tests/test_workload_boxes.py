"""Boxes and events of comparable distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.workload.content_patterns import BoxPattern
from emulator.workload.draw_boxes import draw_regions
from emulator.workload.subscription_sources import Rows

PEERS = 100
PEER = np.repeat(np.arange(PEERS, dtype=np.int32), 5)
REGION = PEER % 4


def pattern(**fields: Any) -> BoxPattern:
    given = {"kind": "boxes", "attributes": {"a": (-50, 50), "b": (0, 10)}, "interested": 12, "regions": 4}
    return BoxPattern.model_validate(given | fields)


def bounds(rows: Rows) -> NDArray[np.float64]:
    """Return low and high of both attributes, for each subscription."""
    return np.array([[[part["low"], part["high"]] for part in row] for row in rows])


def interested(asked: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Return the number of peers that an event interests, on average."""
    hits = ((asked[None, :, :, 0] <= values[:, None]) & (values[:, None] <= asked[None, :, :, 1])).all(axis=2)
    return float(np.mean([len(set(PEER[row])) for row in hits]))


@pytest.mark.parametrize("interests", ["uniform", "skewed", "local"])
@pytest.mark.parametrize("events", ["uniform", "skewed"])
def test_an_event_interests_as_many_peers_as_is_asked_for(interests: str, events: str) -> None:
    asked = pattern(interests=interests, events=events)
    boxes = bounds(asked.draw_interests_of(PEER, REGION, np.random.default_rng(1)))
    told = asked.draw_events(2000, np.random.default_rng(2))
    values = np.array([[part["value"] for part in row] for row in told])
    assert interested(boxes, values) == pytest.approx(12, rel=0.2)
    assert (boxes[..., 0] <= boxes[..., 1]).all()
    low, high = np.array([-50.0, 0.0]), np.array([50.0, 10.0])
    assert (boxes[..., 0] >= low - 1e-9).all() and (boxes[..., 1] <= high + 1e-9).all()
    assert (values >= low).all() and (values <= high).all()


def test_skewed_events_gather_at_the_low_end_and_uniform_ones_do_not() -> None:
    shares = {}
    for events in ("uniform", "skewed"):
        told = pattern(events=events).draw_events(2000, np.random.default_rng(1))
        shares[events] = np.mean([row[0]["value"] < -40 for row in told])
    assert shares["uniform"] == pytest.approx(0.1, abs=0.03) and shares["skewed"] > 0.4


def test_boxes_lie_around_their_centres_so_that_as_many_reach_either_end_of_the_domain() -> None:
    boxes = bounds(pattern().draw_interests_of(PEER, REGION, np.random.default_rng(1)))
    below, above = np.isclose(boxes[:, 0, 0], -50), np.isclose(boxes[:, 0, 1], 50)
    assert below.mean() > 0.05
    assert below.mean() == pytest.approx(above.mean(), abs=0.05)


def test_peers_of_one_region_want_alike() -> None:
    def apart(interests: str) -> float:
        boxes = bounds(pattern(interests=interests).draw_interests_of(PEER, REGION, np.random.default_rng(1)))
        centres = boxes.mean(axis=2)[:, 0]
        return float(np.mean([centres[region == REGION].std() for region in range(4)]))

    assert apart("local") < 0.7 * apart("uniform")


def test_regions_are_of_the_nearest_landmarks() -> None:
    places = np.array([0, 1, 2, 50, 51, 52, 99, 100])
    region = draw_regions(3, 8, lambda a, b: abs(places[a] - places[b]), np.random.default_rng(3))
    assert len(set(region.tolist())) == 3
    groups = [set(np.flatnonzero(region == number).tolist()) for number in range(3)]
    assert all(max(group) - min(group) == len(group) - 1 for group in groups)


def test_a_plan_of_local_interests_is_the_same_each_time() -> None:
    spec = TrialSpec.model_validate(
        {
            "system": {"name": "siena"},
            "peers": 20,
            "network": {"latency": {"kind": "king", "hosts": 30}},
            "workload": {
                "subscriptions": {"kind": "boxes", "interests": "local", "per_peer": 3, "interested": 4},
                "publications": {"events": 10, "publisher": "any"},
            },
        }
    )
    assert draw_plan(spec) == draw_plan(spec)
    assert draw_plan(spec).subscriptions.num_rows == 60


def test_an_empty_domain_is_told() -> None:
    assert pattern(attributes={"a": (1, 1)}).problems() == [
        ("attributes.a", "the domain [1, 1] is empty. Let it have low < high")
    ]
