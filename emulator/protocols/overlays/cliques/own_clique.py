"""The view that a server has of its own clique, as long as no later one comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from emulator.contract.protocol import Environment
from emulator.protocols.overlays.cliques.directory import Directory
from emulator.protocols.overlays.cliques.view import View, view_in
from trellis.v1.cliques import CliqueView


class OwnClique:
    """One server's clique, or none."""

    def __init__(
        self,
        environment: Environment,
        directory: Directory,
        changed: Callable[[View | None, View | None], None],
    ) -> None:
        """`changed(before, now)` hears of each view that this server takes, and when it has none."""
        self._environment = environment
        self._directory = directory
        self._changed = changed
        self.view: View | None = None
        self.changes = 0
        """Views that were taken."""
        self.changed_at = 0.0
        self.stopped = False
        self._born = environment.now
        environment.handle(CliqueView, self._on_view)

    @property
    def leads(self) -> bool:
        return self.view is not None and self.view.leader == self._environment.peer

    @property
    def led(self) -> View | None:
        """The view of the clique that this server leads, if it leads one."""
        return self.view if self.leads and not self.stopped else None

    @property
    def mates(self) -> list[int]:
        """The other members."""
        return [] if self.view is None else [p for p in self.view.members if p != self._environment.peer]

    def take(self, view: View) -> None:
        """Have this view."""
        before, self.view = self.view, view
        self.changes += 1
        self.changed_at = self._environment.now
        self._changed(before, view)

    def drop(self) -> None:
        """Be in no clique any more."""
        before, self.view = self.view, None
        self._changed(before, None)

    def publish(self, view: View, replaced: Iterable[View], also: Sequence[int] = ()) -> None:
        """Send a view to its members in the place of others, and to those whom it concerns besides."""
        me = self._environment.peer
        message = view.message(replaced=replaced)
        for peer in dict.fromkeys([*view.members, *also]):
            if peer != me:
                self._environment.send(peer, message)
        if me in view.members:
            self.take(view)

    def _on_view(self, sender: int, message: CliqueView) -> None:
        view, now = view_in(message), self.view
        if view is None:
            return
        if self._environment.peer not in view.members:
            assert message.record is not None
            self._directory.put(message.record)
            return
        if now is None:
            # A view may still count this server's life before its crash, which has lost what it was told; so
            # it has to join again.
            if view.since[self._environment.peer] >= self._born:
                self.take(view)
            return
        if view.leader == now.leader and view.number > now.number:
            self.take(view)
            return
        for leader, number in zip(message.leaders, message.views, strict=True):
            if leader == now.leader and number >= now.number:
                self.take(view)
                return
