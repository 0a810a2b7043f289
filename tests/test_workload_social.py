"""Groups and followers of social networks."""

from __future__ import annotations

import numpy as np
import pytest

from emulator.workload.social import Followers, Groups, draw_power_law, power_law_mean
from emulator.workload.spec import Popularity
from emulator.workload.topic_rates import draw_rates


def test_groups_have_the_size_that_is_asked_for() -> None:
    fixed = Groups(kind="groups", size=100, per_peer=5).draw(1000, 60.0, np.random.default_rng(1))
    assert fixed.topics == 50
    assert set(np.bincount(fixed.topic)) == {100}
    share = Groups(kind="groups", size=0.02, per_peer=1).draw(1000, 60.0, np.random.default_rng(1))
    assert set(np.bincount(share.topic)) == {20}
    pairs = list(zip(share.peer.tolist(), share.topic.tolist(), strict=True))
    assert len(set(pairs)) == len(pairs)


def test_group_sizes_like_myspaces_have_its_bounds_and_mean() -> None:
    drawn = Groups(kind="groups").draw(20_000, 60.0, np.random.default_rng(1))
    sizes = np.bincount(drawn.topic, minlength=drawn.topics)
    assert sizes.min() == 2
    assert sizes.max() <= 1055
    assert power_law_mean(2, 1055, 1.53) == pytest.approx(37, abs=0.5)
    assert sizes.mean() == pytest.approx(37, rel=0.15)
    small = Groups(kind="groups").draw(50, 60.0, np.random.default_rng(1))
    assert np.bincount(small.topic).max() <= 50


def test_a_power_law_gives_the_frequencies_that_it_says() -> None:
    drawn = draw_power_law(200_000, 1, 2000, 1.65, np.random.default_rng(1))
    counts = np.bincount(drawn)
    assert counts[1] / counts[2] == pytest.approx(2**1.65, rel=0.03)
    assert counts[1] / counts[4] == pytest.approx(4**1.65, rel=0.06)
    assert drawn.mean() == pytest.approx(power_law_mean(1, 2000, 1.65), rel=0.05)


def test_followers_are_skewed_on_both_sides_and_nobody_follows_itself() -> None:
    drawn = Followers(kind="followers", largest=300).draw(1000, 60.0, np.random.default_rng(1))
    assert not (drawn.peer == drawn.topic).any()
    pairs = drawn.peer.astype(np.int64) * 1000 + drawn.topic
    assert len(np.unique(pairs)) == len(pairs)
    follows, followers = np.bincount(drawn.peer), np.bincount(drawn.topic)
    assert follows.min() == 1
    assert 100 < follows.max() <= 300
    assert followers.max() > 100
    two = Followers(kind="followers", largest=300).draw(2, 60.0, np.random.default_rng(1))
    assert sorted(zip(two.peer, two.topic, strict=True)) == [(0, 1), (1, 0)]


def test_rates_by_popularity_follow_the_subscribers() -> None:
    subscribers = np.array([3, 0, 1])
    rates = draw_rates(Popularity(kind="popularity"), 3, 40, 10.0, np.random.default_rng(1), subscribers)
    assert rates.tolist() == pytest.approx([3.0, 0.0, 1.0])


def test_bounds_in_the_wrong_order_are_told() -> None:
    assert Groups(kind="groups", smallest=9, largest=3).problems()[0][0] == "smallest"
    assert Followers(kind="followers", smallest=9, largest=3).problems()[0][0] == "smallest"
    with pytest.raises(ValueError, match="whole number"):
        Groups(kind="groups", size=2.5)
