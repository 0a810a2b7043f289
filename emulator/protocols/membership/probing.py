"""Probes of one member each period, directly and by helpers (SWIM, sections 3.1 and 4.3; LHA-Probe)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mypy_extensions import i64

from emulator.contract.protocol import Environment, Timer
from emulator.protocols.membership.dissemination import Dissemination
from emulator.protocols.membership.health import LocalHealth
from emulator.protocols.membership.parameters import SwimParameters
from emulator.protocols.membership.view import NOBODY, MemberView
from emulator.protocols.membership.words import ALIVE, SUSPECTED, Words
from trellis.v1.swim import MemberUpdate, SwimAck, SwimNack, SwimPing, SwimPingRequest


class Probe:
    """The probe of one period."""

    __slots__ = ("missing_nacks", "nacks", "sequence", "target", "timer", "word")

    def __init__(self, target: int, word: i64, sequence: int) -> None:
        self.target = target
        self.word = word
        """The word that the prober had of the target when the probe began."""
        self.sequence = sequence
        self.timer: Timer | None = None
        self.nacks = 0
        """The helpers that were asked to say if the target is silent."""
        self.missing_nacks: list[int] = []
        """The helpers that have not said that the target is silent."""


class Prober:
    """The probes of one member, and its help with those of others."""

    def __init__(
        self,
        environment: Environment,
        parameters: SwimParameters,
        words: Words,
        view: MemberView,
        news: Dissemination,
        health: LocalHealth,
        found_silent: Callable[[int, i64], None],
    ) -> None:
        """Call `found_silent` with a member that did not answer, and what was known of it when it was
        asked."""
        self._environment = environment
        self._timeout = parameters.timeout
        self._period = parameters.period
        self._helpers = parameters.helpers
        self._nacks = parameters.nacks
        self._nack_after = parameters.nack_after * parameters.timeout
        self._stretches_timeout = parameters.stretched == "both"
        self._each_nack_counts = parameters.missed_nacks == "each"
        self._buddy = parameters.buddy
        self._words = words
        self._view = view
        self._news = news
        self._health = health
        self._found_silent = found_silent
        self._probe: Probe | None = None
        self._sequence = 0
        self._waits = 0
        """The periods until the next probe, beyond this one."""
        self._asked: dict[int, tuple[int, int]] = {}
        """The probes of others that this member helps with: who asked, and its sequence number, by ours."""
        self.ended = 0
        self.failed = 0

    def tick(self) -> None:
        """End the probe of the last period and begin one; a member in bad health waits some periods."""
        if self._waits:
            self._waits -= 1
            return
        if self._probe is not None:
            self._fail(self._probe)
        multiple = self._health.multiple
        self._waits = multiple - 1
        target = self._view.next_target(self._environment.now)
        if target == NOBODY:
            return
        self._sequence += 1
        probe = Probe(target, self._view.word(target), self._sequence)
        self._probe = probe
        self._environment.send(target, SwimPing(probe.sequence, self._news_for(target, probe.word)))
        timeout = self._timeout * multiple if self._stretches_timeout else self._timeout
        probe.timer = self._environment.set_timer(timeout, partial(self._ask_helpers, probe))

    def on_ack(self, sender: int, ack: SwimAck) -> None:
        """End the probe that was answered, or pass the answer on to the member that asked for it."""
        probe = self._probe
        if probe is not None and ack.sequence == probe.sequence:
            self._probe = None
            self.ended += 1
            if probe.timer is not None:
                probe.timer.cancel()
            self._health.change(-1)
            return
        asked = self._asked.pop(ack.sequence, None)
        if asked is not None:
            asker, sequence = asked
            self._environment.send(asker, SwimAck(sequence, self._riding()))

    def on_nack(self, sender: int, nack: SwimNack) -> None:
        """Note that a helper has heard this member's request, and that the target is silent."""
        probe = self._probe
        if probe is not None and nack.sequence == probe.sequence and sender in probe.missing_nacks:
            probe.missing_nacks.remove(sender)

    def on_ping(self, sender: int, ping: SwimPing) -> None:
        """Answer a ping."""
        self._environment.send(sender, SwimAck(ping.sequence, self._riding()))

    def on_ping_request(self, sender: int, asked: SwimPingRequest) -> None:
        """Ping a member for another one; say after a time-out that it is silent, if that is asked for."""
        self._sequence += 1
        ours = self._sequence
        self._asked[ours] = (sender, asked.sequence)
        riding = self._news_for(asked.target, self._view.word(asked.target))
        self._environment.send(asked.target, SwimPing(ours, riding))
        if asked.nack:
            self._environment.set_timer(self._nack_after, partial(self._send_nack, ours))
        self._environment.set_timer(self._period * self._health.multiple, partial(self._give_up, ours))

    def _ask_helpers(self, probe: Probe) -> None:
        """Have k random members ping the target (section 3.1)."""
        if probe is not self._probe:
            return
        helpers = self._view.sample(self._helpers, probe.target, ALIVE, self._environment.now)
        if self._nacks:
            probe.missing_nacks = [*helpers]
            probe.nacks = len(helpers)
        for helper in helpers:
            request = SwimPingRequest(probe.sequence, probe.target, self._nacks, self._riding())
            self._environment.send(helper, request)

    def _fail(self, probe: Probe) -> None:
        """Take note that nobody has heard of the target.

        The failure, and nacks that are missing, say that this member itself may be slow.
        """
        self._probe = None
        self.ended += 1
        self.failed += 1
        missing = len(probe.missing_nacks)
        if self._each_nack_counts:
            self._health.change(missing if probe.nacks else 1)
        else:
            self._health.change(2 if missing else 1)
        self._found_silent(probe.target, probe.word)

    def _send_nack(self, ours: int) -> None:
        if ours in self._asked:
            asker, sequence = self._asked[ours]
            self._environment.send(asker, SwimNack(sequence))

    def _give_up(self, ours: int) -> None:
        self._asked.pop(ours, None)

    def _riding(self) -> list[MemberUpdate]:
        return self._news.take(int(self._view.size) + 1)

    def _news_for(self, target: int, word: i64) -> list[MemberUpdate]:
        """Return the updates that ride on a ping.

        A suspected member is told first that it is (Lifeguard's buddy system), so that it can speak for
        itself at once.
        """
        first: MemberUpdate | None = None
        if self._buddy and word != 0 and self._words.state(word) == SUSPECTED:
            first = self._words.update(target, word, self._environment.peer)
        return self._news.take(int(self._view.size) + 1, first)
