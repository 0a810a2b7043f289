"""How a server watches its mates: who is gone, and who is not in this clique by its own words."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from emulator.contract.protocol import Message
from emulator.protocols.overlays.cliques.leading import Leading
from emulator.protocols.overlays.cliques.member_context import MemberContext
from emulator.protocols.overlays.cliques.own_clique import OwnClique
from emulator.protocols.overlays.cliques.view import to_units
from trellis.v1.cliques import CliqueDeparture, CliquePing, CliquePong, CliqueReport, CliqueReportAnswer

_STRANGE: Final = 3
"""Pings after which a mate that is in another clique by its own words is taken out."""
_MISSES: Final = 4
"""Pings in a row without an answer after which a mate is taken for gone."""
_STARTING: Final = 10.0
"""Seconds after the first answer of a mate that was laid out in which it is not taken for gone."""


class Mates:
    """The members of a clique, as one of them sees the others."""

    def __init__(
        self, context: MemberContext, own: OwnClique, leading: Leading, expelled: Callable[[], None]
    ) -> None:
        """`expelled()` hears that this server is no member by the words of the leader, or of most mates."""
        self._environment = context.environment
        self._parameters = context.parameters
        self._measuring = context.measuring
        self._own_clique = own
        self._leading = leading
        self._expelled = expelled
        self._turn = 0
        self._misses: dict[int, int] = {}
        self._strange: dict[int, int] = {}
        self._elsewhere: set[int] = set()
        """Mates that said often enough that this server is not in their clique."""
        self._gone: set[int] = set()
        """Mates that were found to be gone."""
        self._met: dict[int, float] = {}
        """When each mate answered for the first time."""
        self._environment.serve(CliquePing, self._on_ping)
        self._environment.handle(CliqueDeparture, self._on_departure)

    def ping_next(self) -> None:
        """Ping one of the mates, each in its turn."""
        mates = self._own_clique.mates
        if mates:
            self._turn += 1
            self._ping(mates[self._turn % len(mates)])

    def report(self) -> None:
        """Tell the leader what was measured."""
        view = self._own_clique.view
        if view is None or self._own_clique.leads or self._own_clique.stopped:
            return
        rtts = self._measuring.rtts
        known = {peer: rtts[peer] for peer in self._own_clique.mates if peer in rtts}
        report = CliqueReport(view.number, list(known), [to_units(rtt) for rtt in known.values()])
        leader = view.leader
        self._environment.request(
            leader, report, self._parameters.patience, partial(self._reported, leader), lambda: None
        )

    def lose(self, peer: int) -> None:
        """A peer cannot be reached."""
        # Of those that were laid out, some may not have started yet, or not when the message was sent.
        met = self._met.get(peer, self._environment.now)
        awaited = self._parameters.given is not None and self._environment.now - met < _STARTING
        self._measuring.forget(peer)
        view = self._own_clique.view
        if view is not None and peer in view.members and not awaited:
            self._tell_gone(peer)
            if peer not in self._gone:
                # Others may have gone with it.
                self._gone.add(peer)
                for mate in self._own_clique.mates:
                    if mate not in self._gone:
                        self._ping(mate)

    def leave(self) -> None:
        """Tell the oldest that is left, as far as is known here, that this server goes."""
        view, me = self._own_clique.view, self._environment.peer
        left = [] if view is None else [p for p in view.successors if p != me and p not in self._gone]
        if left:
            self._environment.send(left[0], CliqueDeparture(me))

    def view_changed(self) -> None:
        """Who was strange may be so no more."""
        self._strange.clear()
        self._elsewhere.clear()

    def forget(self, peer: int) -> None:
        """The peer has become a mate, or is one no more: what it was blamed for does not count."""
        self._misses.pop(peer, None)
        self._gone.discard(peer)

    def _ping(self, peer: int) -> None:
        self._measuring.ping(peer, partial(self._heard, peer), partial(self._missed, peer))

    def _heard(self, peer: int, pong: CliquePong) -> None:
        self.forget(peer)
        self._met.setdefault(peer, self._environment.now)
        view = self._own_clique.view
        if view is None or peer not in view.members:
            return
        here = pong.view > 0 and pong.leader == view.leader
        if pong.member or (here and pong.view < view.number):
            self._strange.pop(peer, None)
        elif self._is_strange(peer):
            self._strange.pop(peer)
            self._elsewhere.add(peer)
            if peer == view.leader or 2 * len(self._elsewhere) > len(self._own_clique.mates):
                # A leader that is too far to answer in time cannot say so itself.
                self._expelled()
            elif not here:
                self._tell_gone(peer)
        else:
            # It may have crashed and come back, and have forgotten what it does for this clique.
            self._environment.set_timer(self._parameters.ping, partial(self._ping, peer))

    def _is_strange(self, peer: int) -> bool:
        """Whether it said often enough that it is in another clique, this time included."""
        self._strange[peer] = self._strange.get(peer, 0) + 1
        return self._strange[peer] >= _STRANGE

    def _missed(self, peer: int) -> None:
        self._misses[peer] = self._misses.get(peer, 0) + 1
        if self._misses[peer] >= _MISSES:
            self.lose(peer)

    def _reported(self, leader: int, answer: Message) -> None:
        assert isinstance(answer, CliqueReportAnswer)
        view = self._own_clique.view
        if view is not None and view.leader == leader and not answer.leads and self._is_strange(leader):
            self._expelled()

    def _tell_gone(self, peer: int) -> None:
        """Tell the leader, or the oldest that is left; this server may be that itself."""
        heir = self._heir(peer)
        if heir == self._environment.peer:
            self._remove(peer)
        else:
            self._environment.send(heir, CliqueDeparture(peer))

    def _heir(self, gone: int) -> int:
        """The member that leads when this one is gone, as far as is known here."""
        view = self._own_clique.view
        assert view is not None
        return next(peer for peer in view.successors if peer != gone and peer not in self._gone)

    def _on_departure(self, sender: int, departure: CliqueDeparture) -> None:
        view, me = self._own_clique.view, self._environment.peer
        if view is None or departure.peer not in view.members or departure.peer == me:
            return
        if sender not in view.members:
            # It takes itself for a member, by a view that the others do not have.
            return
        if self._heir(departure.peer) == me:
            self._remove(departure.peer)

    def _remove(self, peer: int) -> None:
        """Have the clique go on without a member, and without all others that are known to be gone."""
        view = self._own_clique.view
        if view is not None and peer in view.members and peer != self._environment.peer:
            self._leading.go_on_without([p for p in view.members if p == peer or p in self._gone])

    def _on_ping(self, sender: int, ping: CliquePing) -> CliquePong:
        view = self._own_clique.view
        if view is None:
            return CliquePong()
        return CliquePong(view.leader, view.number, sender in view.members)
