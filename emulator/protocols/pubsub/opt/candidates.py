"""SpiderCast's choice of the next neighbour among the known peers: greedy, or random.

There may be thousands of known peers, and the number of lacking topics that each would bring only shrinks
while links are made. So a peer is listed under the number that it brought when it was last examined, and is
examined again when it is drawn. Drawing goes on until a peer still brings that number, so all peers that
bring most are equally likely.
"""

from __future__ import annotations

import random
from collections.abc import Container, Iterable

from trellis.v1.overlay import Profile


class Refusal:
    """A peer that refused or did not answer, and is not to be asked for a while."""

    __slots__ = ("at", "back_to_greedy", "back_to_random", "profile")

    def __init__(self, profile: Profile, at: float, *, was_random: bool) -> None:
        self.profile = profile
        self.at = at
        """The time at which it refused (s of trial time)."""
        self.back_to_greedy = not was_random
        """Whether the peer left the candidates for greedy choice and is to be put back."""
        self.back_to_random = was_random


class Candidates:
    """The known peers that would bring a topic. Sets of topics are bit sets."""

    def __init__(self, neighbours: Container[int], draw: random.Random) -> None:
        """`neighbours` are the present neighbours of the peer, as they change."""
        self._neighbours = neighbours
        self._draw = draw
        self._greedy: list[list[Profile]] = []
        """The candidates by the number of lacking topics that they brought when they were last examined."""
        self._random: list[Profile] = []
        self._refusals: dict[int, Refusal] = {}
        """The refusals by peer, the oldest first."""

    def fill(self, known: Iterable[Profile], lacking: int) -> None:
        """Begin anew with these peers; `lacking` are the topics that greedy choice lacks.

        Until the next call, the topics that either choice lacks may only shrink.
        """
        self._greedy = []
        self._random = []
        for refusal in self._refusals.values():
            refusal.back_to_greedy = refusal.back_to_random = False
        for profile in known:
            refused = self._refusals.get(profile.peer)
            if refused is not None:
                refused.profile = profile
                refused.back_to_greedy = refused.back_to_random = True
            elif profile.peer not in self._neighbours:
                self._stand(profile, lacking)
                self._random.append(profile)

    def refused(self, profile: Profile, now: float, *, was_random: bool) -> None:
        """Note that the peer chosen last refused, so that it is not chosen before it is forgiven."""
        self._refusals[profile.peer] = Refusal(profile, now, was_random=was_random)

    def forgive(self, before: float, lacking: int) -> None:
        """Let peers be chosen again that refused before a time (s of trial time); `lacking` as for `fill`."""
        while self._refusals:
            peer = next(iter(self._refusals))
            refusal = self._refusals[peer]
            if refusal.at >= before:
                break
            del self._refusals[peer]
            if refusal.back_to_greedy:
                self._stand(refusal.profile, lacking)
            if refusal.back_to_random:
                self._random.append(refusal.profile)

    def choose_greedily(self, lacking: int) -> Profile | None:
        """Return the peer with the most lacking topics, a random one of equals; None without any."""
        while self._greedy:
            most = len(self._greedy) - 1
            if not self._greedy[most]:
                self._greedy.pop()
                continue
            profile = self._take(self._greedy[most])
            refusal = self._refusals.get(profile.peer)
            if refusal is not None:
                refusal.back_to_greedy = True
            elif profile.peer not in self._neighbours:
                if (profile.topics & lacking).bit_count() == most:
                    return profile
                self._stand(profile, lacking)
        return None

    def choose_randomly(self, lacking: int) -> Profile | None:
        """Return a random peer with one of the lacking topics, None if there is none."""
        while self._random:
            profile = self._take(self._random)
            refusal = self._refusals.get(profile.peer)
            if refusal is not None:
                refusal.back_to_random = True
            elif profile.peer not in self._neighbours and profile.topics & lacking:
                return profile
        return None

    def _stand(self, profile: Profile, lacking: int) -> None:
        brought = (profile.topics & lacking).bit_count()
        if brought:
            while len(self._greedy) <= brought:
                self._greedy.append([])
            self._greedy[brought].append(profile)

    def _take(self, peers: list[Profile]) -> Profile:
        """Remove a random peer from the list and return it."""
        at = self._draw.randrange(len(peers))
        taken = peers[at]
        peers[at] = peers[-1]
        peers.pop()
        return taken
