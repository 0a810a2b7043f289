"""A peer's memory of how alike its interests and those of other peers are."""

from __future__ import annotations

from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

from emulator.protocols.gossip.profile_handles import ProfileHandles
from emulator.protocols.gossip.profiles import utility

_ROWS: Final[i64] = 128


class Ratings:
    """A store of utilities, computed from this peer's profile and those of others when they are asked for.

    Most peers that an exchange tells of were in the last exchange too. A row is found by the peer's number;
    peers that share a row replace each other, and what is not remembered is computed again.
    """

    def __init__(self, profiles: ProfileHandles) -> None:
        self._profiles = profiles
        self._own: i64 = -1
        self._is_interested = False
        self._sweeps = -1
        self._rated = vec[i64]()
        self._utilities = vec[float]()

    def begin(self, own: i64) -> None:
        """Rate others for the profile of this handle from now on."""
        if own != self._own or self._sweeps != self._profiles.sweeps:
            self._own = own
            self._sweeps = self._profiles.sweeps
            self._is_interested = self._profiles.profile(own).topics != 0
            if self._is_interested:
                self._rated = vec[i64]([i64(-1)] * int(_ROWS))
                self._utilities = vec[float]([0.0] * int(_ROWS))

    def utility(self, other: i64) -> float:
        """Return the utility of the profile of a handle by Equation 1 of Vitis."""
        if not self._is_interested:
            return 0.0
        profiles = self._profiles
        row = profiles.peer(other) % _ROWS
        if self._rated[row] != other:
            self._rated[row] = other
            self._utilities[row] = utility(profiles.profile(self._own), profiles.profile(other))
        return self._utilities[row]
