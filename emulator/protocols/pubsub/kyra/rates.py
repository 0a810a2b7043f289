"""Event rates: how the first leader learns where events fall, and others learn of the zones that it draws.

Each server tells its leader the values of events that were published there, and leaders tell the first leader
of all. The answer brings the newest epoch to servers that do not know it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from emulator.contract.protocol import Environment, Message
from emulator.protocols.overlays.cliques.overlay import Cliques
from emulator.protocols.pubsub.content.space import EventSpace, Values
from emulator.protocols.pubsub.kyra.drawing import SAMPLES, Drawing
from emulator.protocols.pubsub.kyra.epoch import STEP, Epoch, epoch_in
from emulator.protocols.pubsub.kyra.parameters import KyraParameters
from trellis.v1.kyra import KyraEpoch, KyraEpochNews, KyraRates


class Rates:
    """The part of one server in the exchange of rates and zones."""

    def __init__(
        self,
        environment: Environment,
        parameters: KyraParameters,
        space: EventSpace,
        cliques: Cliques,
        newest: Callable[[], Epoch | None],
        begin: Callable[[Epoch], None],
    ) -> None:
        """`newest()` returns the epoch that was drawn last; `begin(epoch)` is called for a newer one."""
        self._environment = environment
        self._parameters = parameters
        self._space = space
        self._cliques = cliques
        self._newest = newest
        self._begin = begin
        self._missed: dict[int, float] = {}
        """The leaders that left a question unanswered, with the trial time of it (s)."""
        self._silent: dict[int, float] = {}
        """The leaders that left two in a row unanswered, with the trial time until which they are passed over
        (s): as long as the directory may have the record of a leader that has gone."""
        self._seen: list[Values] = []
        """The events that were published here or told by others, and that were not told on yet."""
        self._drawing = Drawing(environment, parameters, space, cliques, newest)
        environment.serve(KyraRates, self._on_rates)
        environment.handle(KyraEpochNews, self._on_news)

    def start(self) -> None:
        """Report from time to time."""
        if self._parameters.zones == "rates":
            self._environment.every(self._parameters.report, self.report)

    def note(self, values: Values) -> None:
        """Note an event that was published here."""
        if self._parameters.zones == "rates" and len(self._seen) < SAMPLES:
            self._seen.append(values)

    def note_change(self) -> None:
        """Note that a clique has changed."""
        self._drawing.note_change()

    def report(self) -> None:
        """Tell the next leader of the events, or judge the zones as the first leader."""
        view = self._cliques.view
        if view is None:
            return
        me = self._environment.peer
        if view.leader != me:
            self._tell(view.leader)
            return
        first = self._first(me)
        if first != me:
            self._tell(first)
        else:
            seen, self._seen = self._seen, []
            drawn = self._drawing.judge(seen)
            if drawn is not None:
                self._begin(drawn)
                self.spread(drawn)

    def spread(self, epoch: Epoch) -> None:
        """Spread an epoch as a leader: to the mates, and to the other leaders if this server drew it."""
        me, view = self._environment.peer, self._cliques.view
        if view is None or view.leader != me:
            return
        others = set(self._cliques.mates)
        if epoch.number % STEP == me % STEP:
            others.update(self._cliques.directory.records)
        news = KyraEpochNews(epoch.message())
        for peer in sorted(others - {me}):
            self._environment.send(peer, news)

    def _first(self, me: int) -> int:
        """Return the first leader of those that do not seem to be gone."""
        now = self._environment.now
        self._silent = {leader: until for leader, until in self._silent.items() if until > now}
        known = [leader for leader in self._cliques.directory.records if leader not in self._silent]
        return min(known, default=me)

    def _tell(self, peer: int) -> None:
        told, self._seen = self._seen, []
        self._ask(peer, told)

    def _ask(self, peer: int, told: list[Values]) -> None:
        epoch = self._newest()
        flat = [value for values in told for value in values]
        rates = KyraRates(0 if epoch is None else epoch.number, len(told), flat)
        self._environment.request(
            peer,
            rates,
            self._parameters.patience,
            lambda answer: self._told(peer, answer),
            lambda: self._unanswered(peer, told),
        )

    def _unanswered(self, peer: int, told: list[Values]) -> None:
        """Keep the events, and pass over a leader that is silent for the second time in a row."""
        self._seen = (told + self._seen)[:SAMPLES]
        view, expiry = self._cliques.view, self._cliques.parameters.expiry
        if view is None or view.leader != self._environment.peer:
            return
        now = self._environment.now
        if self._missed.pop(peer, -inf) < now - expiry:
            self._missed[peer] = now
        else:
            self._silent[peer] = now + expiry
        self._missed = {leader: at for leader, at in self._missed.items() if at >= now - expiry}
        self.report()

    def _told(self, peer: int, answer: Message) -> None:
        self._hear(peer)
        if isinstance(answer, KyraEpochNews):
            self._on_news(-1, answer)
        else:
            self._environment.drop(type(answer), "it answers something else")

    def _hear(self, peer: int) -> None:
        self._missed.pop(peer, None)
        self._silent.pop(peer, None)

    def _on_news(self, sender: int, news: KyraEpochNews) -> None:
        newest = self._newest()
        if news.epoch is not None and not self._is_sound(news.epoch):
            self._environment.drop(KyraEpochNews, "its zones do not fit together")
        elif news.epoch is not None and (newest is None or news.epoch.number > newest.number):
            epoch = epoch_in(news.epoch)
            self._begin(epoch)
            self.spread(epoch)

    def _is_sound(self, epoch: KyraEpoch) -> bool:
        return epoch.parts > 0 and len(epoch.zones) > 0 and self._space.holds_all(epoch.zones)

    def _on_rates(self, sender: int, rates: KyraRates) -> KyraEpochNews:
        self._hear(sender)
        width = len(self._space.names)
        values = rates.values
        if len(values) != width * rates.events:
            self._environment.drop(KyraRates, "its lists do not fit together")
            values = []
        self._seen += [values[place : place + width] for place in range(0, len(values), width)]
        self._seen = self._seen[-SAMPLES:]
        epoch = self._newest()
        known = 0 if epoch is None else epoch.number
        if rates.epoch > known:
            # Two leaders drew zones before they knew of each other: ask for the newer ones.
            self._ask(sender, [])
        return KyraEpochNews(None if epoch is None or known <= rates.epoch else epoch.message())
