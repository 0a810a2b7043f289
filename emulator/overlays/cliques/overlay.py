"""The clique overlay at one server: it is in one clique, pings its mates, and knows all cliques by gossip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, Protocol

from emulator.overlays.cliques.arrangement import Bounds, split
from emulator.overlays.cliques.directory import Directory
from emulator.overlays.cliques.joining import Joining
from emulator.overlays.cliques.measuring import Measuring
from emulator.overlays.cliques.parameters import CliqueParameters
from emulator.overlays.cliques.tending import Tending
from emulator.overlays.cliques.view import View, even_ends, from_units, pair, to_units, view_in
from emulator.protocol import Contact, Environment, Membership, Message
from trellis.v1.cliques import (
    CliqueDeparture,
    CliqueJoin,
    CliquePing,
    CliquePong,
    CliqueRecord,
    CliqueReport,
    CliqueReportAnswer,
    CliqueView,
)

_UNEVEN: Final = 1.5
"""Largest share over the mean above which a leader makes all equal."""
_STRANGE: Final = 3
"""Pings after which a mate that is in another clique by its own words is taken out."""
_MISSES: Final = 4
"""Pings in a row without an answer after which a mate is taken for gone."""
_REST: Final = 30.0
"""Seconds after a departure in which a leader changes nothing else: what builds on the clique mends first."""
_BEATS: Final = 8.0
"""Seconds between two beats of a leader in the directory."""
_MEETING: Final = 5
"""Of so many exchanges of directories a leader has one with a peer that the bootstrap service names."""


class CliqueListener(Protocol):
    """A listener to cliques: any class that has these methods."""

    def clique_changed(self) -> None:
        """The view of this server's clique is another one: members, or shares."""

    def directory_changed(self, before: CliqueRecord | None, now: CliqueRecord | None) -> None:
        """Another clique came, went, or has other members or shares."""


