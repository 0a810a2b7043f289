"""The identities of attackers: how many peers one of them poses as, and next to whom they stand.

The names are those of Douceur (The Sybil Attack, IPTPS 2002) and of Singh, Ngan, Druschel and Wallach
(Eclipse Attacks on Overlay Networks, INFOCOM 2006): an attacker with many identities is a Sybil, and
attackers that crowd around a target eclipse it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Final

from pydantic import Field

from emulator.contract.identifiers import RING, hash_of_peer, hash_of_topic
from emulator.faults.groups import Crowd, Model

STEP: Final = 1 << 80
"""The distance between two neighbouring identifiers of attackers.

It is far below that of peers, also with millions of them, and large enough to be kept where an overlay makes
a skewed identifier of a uniform one by numbers of 53 bits.
"""


class Target(Model):
    """The peer, the topic or the key around whose identifier attackers crowd."""

    peer: int | None = Field(None, ge=0, description="its number; the key of lookups for it is the same")
    topic: int | None = Field(None, ge=0, description="its number; the key is its hash")
    key: str | None = Field(
        None, pattern=r"^[0-9a-f]{32}$", description="the key itself, as 32 hexadecimal digits in quotes"
    )

    LATER: ClassVar[tuple[str, ...]] = ("key",)

    @property
    def identifier(self) -> int:
        """The uniform identifier of the target."""
        if self.key is not None:
            return int(self.key, 16)
        return hash_of_peer(self.peer) if self.peer is not None else hash_of_topic(self.topic or 0)

    def problems(self, crowd: Crowd) -> list[tuple[str, str]]:
        """Return the key below the target and the problem if it names none, or several."""
        if [self.peer, self.topic, self.key].count(None) != 2:
            return [("peer", "exactly one of `peer`, `topic` and `key` says around whom they crowd")]
        if self.peer is not None and self.peer >= crowd.peers:
            return [("peer", f"there is no peer {self.peer}. They are 0 to {crowd.peers - 1}")]
        return []


def around(target: Target, attackers: Iterable[int]) -> dict[int, int]:
    """Return the identifier of each attacker: the next ones after and before that of the target in turn.

    A target that is an attacker itself keeps its own.
    """
    crowding = [peer for peer in attackers if peer != target.peer]
    sides = [(place // 2 + 1) * (1 if place % 2 == 0 else -1) for place in range(len(crowding))]
    return {
        peer: (target.identifier + side * STEP) & RING.mask
        for peer, side in zip(crowding, sides, strict=True)
    }
