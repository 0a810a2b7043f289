"""The shaping of cliques by their leaders: two near cliques merge, or exchange members.

The leader that proposes asks the other one to keep its view meanwhile, has the members of both cliques
measure each other, and sends the resulting views to all members. A member takes a view that replaces the one
that it has.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from emulator.contract.protocol import Message, Timer
from emulator.protocols.overlays.cliques.arrangement import UNKNOWN, rearrange
from emulator.protocols.overlays.cliques.member_context import MemberContext
from emulator.protocols.overlays.cliques.own_clique import OwnClique
from emulator.protocols.overlays.cliques.view import (
    Rtts,
    View,
    even_ends,
    from_units,
    pair,
    to_units,
    view_in,
)
from trellis.v1.cliques import (
    CliqueConsent,
    CliqueMeasure,
    CliqueMeasurement,
    CliqueProposal,
    CliqueRecord,
    CliqueRelease,
)

_LOCK: Final = 12.0
"""The seconds for which a leader that consented keeps its view."""
_PATIENCE_OF_SMALL: Final = 20.0
"""After this many seconds, a clique below the minimum merges with one that it does not fit."""
_NEIGHBOURS: Final = 8
"""The number of nearest cliques to which a leader proposes in turn."""


class _Survey:
    """The RTTs between the members of two cliques, as far as they are known."""

    __slots__ = ("leader", "own", "rtts", "theirs", "waiting")

    def __init__(self, leader: int, own: View, theirs: View) -> None:
        self.leader = leader
        self.own = own
        self.theirs = theirs
        self.rtts: Rtts = own.rtts | theirs.rtts
        self.waiting = set(own.members)


class Tending:
    """The proposals that one leader makes and answers."""

    def __init__(self, context: MemberContext, own: OwnClique) -> None:
        self._environment = environment = context.environment
        self._parameters = context.parameters
        self._bounds = context.bounds
        self._directory = context.directory
        self._measuring = context.measuring
        self._own_clique = own
        self._locked_until = 0.0
        self._locked_by = environment.peer
        """The leader to whose proposal this one consented."""
        self._changed_at = environment.now
        self._rests_until = 0.0
        self._proposing = False
        self._however_far = False
        self._survey: _Survey | None = None
        self._timer: Timer | None = None
        self._seen: dict[int, tuple[int, int]] = {}
        """The views (own, other) with which a proposal to a leader had no result, by leader."""
        environment.serve(CliqueProposal, self._on_proposal)
        environment.handle(CliqueRelease, self._on_release)
        environment.handle(CliqueMeasure, self._on_measure)
        environment.handle(CliqueMeasurement, self._on_measurement)

    @property
    def locked(self) -> bool:
        """Whether the view must stay as it is."""
        return self._proposing or self._environment.now < self._locked_until

    @property
    def resting(self) -> bool:
        return self._environment.now < self._rests_until

    def rest(self, seconds: float) -> None:
        """Neither propose nor consent for this many seconds."""
        self._rests_until = self._environment.now + seconds

    def view_changed(self) -> None:
        """Take in that the view has changed, as was proposed or because a member is gone.

        The proposer must no longer rely on the view before, so this leader releases it.
        """
        if self._environment.now < self._locked_until:
            self._environment.send(self._locked_by, CliqueRelease())
        self._locked_until = 0.0
        self._changed_at = self._environment.now

    def tend(self) -> None:
        """Propose an exchange or a merge to a near clique."""
        view = self._own_clique.led
        if view is None or self.locked:
            return
        others = [r for r in self._directory.records.values() if r.leader != view.leader]
        if others:
            most = self._parameters.probes
            if len(others) > most:
                others = self._environment.random.sample(others, most)
            leaders = {record.leader: record for record in others}
            self._measuring.ping_all(leaders, lambda rtts: self._propose(leaders, rtts))

    def _propose(self, leaders: dict[int, CliqueRecord], rtts: dict[int, float]) -> None:
        view = self._own_clique.led
        if view is None or self.locked:
            return
        near = sorted(rtts, key=lambda leader: rtts[leader])
        new = [
            leader
            for leader in near[:_NEIGHBOURS]
            if self._seen.get(leader) != (view.number, leaders[leader].view)
        ]
        self._however_far = False
        small = len(view.members) < self._parameters.minimum
        if small and (not new or self._environment.now - self._changed_at > _PATIENCE_OF_SMALL):
            # Nothing fits, but a clique that is too wide is better than one that is too small.
            room = self._parameters.size - len(view.members)
            new = [leader for leader in near if len(leaders[leader].members) <= room][:1]
            self._however_far = True
        if not new:
            return
        other = new[0] if self._environment.random.random() < 0.5 else self._environment.random.choice(new)
        self._proposing = True
        self._environment.request(
            other,
            CliqueProposal(view.record()),
            self._parameters.patience,
            partial(self._consented, other, view),
            self._give_up,
        )

    def _give_up(self) -> None:
        self._proposing = False

    def _consented(self, leader: int, view: View, answer: Message) -> None:
        if not isinstance(answer, CliqueConsent):
            self._environment.drop(type(answer), "it answers something else")
            self._give_up()
            return
        own = self._own_clique.led
        theirs = None if answer.view is None else view_in(answer.view)
        if theirs is None and answer.view is not None:
            self._environment.drop(CliqueConsent, "its lists do not fit together")
        if theirs is None or own is None or own.number != view.number:
            self._proposing = False
            return
        self._survey = _Survey(leader, own, theirs)
        for member in own.members:
            if member == self._environment.peer:
                self._measuring.ping_all(theirs.members, partial(self._take, member))
            else:
                self._environment.send(member, CliqueMeasure(list(theirs.members)))
        self._timer = self._environment.set_timer(3 * self._parameters.patience, self._decide)

    def _take(self, member: int, measured: dict[int, float]) -> None:
        """Take in the RTTs that a member of this clique has measured to the other clique."""
        survey = self._survey
        if survey is not None and member in survey.waiting:
            survey.waiting.discard(member)
            for peer, rtt in measured.items():
                survey.rtts[pair(member, peer)] = rtt
            if not survey.waiting:
                self._decide()

    def _end_survey(self) -> _Survey | None:
        survey, self._survey = self._survey, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._proposing = False
        return survey

    def _decide(self) -> None:
        survey = self._end_survey()
        if survey is None:
            return
        leader, own, theirs, rtts = survey.leader, survey.own, survey.theirs, survey.rtts
        now = self._own_clique.led
        both = set(own.members) & set(theirs.members)
        if now is None or now.number != own.number or both:
            # A server that is in both cliques by these views will be missed by one of them.
            self._environment.send(leader, CliqueRelease())
            return
        made = rearrange(own.members, theirs.members, rtts, self._bounds, self._however_far)
        if made is None:
            self._seen[leader] = own.number, theirs.number
            self._environment.send(leader, CliqueRelease())
            return
        since = own.since | theirs.since
        number = max(own.number, theirs.number) + 1
        for members in made:
            order = ordered(members, own, theirs)
            ends = even_ends(len(order))
            if len(made) == 1:
                merged = merge(own, theirs, number)
                order, ends = merged.members, merged.ends
            inside = {}
            for place, peer in enumerate(order):
                for other in order[:place]:
                    inside[pair(peer, other)] = rtts.get(pair(peer, other), UNKNOWN)
            # If two cliques remain, each has its leader's number; if they merge, one replaces the other.
            gone = [own.leader, theirs.leader] if len(made) == 1 else []
            view = View(number, order, since, ends, inside, gone)
            self._own_clique.publish(view, [own, theirs], [own.leader, theirs.leader])

    def _on_proposal(self, sender: int, proposal: CliqueProposal) -> CliqueConsent:
        view = self._own_clique.led
        if proposal.record is None:
            self._environment.drop(CliqueProposal, "it lacks a part")
            return CliqueConsent(None)
        if view is None or self.locked:
            return CliqueConsent(None)
        if self.resting and len(proposal.record.members) >= self._parameters.minimum:
            return CliqueConsent(None)
        self._locked_until = self._environment.now + _LOCK
        self._locked_by = sender
        return CliqueConsent(view.message())

    def _on_release(self, sender: int, release: CliqueRelease) -> None:
        """End a proposal: the other leader, which proposed or consented, no longer relies on its view."""
        if sender == self._locked_by:
            self._locked_until = 0.0
        if self._survey is not None and self._survey.leader == sender:
            self._end_survey()

    def _on_measure(self, sender: int, measure: CliqueMeasure) -> None:
        """Measure the RTTs to some servers for the leader, and answer with them."""

        def answer(rtts: dict[int, float]) -> None:
            units = [to_units(rtt) for rtt in rtts.values()]
            self._environment.send(sender, CliqueMeasurement(list(rtts), units))

        self._measuring.ping_all(measure.peers, answer)

    def _on_measurement(self, sender: int, answer: CliqueMeasurement) -> None:
        if len(answer.peers) != len(answer.rtts):
            self._environment.drop(CliqueMeasurement, "its lists do not fit together")
            return
        measured = zip(answer.peers, answer.rtts, strict=True)
        self._take(sender, {peer: from_units(units) for peer, units in measured})


def merge(one: View, two: View, number: int) -> View:
    """Merge two views.

    Members of the smaller one get halves of the largest shares, one each, so the other members keep most
    zones.
    """
    larger, smaller = (one, two) if len(one.members) >= len(two.members) else (two, one)
    for peer in smaller.members:
        larger = larger.joined(peer, smaller.since[peer], {}, number)
    return larger


def ordered(members: list[int], one: View, two: View) -> list[int]:
    """Return members of two cliques in the order of their former shares: few zones change hands."""
    places = [*one.members, *two.members]
    return sorted(members, key=places.index)