class Cliques(Membership):
    """One server's place in its clique. The neighbours of this membership are its mates."""

    def __init__(self, environment: Environment, parameters: CliqueParameters) -> None:
        super().__init__(environment)
        self.parameters = parameters
        self.view: View | None = None
        """None until this server is in a clique."""
        self.changes = 0
        """Views that this server has taken."""
        self.measuring = Measuring(environment, parameters.patience)
        self.directory = Directory(
            environment, parameters.expiry, parameters.patience, self._directory_changed
        )
        self._tending = Tending(
            environment, parameters, self.directory, self.measuring, self._led, self._publish
        )
        self._beat = 0
        self._clique_listener: CliqueListener | None = None
        self._joining: Joining | None = None
        self._turn = 0
        self._gossips = 0
        self._misses: dict[int, int] = {}
        self._strange: dict[int, int] = {}
        self._gone: set[int] = set()
        """Mates that were found to be gone."""
        self._met: set[int] = set()
        """Mates that have answered."""
        self._changed_at = 0.0
        self._all_known = False
        """Whether the view tells the RTTs between all members."""
        self._stopped = False
        environment.serve(CliquePing, self._on_ping)
        environment.serve(CliqueJoin, self._on_join)
        environment.serve(CliqueReport, self._on_report)
        environment.handle(CliqueView, self._on_view)
        environment.handle(CliqueDeparture, self._on_departure)

    def listen(self, listener: CliqueListener) -> None:
        """Tell of changes from now on. One listener is enough."""
        self._clique_listener = listener

    @property
    def leads(self) -> bool:
        return self.view is not None and self.view.leader == self.environment.peer

    @property
    def mates(self) -> list[int]:
        """The other members of this server's clique."""
        return [] if self.view is None else [p for p in self.view.members if p != self.environment.peer]

    def start(self, contacts: Sequence[int]) -> None:
        parameters, every = self.parameters, self.environment.every
        every(parameters.ping, self._ping_mate)
        every(parameters.gossip, self._gossip)
        every(parameters.tending, self._tend)
        every(2 * parameters.tending, self._report)
        every(_BEATS, self._beat_record)
        if parameters.given is not None:
            self._take_given(parameters.given)
        elif contacts:
            self._learn(list(contacts))
        else:
            self._found()

    def stop(self, graceful: bool) -> None:
        self._stopped = True
        view = self.view
        if graceful and view is not None and len(view.members) > 1:
            me = self.environment.peer
            heir = next(peer for peer in view.successors if peer != me)
            self.environment.send(heir, CliqueDeparture(me))

    def sample(self, count: int) -> Sequence[int]:
        me = self.environment.peer
        known = [peer for record in self.directory.records.values() for peer in record.members if peer != me]
        return self.environment.random.sample(known, min(count, len(known)))

    def on_unreachable(self, peer: int) -> None:
        # Of those that were laid out, some may not have started yet.
        awaited = self.parameters.given is not None and peer not in self._met
        self.measuring.forget(peer)
        if self.view is not None and peer in self.view.members and not awaited:
            self._tell_gone(peer)
            if peer not in self._gone:
                # Others may have gone with it.
                self._gone.add(peer)
                for mate in self.mates:
                    if mate not in self._gone:
                        self.measuring.ping(mate, partial(self._heard, mate), partial(self._missed, mate))

    def gauges(self) -> dict[str, float]:
        view = self.view
        if view is None:
            return {"clique_members": 0.0, "clique_changes": float(self.changes)}
        return {
            "clique_members": float(len(view.members)),
            "clique_changes": float(self.changes),
            "cliques_known": float(len(self.directory.records)),
            "directory_bytes": float(sum(r.byte_size() for r in self.directory.records.values())),
        }

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return {"mate": self.mates}

    def _led(self) -> View | None:
        return self.view if self.leads and not self._stopped else None

    def _take_given(self, cliques: Sequence[Sequence[int]]) -> None:
        """The cliques that were laid out are there from the start."""
        for members in cliques:
            since = dict.fromkeys(members, 0.0)
            view = View(1, members, since, even_ends(len(members)), {})
            if self.environment.peer in members:
                self._set(view)
            self.directory.put(view.record(0))
        self.measuring.ping_all(self.mates, lambda _: self._report())

    # Joining

    def _learn(self, contacts: list[int]) -> None:
        """Learn the directory from one of the contacts, then join."""

        def learnt(answered: bool) -> None:
            if self.view is not None or self._stopped:
                return
            if answered and self.directory.records:
                self._join()
            elif contacts:
                self._learn(contacts)
            elif answered:
                self._found()
            else:
                self.environment.find_contacts(
                    lambda found: self._learn(list(found)) if found else self._found()
                )

        self.directory.exchange(contacts.pop(0), learnt)

    def _join(self) -> None:
        self._joining = Joining(
            self.environment, self.parameters, self.directory, self.measuring, self._joined, self._found
        )
        self._joining.begin()

    def _joined(self, message: CliqueView) -> None:
        self._joining = None
        if self.view is None:
            self._set(view_in(message))

    def _found(self) -> None:
        """Begin a clique of one's own."""
        self._joining = None
        if self.view is None:
            me = self.environment.peer
            number = max(self.environment.session << 24, self.directory.latest) + 1
            self._set(View(number, [me], {me: self.environment.now}, even_ends(1), {}))

    # The view

    def _set(self, view: View) -> None:
        before, self.view = self.view, view
        self.changes += 1
        self._changed_at = self.environment.now
        self._all_known = all(view.rtt(a, b) for a in view.members for b in view.members if a != b)
        self._strange.clear()
        self._tending.view_changed()
        self._beat = 0
        self.directory.put(view.record(0))
        me = self.environment.peer
        old, new = set() if before is None else set(before.members), set(view.members)
        for peer in sorted((old | new) - {me}):
            if (peer in old) != (peer in new):
                self._misses.pop(peer, None)
                self._gone.discard(peer)
                self.tell_change(Contact(peer), peer in new)
        if self._clique_listener is not None:
            self._clique_listener.clique_changed()

    def _publish(self, view: View, replaced: list[View], also: list[int]) -> None:
        """Send a view to its members, and to others whom it concerns."""
        me = self.environment.peer
        message = view.message(replaced=replaced)
        for peer in dict.fromkeys([*view.members, *also]):
            if peer != me:
                self.environment.send(peer, message)
        if me in view.members:
            self._set(view)

    def _change(self, view: View) -> None:
        """This server, which leads or is the oldest that is left, numbers a new view."""
        assert self.view is not None
        self._publish(view, [self.view], [])

    def _on_view(self, sender: int, message: CliqueView) -> None:
        assert message.record is not None
        view, now = view_in(message), self.view
        if self.environment.peer not in view.members:
            self.directory.put(message.record)
            return
        if now is None or (view.leader == now.leader and view.number > now.number):
            self._set(view)
            return
        for leader, number in zip(message.leaders, message.views, strict=True):
            if leader == now.leader and number >= now.number:
                self._set(view)
                return

    # Mates

    def _ping_mate(self) -> None:
        mates = self.mates
        if mates:
            self._turn += 1
            peer = mates[self._turn % len(mates)]
            self.measuring.ping(peer, partial(self._heard, peer), partial(self._missed, peer))

    def _heard(self, peer: int, pong: CliquePong) -> None:
        self._misses.pop(peer, None)
        self._gone.discard(peer)
        self._met.add(peer)
        view = self.view
        if view is None or peer not in view.members:
            return
        if pong.member:
            self._strange.pop(peer, None)
            return
        self._strange[peer] = self._strange.get(peer, 0) + 1
        if self._strange[peer] >= _STRANGE:
            self._strange.pop(peer)
            if peer == view.leader:
                self._rejoin()
            else:
                self._tell_gone(peer)

    def _missed(self, peer: int) -> None:
        self._misses[peer] = self._misses.get(peer, 0) + 1
        if self._misses[peer] >= _MISSES:
            self.on_unreachable(peer)

    def _rejoin(self) -> None:
        """The leader says that this server is no member."""
        view = self.view
        if view is not None:
            self.view = None
            for peer in view.members:
                if peer != self.environment.peer:
                    self.tell_change(Contact(peer), False)
            if self._clique_listener is not None:
                self._clique_listener.clique_changed()
            self._join()

    def _tell_gone(self, peer: int) -> None:
        """Tell the leader, or the oldest that is left; this server may be that itself."""
        heir = self._heir(peer)
        if heir == self.environment.peer:
            self._remove(peer)
        else:
            self.environment.send(heir, CliqueDeparture(peer))

    def _heir(self, gone: int) -> int:
        """The member that leads when this one is gone, as far as is known here."""
        assert self.view is not None
        return next(peer for peer in self.view.successors if peer != gone and peer not in self._gone)

    def _on_departure(self, sender: int, departure: CliqueDeparture) -> None:
        view, me = self.view, self.environment.peer
        if view is None or departure.peer not in view.members or departure.peer == me:
            return
        if self._heir(departure.peer) == me:
            self._remove(departure.peer)

    def _remove(self, peer: int) -> None:
        """Go on without a member, and without all others that are known to be gone."""
        view, me = self.view, self.environment.peer
        if view is None or peer not in view.members or peer == me:
            return
        new = view
        for gone in [other for other in view.members if other == peer or other in self._gone]:
            new = new.without(gone, view.number + 1)
        new = View(new.number, new.members, new.since, new.ends, new.rtts, [view.leader])
        self._change(new)
        self._tending.rest(_REST)
        self.directory.hurry(new.record(0))

    def _on_ping(self, sender: int, ping: CliquePing) -> CliquePong:
        view = self.view
        if view is None:
            return CliquePong()
        return CliquePong(view.leader, view.number, sender in view.members)

    def _on_join(self, sender: int, join: CliqueJoin) -> CliqueView:
        view = self._led()
        if view is None:
            return CliqueView(CliqueRecord())
        if sender in view.members:
            view = view.without(sender, view.number + 1) if len(view.members) > 1 else view
        rtts = {peer: from_units(u) for peer, u in zip(join.members, join.rtts, strict=True)}
        fits = len(view.members) < self.parameters.size and all(
            rtts.get(peer, float("inf")) <= self.parameters.diameter for peer in view.members
        )
        if not fits or self._tending.locked:
            return view.message()
        between = {pair(sender, peer): rtt for peer, rtt in rtts.items()}
        new = view.joined(sender, max(join.since, view.since[view.leader] + 1e-3), between, view.number + 1)
        self._change(new)
        return new.message()

    # What leaders do

    def _report(self) -> None:
        """Tell the leader what was measured."""
        view = self.view
        if view is None or self.leads or self._stopped:
            return
        known = {peer: self.measuring.rtts[peer] for peer in self.mates if peer in self.measuring.rtts}
        report = CliqueReport(view.number, list(known), [to_units(rtt) for rtt in known.values()])
        leader = view.leader
        self.environment.request(
            leader, report, self.parameters.patience, partial(self._reported, leader), lambda: None
        )

    def _reported(self, leader: int, answer: Message) -> None:
        assert isinstance(answer, CliqueReportAnswer)
        view = self.view
        if view is not None and view.leader == leader and not answer.leads:
            self._strange[leader] = self._strange.get(leader, 0) + 1
            if self._strange[leader] >= _STRANGE:
                self._rejoin()

    def _on_report(self, sender: int, report: CliqueReport) -> CliqueReportAnswer:
        view = self._led()
        if view is None or sender not in view.members:
            return CliqueReportAnswer(False)
        for peer, units in zip(report.members, report.rtts, strict=True):
            if peer in view.members:
                view.rtts[pair(sender, peer)] = from_units(units)
        if report.view < view.number:
            self.environment.send(sender, view.message())
        elif not self._all_known and all(
            view.rtt(a, b) for a in view.members for b in view.members if a != b
        ):
            self._change(View(view.number + 1, view.members, view.since, view.ends, view.rtts))
        return CliqueReportAnswer(True)

    def _tend(self) -> None:
        self.directory.expire(None if self.view is None else self.view.leader)
        view = self._led()
        if view is None or self.parameters.formed == "hac" or self._tending.resting:
            return
        quiet = self.environment.now - self._changed_at > self.parameters.tending
        if quiet and not self._tending.locked and self._split(view):
            return
        if quiet and not self._tending.locked and view.largest_share() > _UNEVEN:
            self._change(view.evened(view.number + 1))
            return
        # Two leaders that propose to each other at once would both refuse, again and again if in step.
        delay = self.environment.random.random() * self.parameters.tending / 2
        self.environment.set_timer(delay, self._tending.tend)

    def _split(self, view: View) -> bool:
        """Part a clique whose members are too far from each other by now; whether it was parted."""
        bounds = Bounds(self.parameters.size, self.parameters.diameter)
        parts = split(view.members, view.rtts, bounds, self.parameters.minimum)
        for members in parts or ():
            order = [peer for peer in view.members if peer in members]
            new = View(view.number + 1, order, view.since, even_ends(len(order)), view.rtts)
            self._publish(new, [view], [])
            self.directory.put(new.record(0))
        return parts is not None

    def _beat_record(self) -> None:
        view = self._led()
        if view is not None:
            self._beat += 1
            self.directory.put(view.record(self._beat))

    def _gossip(self) -> None:
        self._gossips += 1
        if self.leads and self._gossips % _MEETING == 1:
            # Servers that join at the same moment may know nobody, and each other's directories never meet.
            self.environment.find_contacts(self._meet)
            return
        others = self.sample(1)
        if others:
            self.directory.exchange(others[0])

    def _meet(self, contacts: Sequence[int]) -> None:
        if contacts and not self._stopped:
            self.directory.exchange(contacts[0])

    def _directory_changed(self, before: CliqueRecord | None, now: CliqueRecord | None) -> None:
        if self._clique_listener is not None:
            self._clique_listener.directory_changed(before, now)
