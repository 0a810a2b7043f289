"""The interface between an OSCAR peer and its parts."""

from __future__ import annotations

from typing import Protocol as Interface

from emulator.contract.protocol import Contact
from trellis.v1.oscar import RingPlace


class RingMember(Interface):
    """The peer that its parts belong to. Any class that has these methods is one."""

    def own_contact(self) -> Contact | None:
        """Return the contact of this peer while it stands on the ring."""
        ...

    def next_on_ring(self) -> int:
        """Return the number of the successor, or -1 while there is none."""
        ...

    def known_peers(self) -> list[Contact]:
        """Return all peers that walks may go on to, in both directions."""
        ...

    def incoming_links(self) -> int:
        """Return the number of long links from others to this peer."""
        ...

    def sampled_levels(self) -> int:
        """Return the number of partitions that this peer found last."""
        ...

    def take_place(self, place: RingPlace) -> None:
        """Take the place that another peer gave."""

    def begin_ring(self, identifier: int) -> None:
        """Begin a ring at this identifier, alone."""

    def ring_changed(self) -> None:
        """Note that the neighbours on the ring have changed."""

    def link_changed(self, come: Contact | None, gone: Contact | None) -> None:
        """Note that a long link came, or that one went."""

    def part_from(self, peer: int) -> None:
        """Move away from the identifier that `peer` has too."""
