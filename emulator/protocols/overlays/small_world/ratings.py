"""How alike the interests of a peer and of the candidates of its selection are."""

from __future__ import annotations

from librt.vecs import vec
from mypy_extensions import i64

from emulator.kernels import rate
from emulator.protocols.gossip.profile_handles import ProfileHandles
from emulator.protocols.gossip.profiles import utility
from emulator.protocols.gossip.sightings import Sightings


class Ratings:
    """The utilities of candidates by Equation 1 of Vitis, by the candidates' places.

    One serves all selections of a process, because each is over before the next begins.
    """

    def __init__(self) -> None:
        self.utilities = _floats(256)

    def rate(self, own: int, candidates: Sightings, profiles: ProfileHandles, known: vec[i64]) -> None:
        """Rate the candidates for the profile of the handle `own`; `known` is what the kernel remembers."""
        count = int(candidates.count)
        if count > len(self.utilities):
            self.utilities = _floats(2 * count)
        utilities, handles = self.utilities, candidates.handles
        topics, begins, counts, rates = profiles.topics, profiles.begins, profiles.counts, profiles.rates
        if not rate(utilities, handles, count, own, topics, begins, counts, rates, known):
            mine = profiles.profile(own)
            for place in range(count):
                if utilities[place] < 0:
                    utilities[place] = utility(mine, profiles.profile(handles[place]))


def _floats(count: int) -> memoryview[float]:
    return memoryview(bytearray(8 * count)).cast("d")
