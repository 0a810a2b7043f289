"""Failure detection in a clique: a server finds mates that are gone, or in another clique."""

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
"""A mate that says after this many pings that it is in another clique is removed."""
_MISSES: Final = 4
"""A mate that does not answer this many pings in a row counts as gone."""
_STARTING: Final = 10.0
"""A mate that was laid out does not count as gone for this many seconds after its first answer."""


class Mates:
    """The other members of a clique, as one member sees them."""

    def __init__(
        self, context: MemberContext, own: OwnClique, leading: Leading, expelled: Callable[[], None]
    ) -> None:
        """`expelled()` is called when the leader, or most mates, say that this server is no member."""
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
        """The mates that said often enough that this server is not in their clique."""
        self._gone: set[int] = set()
        """The mates that were found to be gone."""
        self._met: dict[int, float] = {}
        """The trial time in seconds at which each mate answered for the first time."""
        self._environment.serve(CliquePing, self._on_ping)
        self._environment.handle(CliqueDeparture, self._on_departure)

    def ping_next(self) -> None:
        """Ping the next of the mates in turn."""
        mates = self._own_clique.mates
        if mates:
            self._turn += 1
            self._ping(mates[self._turn % len(mates)])

    def report(self) -> None:
        """Report to the leader the RTTs that this server has measured."""
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
        """Note that a peer cannot be reached."""
        # In a layout, some peers may not have started yet, or had not when the message was sent.
        met = self._met.get(peer, self._environment.now)
        awaited = self._parameters.given is not None and self._environment.now - met < _STARTING
        self._measuring.forget(peer)
        view = self._own_clique.view
        if view is not None and peer in view.members and not awaited:
            self._tell_gone(peer)
            if peer not in self._gone:
                # Other mates may have gone at the same time.
                self._gone.add(peer)
                for mate in self._own_clique.mates:
                    if mate not in self._gone:
                        self._ping(mate)

    def leave(self) -> None:
        """Tell the oldest remaining member that this server is leaving."""
        view, me = self._own_clique.view, self._environment.peer
        left = [] if view is None else [p for p in view.successors if p != me and p not in self._gone]
        if left:
            self._environment.send(left[0], CliqueDeparture(me))

    def view_changed(self) -> None:
        """Forget which mates seemed to be in another clique, because the view has changed."""
        self._strange.clear()
        self._elsewhere.clear()

    def forget(self, peer: int) -> None:
        """Forget what a peer was blamed for, because it has become a mate or ceased to be one."""
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
                # A leader that is too far away to answer in time cannot say so itself.
                self._expelled()
            elif not here:
                self._tell_gone(peer)
        else:
            # The mate may have crashed and come back, and have forgotten that it is in this clique.
            self._environment.set_timer(self._parameters.ping, partial(self._ping, peer))

    def _is_strange(self, peer: int) -> bool:
        """Count that the peer says it is in another clique. Returns whether it has said so often enough."""
        self._strange[peer] = self._strange.get(peer, 0) + 1
        return self._strange[peer] >= _STRANGE

    def _missed(self, peer: int) -> None:
        self._misses[peer] = self._misses.get(peer, 0) + 1
        if self._misses[peer] >= _MISSES:
            self.lose(peer)

    def _reported(self, leader: int, answer: Message) -> None:
        if not isinstance(answer, CliqueReportAnswer):
            self._environment.drop(type(answer), "it answers something else")
            return
        view = self._own_clique.view
        if view is not None and view.leader == leader and not answer.leads and self._is_strange(leader):
            self._expelled()

    def _tell_gone(self, peer: int) -> None:
        """Tell the leader, or the oldest remaining member, which may be this server, that a peer is gone."""
        heir = self._heir(peer)
        if heir == self._environment.peer:
            self._remove(peer)
        else:
            self._environment.send(heir, CliqueDeparture(peer))

    def _heir(self, gone: int) -> int:
        """Return the member that leads when this one is gone, as far as this server knows."""
        view = self._own_clique.view
        assert view is not None
        return next(peer for peer in view.successors if peer != gone and peer not in self._gone)

    def _on_departure(self, sender: int, departure: CliqueDeparture) -> None:
        view, me = self._own_clique.view, self._environment.peer
        if view is None or departure.peer not in view.members or departure.peer == me:
            return
        if sender not in view.members:
            # The sender takes itself for a member, by a view that the others do not have.
            return
        if self._heir(departure.peer) == me:
            self._remove(departure.peer)

    def _remove(self, peer: int) -> None:
        """Number a view without this member, and without all others that are known to be gone."""
        view = self._own_clique.view
        if view is not None and peer in view.members and peer != self._environment.peer:
            self._leading.go_on_without([p for p in view.members if p == peer or p in self._gone])

    def _on_ping(self, sender: int, ping: CliquePing) -> CliquePong:
        view = self._own_clique.view
        if view is None:
            return CliquePong()
        return CliquePong(view.leader, view.number, sender in view.members)
