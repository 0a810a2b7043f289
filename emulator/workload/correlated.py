"""The kinds of subscriptions of the Magnet paper (section 4)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from emulator.files.quantities import Share
from emulator.workload.size import MOST_CELLS, more
from emulator.workload.subscription_sources import Problems, TopicSource

if TYPE_CHECKING:
    import numpy as np

    from emulator.workload.editors import Pairs
    from emulator.workload.subscriptions import Subscriptions


class MultiModal(TopicSource):
    """Topics by rank from a few categories for each peer (section 4.2)."""

    kind: Literal["multi-modal"]
    topics: int = Field(1000, ge=1, description="number of topics")
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

    def misfits(self, peers: int) -> Problems:
        """Return a problem if the table of all peers and topics is too large for any machine."""
        if peers * self.topics <= MOST_CELLS:
            return []
        return [("topics", more("pairs of peer and topic", peers * self.topics, MOST_CELLS, "Lower it"))]


class Spatial(TopicSource):
    """Topics of near peers: each peer has a topic and a place on a square, and wants the topics around it
    (section 4.3)."""

    topics_are_peers: ClassVar[bool] = True

    kind: Literal["spatial"]
    per_peer: float = Field(16.0, ge=1, description="t: mean over all peers, the peer's own topic included")

    def misfits(self, peers: int) -> Problems:
        """Return a problem if each peer would want more topics than there are."""
        if self.per_peer <= peers:
            return []
        return [
            ("per_peer", f"is {self.per_peer:g}, but there are only the topics of {peers} peers. Lower it")
        ]

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
    initial: Share = Field(0.1, ge=0, le=1, description="initFrac: share of the topics drawn at random")
    alpha: float = Field(2.0, gt=1, le=5, description="alpha0: exponent of the popularity at first")
    homophily: float = Field(2.0, ge=0, le=20, description="lambda")

    def problems(self) -> Problems:
        """Return a problem if a peer would have more topics than there are."""
        topics = 1 << self.height
        if self.per_peer <= topics:
            return []
        return [("per_peer", f"is {self.per_peer:g}, but a tree of height {self.height} has {topics} topics")]

    def misfits(self, peers: int) -> Problems:
        """Return a problem if the peers that have a topic at first cannot have as many as are asked for."""
        from emulator.workload.hierarchical import most_that_can_be

        asked = round(self.per_peer * peers)
        most = most_that_can_be(peers, self.height, self.per_peer, self.initial)
        if self.problems() or asked <= most:
            return []
        topics = 1 << self.height
        text = (
            f"is {self.initial:g}, so that at most {most // topics:,} of {peers:,} peers have one at first "
            f"and others never get one: {asked:,} subscriptions are asked for, but these peers have at most "
            f"{topics} each, {most:,} together. Raise it, or lower per_peer"
        )
        return [("initial", text)]

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
    file: Path = Field(description="the pages and their editors, a pair on each line")
    articles: int | None = Field(None, ge=1, description="random articles that count; left out: all")

    def draw(self, peers: int, trial_end: float, random: np.random.Generator) -> Subscriptions:
        """Return what editors edited: a peer is an editor of the articles that count.

        If there are more such editors than peers, random ones are taken. Raises TraceError for a bad file, or
        one with fewer editors than peers.
        """
        import numpy as np

        from emulator.files.input_facts import Facts
        from emulator.files.trace_error import TraceError
        from emulator.workload.editors import load_editors, sample_articles
        from emulator.workload.subscriptions import held_throughout

        read = load_editors(self.file)
        count = self.articles or int(read.pairs[1].max()) + 1
        if problems := self._too_few(read.pairs, peers):
            raise TraceError(self.file, 0, "; ".join(problem for _, problem in problems))
        editor, article = sample_articles(read.pairs, count, random)
        number = int(editor.max()) + 1
        if number < peers:
            raise TraceError(self.file, 0, self._too_few_editors(number, peers))
        place = np.full(number, -1)
        place[np.sort(random.permutation(number)[:peers])] = np.arange(peers)
        kept = place[editor] >= 0
        facts = read.facts
        if number > peers or self.articles:
            facts += Facts(
                (f"{count:,} articles count, and {peers:,} of their {number:,} editors were taken",)
            )
        return held_throughout(count, place[editor[kept]], article[kept], trial_end, facts)

    def problems_of_files(self, peers: int) -> Problems:
        """Return a problem if the file has fewer articles or editors than are asked for."""
        from emulator.workload.editors import load_editors

        return self._too_few(load_editors(self.file).pairs, peers)

    def _too_few(self, pairs: Pairs, peers: int) -> Problems:
        editors, articles = (int(column.max()) + 1 for column in pairs)
        if self.articles and self.articles > articles:
            text = f"has not enough: {self.articles} articles, but there are only {articles}. Lower articles"
            return [("articles", text)]
        return [("file", self._too_few_editors(editors, peers))] if editors < peers else []

    def _too_few_editors(self, editors: int, peers: int) -> str:
        of = "of these articles" if self.articles else "in all"
        return f"has {editors} editors {of}, but the trial needs {peers}: lower `peers`"


class Editors(TopicSource):
    """Editors that are drawn with the marginals that the paper gives, and without correlation
    (section 4.5)."""

    kind: Literal["editors"]
    articles: int = Field(3000, ge=1, description="articles that are drawn")
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
