"""Sets of small whole numbers as bits of one `int`: bit n is set if n is in the set."""

from __future__ import annotations

from collections.abc import Collection

from librt.vecs import vec
from mypy_extensions import i64, u8


def bit_set(numbers: Collection[int]) -> int:
    """Return the set of these numbers, none of them negative."""
    octets = vec[u8]([u8(0)] * (max(numbers, default=-1) // 8 + 1))
    for number in numbers:
        octets[i64(number >> 3)] |= u8(1 << (number & 7))
    return int.from_bytes(bytes(octets), "little")


def bits(numbers: int) -> list[int]:
    """Return the numbers in the set, ascending."""
    found: list[int] = []
    octets = numbers.to_bytes((numbers.bit_length() + 7) // 8, "little")
    for place in range(len(octets)):
        octet = octets[place]
        number = 8 * place
        while octet:
            if octet & 1:
                found.append(number)
            octet >>= 1
            number += 1
    return found
