"""Algorithm 1 of Magnet (section 3.2): the place of a peer on the interest ring."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping

from emulator.protocols.gossip.profiles import utility
from trellis.v1.overlay import Profile


def most_similar(
    own: Profile, view: Mapping[int, Profile], excluded: Collection[int], rng: random.Random
) -> Profile | None:
    """Return the peer in the view with the most similar interests, a random one of equals; None without any.

    Similarity is what two peers share over what either of them has, by number or by rates as the profiles
    tell (section 2.1). `excluded` are peers that did not answer.
    """
    best: list[Profile] = []
    highest = -1.0
    for profile in view.values():
        if profile.peer in excluded:
            continue
        similarity = utility(own, profile)
        if similarity > highest:
            best, highest = [], similarity
        if similarity == highest:
            best.append(profile)
    return best[rng.randrange(len(best))] if best else None
