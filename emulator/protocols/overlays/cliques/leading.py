"""The leader of a clique: it numbers views, serialises joins, evens out shares, and splits cliques."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from emulator.compact.number_sets import LARGEST
from emulator.protocols.overlays.cliques.arrangement import have_grown, split
from emulator.protocols.overlays.cliques.member_context import MemberContext
from emulator.protocols.overlays.cliques.own_clique import OwnClique
from emulator.protocols.overlays.cliques.shaping import Tending
from emulator.protocols.overlays.cliques.view import Rtts, View, even_ends, from_units, pair
from trellis.v1.cliques import CliqueJoin, CliqueRecord, CliqueReport, CliqueReportAnswer, CliqueView

_UNEVEN: Final = 1.5
"""A leader makes all shares equal when the largest is more than this many times the mean."""
_REST: Final = 30.0
"""The seconds after a departure in which a leader changes nothing else, so that what builds on the clique can
mend."""


class Leading:
    """The part of one server that acts while it leads a clique."""

    def __init__(self, context: MemberContext, own: OwnClique) -> None:
        self._environment = context.environment
        self._context = context
        self._own_clique = own
        self._tending = Tending(context, own)
        self._all_known = False
        """Whether the view that this server leads had the RTTs between all members from the start."""
        self._at_first: Rtts = {}
        """The RTTs between members when this server first led both of them, as far as they were known."""
        context.environment.serve(CliqueJoin, self._on_join)
        context.environment.serve(CliqueReport, self._on_report)

    def view_changed(self, view: View) -> None:
        """Take in that the clique has another view, whoever leads it."""
        self._all_known = self._own_clique.leads and view.all_known
        before, self._at_first = self._at_first, {}
        if self._own_clique.leads:
            members = set(view.members)
            for both, rtt in view.rtts.items():
                if both[0] in members and both[1] in members:
                    self._at_first[both] = before.get(both, rtt)
        self._tending.view_changed()

    def beat(self) -> None:
        """Tell others that the leader is alive, by a beat in the directory."""
        if self._own_clique.led is not None:
            self._context.directory.beat(self._environment.peer)

    def tend(self) -> None:
        """Check whether the clique is too wide or uneven, or whether another clique is near."""
        view = self._own_clique.view
        self._context.directory.expire(None if view is None else view.leader)
        led, parameters = self._own_clique.led, self._context.parameters
        if led is None or parameters.formed == "hac" or self._tending.resting:
            return
        quiet = self._environment.now - self._own_clique.changed_at > parameters.tending
        if quiet and not self._tending.locked and self._split(led):
            return
        if quiet and not self._tending.locked and led.largest_share() > _UNEVEN:
            self._own_clique.publish(led.evened(led.number + 1), [led])
            return
        # Two leaders that propose to each other at once would both refuse, again and again if they keep step.
        delay = self._environment.random.random() * parameters.tending / 2
        self._environment.set_timer(delay, self._tending.tend)

    def go_on_without(self, gone: Collection[int]) -> None:
        """Number a view without some members. This server leads, or is the oldest remaining member."""
        view = self._own_clique.view
        assert view is not None
        new = view
        for peer in gone:
            new = new.without(peer, view.number + 1)
        new = View(new.number, new.members, new.since, new.ends, new.rtts, [view.leader])
        self._own_clique.publish(new, [view])
        self._tending.rest(_REST)
        self._context.directory.hurry(new.record())

    def _split(self, view: View) -> bool:
        """Split a clique whose members are too far from each other by now. Returns whether it was split.

        A clique that is wide because a small one joined it stays as it is. Its parts would exchange members
        until one of them was too small again, and so on for ever.
        """
        context = self._context
        if not have_grown(view.members, self._at_first, view.rtts, context.bounds):
            return False
        parts = split(view.members, view.rtts, context.bounds, context.parameters.minimum)
        for members in parts or ():
            order = [peer for peer in view.members if peer in members]
            new = View(view.number + 1, order, view.since, even_ends(len(order)), view.rtts)
            self._own_clique.publish(new, [view])
            context.directory.put(new.record())
        return parts is not None

    def _on_join(self, sender: int, join: CliqueJoin) -> CliqueView:
        led = self._own_clique.led
        fits_together = len(join.members) == len(join.rtts)
        if not fits_together:
            self._environment.drop(CliqueJoin, "its lists do not fit together")
        if led is None or not fits_together:
            return CliqueView(CliqueRecord())
        view, bounds = led, self._context.bounds
        if sender in view.members:
            view = view.without(sender, view.number + 1) if len(view.members) > 1 else view
        rtts = {peer: from_units(u) for peer, u in zip(join.members, join.rtts, strict=True)}
        fits = len(view.members) < bounds.size and all(
            rtts.get(peer, float("inf")) <= bounds.diameter for peer in view.members
        )
        if not fits or self._tending.locked:
            return view.message()
        between = {pair(sender, peer): rtt for peer, rtt in rtts.items()}
        new = view.joined(sender, max(join.since, view.since[view.leader] + 1e-3), between, view.number + 1)
        self._own_clique.publish(new, [led])
        return new.message()

    def _on_report(self, sender: int, report: CliqueReport) -> CliqueReportAnswer:
        """Take in the RTTs that a member has measured."""
        view = self._own_clique.led
        if view is None or sender not in view.members:
            return CliqueReportAnswer(False)
        if len(report.members) != len(report.rtts):
            self._environment.drop(CliqueReport, "its lists do not fit together")
            return CliqueReportAnswer(True)
        for peer, units in zip(report.members, report.rtts, strict=True):
            if peer in view.members:
                view.rtts[pair(sender, peer)] = from_units(units)
        if report.view < view.number:
            self._environment.send(sender, view.message())
        elif not self._tending.locked:
            self._renumber(view, report)
        return CliqueReportAnswer(True)

    def _renumber(self, view: View, report: CliqueReport) -> None:
        """Number the view anew if all RTTs have become known, or if the member has another view.

        A proposer may have made that other view from one that this leader had just replaced, or it was lost
        on its way here. The member would keep it for ever: it has a number that is not below this leader's.
        """
        has_another = report.view > view.number or not view.since.keys() >= set(report.members)
        become_known = not self._all_known and view.all_known
        if (has_another or become_known) and report.view < LARGEST:
            new = View(report.view + 1, view.members, view.since, view.ends, view.rtts)
            self._own_clique.publish(new, [view])
