"""The clique overlay at one server: it pings its mates, and knows all cliques by gossip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from emulator.contract.protocol import Contact, Environment, Membership
from emulator.protocols.overlays.cliques.arrival import Arrival
from emulator.protocols.overlays.cliques.directory import Directory
from emulator.protocols.overlays.cliques.failure_detection import Mates
from emulator.protocols.overlays.cliques.leading import Leading
from emulator.protocols.overlays.cliques.measuring import Measuring
from emulator.protocols.overlays.cliques.member_context import MemberContext
from emulator.protocols.overlays.cliques.own_clique import OwnClique
from emulator.protocols.overlays.cliques.parameters import CliqueParameters
from emulator.protocols.overlays.cliques.view import View, even_ends
from trellis.v1.cliques import CliqueRecord

_BEATS: Final = 8.0
"""The seconds between two beats of a leader in the directory."""
_MEETING: Final = 5
"""A leader has every n-th exchange of directories with a peer that the bootstrap service names."""


class CliqueListener(Protocol):
    """A listener to changes of cliques. Any class that has these methods is one."""

    def clique_changed(self) -> None:
        """Hear that members or shares of this server's clique have changed."""

    def directory_changed(self, before: CliqueRecord | None, now: CliqueRecord | None) -> None:
        """Hear that another clique came, went, or has other members or shares."""


class Cliques(Membership):
    """One server in its clique. The neighbours of this membership are the server's mates."""

    def __init__(self, environment: Environment, parameters: CliqueParameters) -> None:
        super().__init__(environment)
        self.parameters = parameters
        self.measuring = Measuring(environment, parameters.patience)
        self.directory = Directory(
            environment, parameters.expiry, parameters.patience, self._directory_changed
        )
        self._own_clique = OwnClique(environment, self.directory, self._view_changed)
        context = MemberContext(environment, parameters, self.directory, self.measuring)
        self._arrival = Arrival(context, self._own_clique)
        self._leading = Leading(context, self._own_clique)
        self._mates = Mates(context, self._own_clique, self._leading, self._rejoin)
        self._clique_listener: CliqueListener | None = None
        self._gossips = 0

    def listen(self, listener: CliqueListener) -> None:
        """Tell this listener of changes from now on. There is one listener."""
        self._clique_listener = listener

    @property
    def view(self) -> View | None:
        """The view of this server's clique, None until it is in one."""
        return self._own_clique.view

    @property
    def changed_at(self) -> float:
        """The time at which this server took its view (s of trial time)."""
        return self._own_clique.changed_at

    @property
    def mates(self) -> list[int]:
        """The other members of this server's clique."""
        return self._own_clique.mates

    def start(self, contacts: Sequence[int]) -> None:
        parameters, every = self.parameters, self.environment.every
        every(parameters.ping, self._mates.ping_next)
        every(parameters.gossip, self._gossip)
        every(parameters.tending, self._leading.tend)
        every(2 * parameters.tending, self._mates.report)
        every(_BEATS, self._leading.beat)
        if parameters.given is not None:
            self._take_given(parameters.given)
        elif contacts:
            self._arrival.learn(list(contacts))
        else:
            self._arrival.begin_alone()

    def stop(self, graceful: bool) -> None:
        self._own_clique.stopped = True
        if graceful:
            self._mates.leave()

    def sample(self, count: int) -> Sequence[int]:
        me = self.environment.peer
        known = [peer for record in self.directory.records.values() for peer in record.members if peer != me]
        return self.environment.random.sample(known, min(count, len(known)))

    def on_unreachable(self, peer: int) -> None:
        self._mates.lose(peer)

    def gauges(self) -> dict[str, float]:
        view, changes = self.view, float(self._own_clique.changes)
        if view is None:
            return {"clique_members": 0.0, "clique_changes": changes}
        return {
            "clique_members": float(len(view.members)),
            "clique_changes": changes,
            "cliques_known": float(len(self.directory.records)),
            "directory_bytes": float(sum(r.byte_size() for r in self.directory.records.values())),
        }

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return {"mate": self.mates}

    def _take_given(self, cliques: Sequence[Sequence[int]]) -> None:
        """Take the cliques that were laid out, which exist from the start."""
        for members in cliques:
            since = dict.fromkeys(members, 0.0)
            view = View(1, members, since, even_ends(len(members)), {})
            if self.environment.peer in members:
                self._own_clique.take(view)
            self.directory.put(view.record())
        self.measuring.ping_all(self.mates, lambda _: self._mates.report())

    def _view_changed(self, before: View | None, now: View | None) -> None:
        if now is not None:
            self._mates.view_changed()
            self._leading.view_changed(now)
            self.directory.put(now.record())
        old = set() if before is None else set(before.members)
        new = set() if now is None else set(now.members)
        for peer in sorted((old ^ new) - {self.environment.peer}):
            self._mates.forget(peer)
            self.tell_change(Contact(peer), peer in new)
        if self._clique_listener is not None:
            self._clique_listener.clique_changed()

    def _rejoin(self) -> None:
        """Join again, because the leader or most mates say that this server is no member."""
        if self.view is not None:
            self._own_clique.drop()
            self._arrival.join()

    def _gossip(self) -> None:
        self._gossips += 1
        if self._own_clique.leads and self._gossips % _MEETING == 1:
            # Servers that join at the same moment may know no others, so that their directories would never
            # meet.
            self.environment.find_contacts(self._meet)
            return
        records = list(self.directory.records.values())
        if records:
            members = self.environment.random.choice(records).members
            peer = self.environment.random.choice(members)
            if peer != self.environment.peer:
                self.directory.exchange(peer)

    def _meet(self, contacts: Sequence[int]) -> None:
        if contacts and not self._own_clique.stopped:
            self.directory.exchange(contacts[0])

    def _directory_changed(self, before: CliqueRecord | None, now: CliqueRecord | None) -> None:
        if self._clique_listener is not None:
            self._clique_listener.directory_changed(before, now)
