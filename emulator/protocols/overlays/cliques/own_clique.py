"""The view that a server has of its own clique, until a later one comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from emulator.contract.protocol import Environment
from emulator.protocols.overlays.cliques.directory import Directory
from emulator.protocols.overlays.cliques.view import View, view_in
from trellis.v1.cliques import CliqueView


class OwnClique:
    """The clique of one server, which may be in none."""

    def __init__(
        self,
        environment: Environment,
        directory: Directory,
        changed: Callable[[View | None, View | None], None],
    ) -> None:
        """`changed(before, now)` is called for each new view, and when this server has none any more."""
        self._environment = environment
        self._directory = directory
        self._changed = changed
        self.view: View | None = None
        self.changes = 0
        """The number of views that this server has taken."""
        self.changed_at = 0.0
        self.stopped = False
        self._born = environment.now
        environment.handle(CliqueView, self._on_view)

    @property
    def leads(self) -> bool:
        return self.view is not None and self.view.leader == self._environment.peer

    @property
    def led(self) -> View | None:
        """The view of the clique that this server leads, None if it leads none."""
        return self.view if self.leads and not self.stopped else None

    @property
    def mates(self) -> list[int]:
        """The other members of the clique."""
        return [] if self.view is None else [p for p in self.view.members if p != self._environment.peer]

    def take(self, view: View) -> None:
        """Take this view as the present one."""
        before, self.view = self.view, view
        self.changes += 1
        self.changed_at = self._environment.now
        self._changed(before, view)

    def drop(self) -> None:
        """Leave the clique and be in none."""
        before, self.view = self.view, None
        self._changed(before, None)

    def publish(self, view: View, replaced: Iterable[View], also: Sequence[int] = ()) -> None:
        """Send a view that replaces others to its members, and to the servers in `also`."""
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
            self._environment.drop(CliqueView, "its lists do not fit together")
            return
        if self._environment.peer not in view.members:
            assert message.record is not None
            self._directory.put(message.record)
            return
        if now is None:
            # A view may still name this server's life before a crash, in which it lost what it was told; then
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
