"""The kinds of subscriptions of the Magnet paper (section 4)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from emulator.workload.source import Problems, TopicSource

if TYPE_CHECKING:
    import numpy as np

    from emulator.workload.subscriptions import Subscriptions


class MultiModal(TopicSource):
    """Topics by rank from a few categories for each peer (section 4.2)."""

    kind: Literal["multi-modal"]
    topics: int = Field(1000, ge=1)
    categories: int = Field(10, ge=1, description="b_n: equal parts of the topics")
    chosen: int = Field(1, ge=1, description="b_p: categories of a peer")
    alpha: float = Field(1.0, ge=0, le=5, description="of the power law of popularity in a category")
    per_peer: float = Field(50.0, gt=0, description="mean over all peers")

    def draw(self, peers: int, trial_end: float, random: np.random.Generator) -> Subscriptions:
        """Draw for every peer until the mean is reached; a peer holds its topics from its first join on."""
        from emulator.workload.multi_modal import draw_multi_modal
        from emulator.workload.subscriptions import held_throughout

        drawn = draw_multi_modal(
            peers, self.topics, self.categories, self.chosen, self.alpha, self.per_peer, random
        )
        return held_throughout(self.topics, *drawn, trial_end)

    def bucket(self, topics: int) -> int:
        """Return the number of topics in a category."""
        return topics // self.categories

    def problems(self) -> Problems:
        """Return the numbers that do not divide or do not fit."""
        if self.topics % self.categories:
            text = f"{self.topics} topics do not divide into {self.categories} equal categories"
            return [("categories", text)]
        if self.chosen > self.categories:
            return [("chosen", f"{self.chosen}, but there are only {self.categories} categories")]
        own = self.chosen * self.bucket(self.topics)
        if self.per_peer > own:
            return [("per_peer", f"{self.per_peer:g} topics, but a peer's categories have only {own}")]
        return []


class Spatial(TopicSource):
    """Topics of near peers: each peer has a topic and a place on a square, and wants the topics around it
    (section 4.3)."""

    topics_are_peers: ClassVar[bool] = True

    kind: Literal["spatial"]
    per_peer: float = Field(16.0, ge=1, description="t: mean over all peers, the peer's own topic included")

    def draw(self, peers: int, trial_end: float, random: np.random.Generator) -> Subscriptions:
        """Draw who is near whom; topic t is what peer t publishes."""
        from emulator.workload.spatial import draw_spatial
        from emulator.workload.subscriptions import held_throughout

        return held_throughout(peers, *draw_spatial(peers, self.per_peer, random), trial_end)


class HierarchicalTopics(TopicSource):
    """Preferential attachment over a binary tree of topics (section 4.4)."""

    kind: Literal["hierarchical-topics"]
    height: int = Field(10, ge=1, le=20, description="of the tree: 2 ** height topics")
    per_peer: float = Field(16.0, gt=0, description="Z: mean over all peers")
    initial: float = Field(0.1, ge=0, le=1, description="initFrac: share of the topics drawn at random")
    alpha: float = Field(2.0, gt=1, le=5, description="alpha0: exponent of the popularity at first")
    homophily: float = Field(2.0, ge=0, le=20, description="lambda")

    def draw(self, peers: int, trial_end: float, random: np.random.Generator) -> Subscriptions:
        """Draw for as many peers as the trial has; the paper has as many peers as topics."""
        from emulator.workload.hierarchical import draw_hierarchical
        from emulator.workload.subscriptions import held_throughout

        drawn = draw_hierarchical(
            peers, self.height, self.per_peer, self.initial, self.alpha, self.homophily, random
        )
        return held_throughout(1 << self.height, *drawn, trial_end)


class EditorFile(TopicSource):
    """The articles that editors edited, from a file with a line `page,editor` for each pair (section 4.5)."""

    kind: Literal["editors-file"]
    file: Path
    articles: int | None = Field(None, ge=1, description="random articles that count; left out: all")

    def draw(self, peers: int, trial_end: float, random: np.random.Generator) -> Subscriptions:
        """Return what editors edited: a peer is an editor of the articles that count.

        If there are more such editors than peers, random ones are taken. Raises TraceError for a bad file, or
        one with fewer editors than peers.
        """
        import numpy as np

        from emulator.files.trace_error import TraceError
        from emulator.workload.editors import load_editors, sample_articles
        from emulator.workload.subscriptions import held_throughout

        held = load_editors(self.file)
        count = self.articles or int(held[1].max()) + 1
        try:
            editor, article = sample_articles(held, count, random)
        except ValueError as error:
            raise TraceError(self.file, 0, f"has not enough: {error}") from error
        number = int(editor.max()) + 1
        if number < peers:
            text = f"has {number} editors of these articles, but the trial needs {peers}: lower `peers`"
            raise TraceError(self.file, 0, text)
        place = np.full(number, -1)
        place[np.sort(random.permutation(number)[:peers])] = np.arange(peers)
        kept = place[editor] >= 0
        return held_throughout(count, place[editor[kept]], article[kept], trial_end)


class Editors(TopicSource):
    """Editors that are drawn with the marginals that the paper gives, and without correlation
    (section 4.5)."""

    kind: Literal["editors"]
    articles: int = Field(3000, ge=1)
    mean: float = Field(5.4, gt=1, description="editors of an article")
    most: int = Field(348, ge=2, description="editors of an article")

    def draw(self, peers: int, trial_end: float, random: np.random.Generator) -> Subscriptions:
        """Draw articles for every peer, as far as there are enough."""
        from emulator.workload.editors import draw_editors
        from emulator.workload.subscriptions import held_throughout

        drawn = draw_editors(peers, self.articles, self.mean, self.most, random)
        return held_throughout(self.articles, *drawn, trial_end)


CORRELATED = (MultiModal, Spatial, HierarchicalTopics, EditorFile, Editors)
"""All kinds of subscriptions of the Magnet paper."""
