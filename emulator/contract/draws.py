"""Draws from a peer's random stream that protocols make in each round."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

_FEW: Final = 21
"""The length up to which `random.sample` draws from a copy of a list, whatever is drawn."""


def below(random: Random, count: int) -> int:
    """Draw a whole number from 0 to `count` - 1, the one by which `random.choice` would choose of so many.

    It draws as that method does, without its calls, of which a large trial would make millions.
    """
    bits = count.bit_length()
    drawn = random.getrandbits(bits)
    while drawn >= count:
        drawn = random.getrandbits(bits)
    return drawn


def draw_few(random: Random, things: Sequence[int], count: int) -> list[int]:
    """Return `count` of these, drawn as `random.sample` draws them, without its calls if they are few.

    Raises ValueError if there are not so many.
    """
    left = len(things)
    if left > _FEW or not 0 <= count <= left:
        return random.sample(things, count)
    pool = list(things)
    drawn: list[int] = []
    for _ in range(count):
        place = below(random, left)
        left -= 1
        drawn.append(pool[place])
        pool[place] = pool[left]
    return drawn
