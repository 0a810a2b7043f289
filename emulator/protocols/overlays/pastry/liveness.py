"""Probes: a peer is asked several times before it is declared dead (DSN 2004)."""

from __future__ import annotations

from collections.abc import Callable

from emulator.contract.protocol import Contact, Environment, Message, Timer
from emulator.protocols.overlays.pastry.parameters import PastryParameters
from emulator.protocols.overlays.pastry.round_trip import round_trip
from emulator.protocols.overlays.pastry.routing_state import RoutingState


class _Probe:
    __slots__ = ("contact", "question", "retries", "sent", "timer")

    def __init__(self, contact: Contact, question: Callable[[], Message], retries: int) -> None:
        self.contact = contact
        self.question = question
        self.retries = retries
        self.sent = 0.0
        self.timer: Timer | None = None


class Liveness:
    """The probes of one kind that are under way, at most one for each peer."""

    def __init__(
        self,
        environment: Environment,
        parameters: PastryParameters,
        state: RoutingState,
        *,
        question: Callable[[], Message],
        replied: Callable[[int, Message, float], None],
        died: Callable[[int, Contact | None], None],
        settled: Callable[[], None],
    ) -> None:
        """`question` makes the message of a probe.

        `replied(peer, reply, seconds)` is told each answer, `died` is told the contact of a peer that did not
        answer, and `settled` is called whenever no probe is under way any more.
        """
        self._environment = environment
        self._timeout = parameters.probe_timeout
        self._retries = parameters.probe_retries
        self._state = state
        self._question = question
        self._replied = replied
        self._died = died
        self._settled = settled
        self._probes: dict[int, _Probe] = {}

    @property
    def idle(self) -> bool:
        """Whether no probe is under way."""
        return not self._probes

    def probe(self, contact: Contact, question: Callable[[], Message] | None = None) -> None:
        """Ask the peer, with a question of its own if one is given, unless it is being asked already."""
        if contact.peer not in self._probes:
            probe = _Probe(contact, question or self._question, self._retries)
            self._probes[contact.peer] = probe
            self._ask(probe)

    def suspect(self, member: Contact) -> None:
        """Probe a member that was silent when it should have spoken, and route around it meanwhile."""
        self._state.suspect(member.peer)
        self.probe(member)

    def lost(self, peer: int) -> None:
        """Count a peer as dead that is known to be gone."""
        self._died(peer, self.end(peer))
        if not self._probes:
            self._settled()

    def end(self, peer: int) -> Contact | None:
        """Stop asking the peer. Returns its contact if it was being asked."""
        probe = self._probes.pop(peer, None)
        if probe is None:
            return None
        if probe.timer is not None:
            probe.timer.cancel()
        return probe.contact

    def _ask(self, probe: _Probe) -> None:
        probe.sent = self._environment.now
        probe.timer = self._environment.request(
            probe.contact.peer,
            probe.question(),
            self._timeout,
            lambda reply: self._on_reply(probe, reply),
            lambda: self._on_silence(probe),
        )

    def _on_reply(self, probe: _Probe, reply: Message) -> None:
        peer = probe.contact.peer
        del self._probes[peer]
        self._state.trust(peer)
        self._replied(peer, reply, round_trip(probe.sent, self._environment.now))
        if not self._probes:
            self._settled()

    def _on_silence(self, probe: _Probe) -> None:
        if probe.retries:
            probe.retries -= 1
            self._ask(probe)
        else:
            self.lost(probe.contact.peer)
