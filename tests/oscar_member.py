"""A peer of OSCAR as its parts see it, for tests of one part."""

from __future__ import annotations

from collections.abc import Sequence

from trellis.v1.oscar import RingPlace
from trellis.v1.overlay import Contact


class MemberAtZero:
    """Peer 0 at identifier 0, which knows the peers that it is given."""

    def __init__(self, known: Sequence[Contact] = ()) -> None:
        self._known = list(known)

    def own_contact(self) -> Contact | None:
        return Contact(0, 0)

    def next_on_ring(self) -> int:
        return -1

    def known_peers(self) -> list[Contact]:
        return self._known

    def incoming_links(self) -> int:
        return 0

    def sampled_levels(self) -> int:
        return 0

    def take_place(self, place: RingPlace) -> None: ...

    def begin_ring(self, identifier: int) -> None: ...

    def ring_changed(self) -> None: ...

    def link_changed(self, come: Contact | None, gone: Contact | None) -> None: ...

    def part_from(self, peer: int) -> None: ...
