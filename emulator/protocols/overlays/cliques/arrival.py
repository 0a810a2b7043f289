"""The arrival of a server: it learns the directory, then joins a clique or begins one of its own."""

from __future__ import annotations

from emulator.protocols.overlays.cliques.joining import Joining
from emulator.protocols.overlays.cliques.member_context import MemberContext
from emulator.protocols.overlays.cliques.own_clique import OwnClique
from emulator.protocols.overlays.cliques.view import View, even_ends


class Arrival:
    """One server while it is in no clique."""

    def __init__(self, context: MemberContext, own: OwnClique) -> None:
        self._environment = context.environment
        self._context = context
        self._own_clique = own

    def learn(self, contacts: list[int]) -> None:
        """Learn the directory from one of the contacts, then join."""
        directory = self._context.directory

        def learnt(answered: bool) -> None:
            if self._own_clique.view is not None or self._own_clique.stopped:
                return
            if answered and directory.records:
                self.join()
            elif contacts:
                self.learn(contacts)
            elif answered:
                self.begin_alone()
            else:
                self._environment.find_contacts(
                    lambda found: self.learn(list(found)) if found else self.begin_alone()
                )

        directory.exchange(contacts.pop(0), learnt)

    def join(self) -> None:
        """Join one of the cliques that are known."""
        Joining(self._context, self._joined, self.begin_alone).begin()

    def begin_alone(self) -> None:
        """Begin a clique of this server alone."""
        if self._own_clique.view is None:
            me, directory = self._environment.peer, self._context.directory
            number = max(self._environment.session << 24, directory.latest) + 1
            self._own_clique.take(View(number, [me], {me: self._environment.now}, even_ends(1), {}))

    def _joined(self, view: View) -> None:
        if self._own_clique.view is None:
            self._own_clique.take(view)
