"""The last part of an event's way: from the proxy to the servers of its clique that want it."""

from __future__ import annotations

from collections.abc import Iterable

from emulator.overlays.cliques.view import View


class CliqueTree:
    """The spanning tree of a clique, as all members find it from the RTTs in the view."""

    def __init__(self, view: View) -> None:
        self.view = view
        self._links = _spanning(view)

    def ways(self, start: int, targets: Iterable[int]) -> dict[int, list[int]]:
        """The neighbours of `start` that targets are reached by, each with the targets behind it."""
        came_from: dict[int, int] = {start: start}
        order = [start]
        for server in order:
            for other in self._links.get(server, ()):
                if other not in came_from:
                    came_from[other] = server
                    order.append(other)
        ways: dict[int, list[int]] = {}
        for target in targets:
            at = target
            if at not in came_from:
                ways.setdefault(target, [])
                continue
            while came_from[at] != start:
                at = came_from[at]
            behind = ways.setdefault(at, [])
            if target != at:
                behind.append(target)
        return ways


def _spanning(view: View) -> dict[int, list[int]]:
    """Prim's algorithm. Servers whose RTTs are not known stay out."""
    links: dict[int, list[int]] = {peer: [] for peer in view.members}
    inside = [view.leader]
    outside = [peer for peer in view.members if peer != view.leader]
    while outside:
        known = [(rtt, a, b) for a in inside for b in outside if (rtt := view.rtt(a, b)) is not None]
        if not known:
            break
        _, a, b = min(known)
        links[a].append(b)
        links[b].append(a)
        inside.append(b)
        outside.remove(b)
    return links
