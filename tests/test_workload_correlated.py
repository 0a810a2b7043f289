"""The workloads of the Magnet paper."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from emulator.files.trace_error import TraceError
from emulator.workload.correlated import EditorFile, Editors, HierarchicalTopics, MultiModal, Spatial
from emulator.workload.social import Followers, _draw_distinct
from emulator.workload.spec import PowerLaw
from emulator.workload.subscription_sources import TopicSource
from emulator.workload.subscriptions import Subscriptions
from emulator.workload.topic_rates import draw_rates


def draw(source: TopicSource, peers: int, seed: int = 1) -> Subscriptions:
    drawn = source.draw(peers, 100.0, np.random.Generator(np.random.PCG64(seed)))
    held = list(zip(drawn.peer.tolist(), drawn.topic.tolist(), strict=True))
    assert len(set(held)) == len(held)
    assert 0 <= min(drawn.topic) <= max(drawn.topic) < drawn.topics
    return drawn


def popularity(drawn: Subscriptions) -> NDArray[np.int64]:
    return np.bincount(drawn.topic, minlength=drawn.topics)


@pytest.mark.parametrize(("chosen", "categories"), [(1, 10), (1, 5), (5, 50), (5, 25)])
def test_multi_modal_peers_have_topics_of_their_categories_alone(chosen: int, categories: int) -> None:
    drawn = draw(MultiModal(kind="multi-modal", chosen=chosen, categories=categories), 400)
    assert len(drawn.peer) == 400 * 50
    size = 1000 // categories
    for peer in range(400):
        assert len(set(drawn.topic[drawn.peer == peer] // size)) <= chosen


def test_multi_modal_topics_are_popular_by_their_rank() -> None:
    drawn = draw(MultiModal(kind="multi-modal", categories=5, per_peer=18), 2000)
    by_rank = popularity(drawn).reshape(5, 200).sum(0)
    assert by_rank[0] > 1.1 * by_rank[3] > 1.1 * by_rank[20] > 1.1 * by_rank[150]


def test_what_the_categories_cannot_give_is_told() -> None:
    assert MultiModal(kind="multi-modal", categories=50).problems() == [
        ("per_peer", "50 topics, but a peer's categories have only 20")
    ]
    assert MultiModal(kind="multi-modal", categories=7).problems()[0][0] == "categories"
    assert MultiModal(kind="multi-modal", categories=5, chosen=6).problems()[0][0] == "chosen"


def test_spatial_interests_are_mutual_and_as_many_as_asked_for() -> None:
    drawn = draw(Spatial(kind="spatial", per_peer=8), 500)
    assert len(drawn.peer) == 500 * 8
    pairs = set(zip(drawn.peer.tolist(), drawn.topic.tolist(), strict=True))
    assert all((topic, peer) in pairs for peer, topic in pairs)
    assert all((peer, peer) in pairs for peer in range(500))


def test_spatial_interests_are_shared_by_neighbours() -> None:
    drawn = draw(Spatial(kind="spatial", per_peer=16), 500)
    held = [set(drawn.topic[drawn.peer == peer].tolist()) for peer in range(500)]
    shared = [len(held[p] & held[q]) for p in range(500) for q in held[p] if q != p]
    assert np.mean(shared) > 0.4 * 16


def test_hierarchical_popularities_follow_the_papers_power_law() -> None:
    drawn = draw(HierarchicalTopics(kind="hierarchical-topics", height=14), 1 << 14)
    assert len(drawn.peer) == 16 << 14
    count = np.sort(popularity(drawn))[::-1]
    tail = (count >= 20) & (count <= 300)
    share = np.arange(1, len(count) + 1) / len(count)
    slope = np.polyfit(np.log(count[tail]), np.log(share[tail]), 1)[0]
    assert -slope == pytest.approx(1.65, abs=0.1)


def test_homophily_has_peers_take_topics_near_those_they_have() -> None:
    def siblings(homophily: float) -> float:
        source = HierarchicalTopics(kind="hierarchical-topics", height=9, homophily=homophily)
        drawn = draw(source, 512)
        pairs = set(zip(drawn.peer.tolist(), drawn.topic.tolist(), strict=True))
        return sum((peer, topic ^ 1) in pairs for peer, topic in pairs) / len(pairs)

    assert siblings(2.0) > 1.3 * siblings(0.5)


def test_editors_have_the_marginals_of_the_trace() -> None:
    drawn = draw(Editors(kind="editors"), 10_000)
    count = popularity(drawn)
    assert count.mean() == pytest.approx(5.4, abs=0.1)
    assert 300 <= count.max() <= 348
    assert count.min() == 1
    assert len(set(drawn.peer.tolist())) == 10_000


def edits(path: Path, *lines: str) -> Path:
    file = path / "editors.csv"
    file.write_text("Page ID,User index\n" + "".join(f"{line}\n" for line in lines))
    return file


def test_an_editor_file_gives_each_pair_once(tmp_path: Path) -> None:
    file = edits(tmp_path, "70,9", "70,8", "71,9", "70,9")
    drawn = draw(EditorFile(kind="editors-file", file=file), 2)
    assert drawn.topics == 2
    assert sorted(popularity(drawn)) == [1, 2]


def test_some_articles_bring_their_editors_alone(tmp_path: Path) -> None:
    file = edits(tmp_path, *(f"{page},{page * 10 + n}" for page in range(9) for n in range(3)))
    drawn = draw(EditorFile(kind="editors-file", file=file, articles=4), 12)
    assert (popularity(drawn) == 3).all()
    with pytest.raises(TraceError, match="12 editors of these articles, but the trial needs 13"):
        draw(EditorFile(kind="editors-file", file=file, articles=4), 13)
    with pytest.raises(TraceError, match="has not enough: 10 articles, but there are only 9"):
        draw(EditorFile(kind="editors-file", file=file, articles=10), 3)


@pytest.mark.parametrize("line", ["70 9", "70,", "70,9,8", "a,b"])
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(TraceError, match="page,editor") as caught:
        draw(EditorFile(kind="editors-file", file=edits(tmp_path, "70,9", line)), 1)
    assert caught.value.line == 3


def test_rates_by_popularity_give_the_most_popular_topic_the_first_rank() -> None:
    rates = PowerLaw(kind="power-law", alpha=0.75, ranks="popularity")
    random = np.random.Generator(np.random.PCG64(1))
    drawn = draw_rates(rates, 3, 100, 10.0, random, np.array([5, 9, 7]))
    assert drawn[1] > drawn[2] > drawn[0]
    assert drawn[1] / drawn[2] == pytest.approx(2**0.75)


def test_topics_that_there_cannot_be_are_refused_and_never_sought_for_ever() -> None:
    source = HierarchicalTopics(kind="hierarchical-topics", height=3, per_peer=3)
    ((key, text),) = source.misfits(400)
    assert key == "initial"
    assert "1,200 subscriptions are asked for, but these peers have at most 8 each, 960 together" in text
    with pytest.raises(ValueError, match="1,200 subscriptions, of 960 that there can be"):
        draw(source, 400)
    assert source.model_copy(update={"initial": 0.5}).misfits(400) == []
    assert HierarchicalTopics(kind="hierarchical-topics", height=3, per_peer=9).problems()[0][0] == "per_peer"
    assert len(draw(source.model_copy(update={"per_peer": 8.0, "initial": 1.0}), 50).peer) == 400


@pytest.mark.parametrize(
    ("source", "mend"),
    [
        (HierarchicalTopics(kind="hierarchical-topics", height=8, per_peer=8, homophily=20), "homophily"),
        (
            HierarchicalTopics(kind="hierarchical-topics", height=4, per_peer=3, initial=1, alpha=1.05),
            "alpha",
        ),
        (MultiModal(kind="multi-modal", topics=100, categories=10, alpha=5, per_peer=10), "alpha"),
    ],
)
def test_topics_that_are_too_improbable_are_given_up_with_the_key_to_change(
    source: TopicSource, mend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("emulator.workload.multi_modal._MOST_SWEEPS", 2000)
    with pytest.raises(ValueError, match=rf"too improbable to be found: .*workload.subscriptions.{mend}"):
        draw(source, 100)


def test_spatial_peers_want_no_more_topics_than_there_are() -> None:
    assert Spatial(kind="spatial", per_peer=16).misfits(10)[0][0] == "per_peer"
    assert Spatial(kind="spatial", per_peer=16).misfits(16) == []


def test_the_least_popular_are_followed_though_draws_would_not_find_them() -> None:
    source = Followers(kind="followers", smallest=9, largest=9, exponent=0)
    assert sorted(np.bincount(draw(source, 11).peer)) == [9] * 11
    weights = np.cumsum([10**15, *[1] * 9])
    found = _draw_distinct(0, 8, weights, np.random.default_rng(1))
    assert len(set(found.tolist())) == 8
    assert 0 not in found


def test_an_article_of_all_editors_gets_them_all() -> None:
    drawn = draw(Editors(kind="editors", articles=40, mean=5.3, most=10), 10)
    assert popularity(drawn).max() == 10
