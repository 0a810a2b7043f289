"""Where events fall, and when zones are drawn anew.

Each server tells its leader the values of events that were published there, leaders tell the first leader
of all, and that one draws the zones of the next epoch when one zone's load is too far above the mean.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from emulator.overlays.cliques.overlay import Cliques
from emulator.protocol import Environment, Message
from emulator.pubsub.content.space import EventSpace, Values
from emulator.pubsub.content.zones import draw_zones, imbalance
from emulator.pubsub.kyra.epoch import Epoch, epoch_in
from emulator.pubsub.kyra.parameters import KyraParameters
from trellis.v1.kyra import KyraEpochNews, KyraRates

_SAMPLES: Final = 4096
"""Events that the first leader judges by, the latest ones."""
_PER_ZONE: Final = 10
"""Events a zone that it needs for that."""
_CHANCE: Final = 3.0
"""Standard deviations of a zone's events that chance alone may put into it, or leave out of it."""
_QUIET: Final = 20.0
"""Seconds without a change of any clique after which cliques have formed. Meanwhile a leader asks a peer that
the bootstrap service names: one that knows few of many cliques learns of the others."""
_STEP: Final = 1 << 12
"""Between the numbers of epochs; two that are drawn at once differ in the rest."""


class Rates:
    """One server's part in it."""

    def __init__(
        self,
        environment: Environment,
        parameters: KyraParameters,
        space: EventSpace,
        cliques: Cliques,
        newest: Callable[[], Epoch | None],
        begin: Callable[[Epoch], None],
    ) -> None:
        """`newest()` is the epoch that was drawn last; `begin(epoch)` hears of a newer one."""
        self._environment = environment
        self._parameters = parameters
        self._space = space
        self._cliques = cliques
        self._newest = newest
        self._begin = begin
        self._seen: list[Values] = []
        """Published here, or told by others and not yet told on."""
        self._judged: list[Values] = []
        self._changed = environment.now
        environment.serve(KyraRates, self._on_rates)
        environment.handle(KyraEpochNews, self._on_news)

    def start(self) -> None:
        """Report from time to time."""
        if self._parameters.zones == "rates":
            self._environment.every(self._parameters.report, self.report)

    def note(self, values: Values) -> None:
        """An event was published here."""
        if self._parameters.zones == "rates" and len(self._seen) < _SAMPLES:
            self._seen.append(values)

    def note_change(self) -> None:
        """A clique is another one than before."""
        self._changed = self._environment.now

    def report(self) -> None:
        """Tell whoever is next, or judge."""
        view = self._cliques.view
        if view is None:
            return
        me = self._environment.peer
        if view.leader != me:
            self._tell(view.leader)
            return
        first = min(self._cliques.directory.records, default=me)
        if first != me:
            self._tell(first)
        else:
            self._judged = (self._judged + self._seen)[-_SAMPLES:]
            self._seen = []
            self._judge()

    def spread(self, epoch: Epoch) -> None:
        """A leader passes news on: to its mates, and the one that drew the epoch to the other leaders."""
        me, view = self._environment.peer, self._cliques.view
        if view is None or view.leader != me:
            return
        others = set(self._cliques.mates)
        if epoch.number % _STEP == me % _STEP:
            others.update(self._cliques.directory.records)
        news = KyraEpochNews(epoch.message())
        for peer in sorted(others - {me}):
            self._environment.send(peer, news)

    def _tell(self, peer: int) -> None:
        told, self._seen = self._seen, []
        self._ask(peer, told)

    def _ask(self, peer: int, told: list[Values]) -> None:
        epoch = self._newest()
        flat = [value for values in told for value in values]
        rates = KyraRates(0 if epoch is None else epoch.number, len(told), flat)
        self._environment.request(
            peer, rates, self._parameters.patience, self._told, lambda: self._keep(told)
        )

    def _keep(self, told: list[Values]) -> None:
        self._seen = (told + self._seen)[:_SAMPLES]

    def _told(self, answer: Message) -> None:
        assert isinstance(answer, KyraEpochNews)
        self._on_news(-1, answer)

    def _on_news(self, sender: int, news: KyraEpochNews) -> None:
        newest = self._newest()
        if news.epoch is not None and (newest is None or news.epoch.number > newest.number):
            epoch = epoch_in(news.epoch)
            self._begin(epoch)
            self.spread(epoch)

    def _on_rates(self, sender: int, rates: KyraRates) -> KyraEpochNews:
        width = len(self._space.names)
        values = rates.values
        self._seen += [values[place : place + width] for place in range(0, len(values), width)]
        self._seen = self._seen[-_SAMPLES:]
        epoch = self._newest()
        known = 0 if epoch is None else epoch.number
        if rates.epoch > known:
            # Two drew zones before they knew of each other: ask for those that are newer.
            self._ask(sender, [])
        return KyraEpochNews(None if epoch is None or known <= rates.epoch else epoch.message())

    def _judge(self) -> None:
        """Draw the first zones when cliques have formed, and others when the load is off balance."""
        now, newest = self._environment.now, self._newest()
        if newest is None:
            if now >= self._parameters.formation or now - self._changed > _QUIET:
                self._draw()
            return
        if self._parameters.trees is None and self._largest > self._parameters.balance * len(newest.zones):
            # Cliques have grown, and some of their members would have no zone.
            self._draw()
            return
        enough = len(self._judged) >= _PER_ZONE * newest.trees
        if enough and now > newest.begins + self._parameters.notice:
            mean = len(self._judged) / len(newest.zones)
            fullest = imbalance(newest.zones, self._judged) * mean
            if fullest - _CHANCE * fullest**0.5 > self._parameters.balance * mean:
                self._draw()
                self._judged = []

    @property
    def _largest(self) -> int:
        """The members of the largest clique that is known."""
        records = self._cliques.directory.records.values()
        return max((len(record.members) for record in records), default=1)

    def _draw(self) -> None:
        newest = self._newest()
        largest = self._largest
        trees = self._parameters.trees or largest
        parts = -(-largest // trees)
        number = (0 if newest is None else newest.number // _STEP) + 1
        zones = draw_zones(self._space, trees * parts, self._judged)
        begins = self._environment.now + self._parameters.notice
        epoch = Epoch(number * _STEP + self._environment.peer % _STEP, begins, parts, zones)
        self._begin(epoch)
        self.spread(epoch)
