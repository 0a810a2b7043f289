"""Draws from a peer's random stream that protocols make in each round."""

from __future__ import annotations

from random import Random


def below(random: Random, count: int) -> int:
    """Draw a whole number from 0 to `count` - 1, the one by which `random.choice` would choose of so many.

    It draws as that method does, without its calls, of which a large trial would make millions.
    """
    bits = count.bit_length()
    drawn = random.getrandbits(bits)
    while drawn >= count:
        drawn = random.getrandbits(bits)
    return drawn
