"""Sets of small whole numbers as vectors, ascending: they take little memory where they have few members."""

from __future__ import annotations

from librt.vecs import append, vec
from mypy_extensions import i32, i64

from emulator.compact.bit_sets import bit_set, bits


def sorted_numbers(members: int) -> vec[i32]:
    """Return the numbers of a bit set."""
    return vec[i32]([i32(number) for number in bits(members)])


def as_bits(numbers: vec[i32]) -> int:
    """Return the numbers as a bit set."""
    return bit_set([int(number) for number in numbers])


def union(one: vec[i32], other: vec[i32]) -> vec[i32]:
    """Return the numbers that are in either set."""
    first: i64 = len(one)
    second: i64 = len(other)
    if second == 0:
        return one
    if first == 0:
        return other
    found = vec[i32](capacity=first + second)
    at: i64 = 0
    beside: i64 = 0
    while at < first and beside < second:
        number, rival = one[at], other[beside]
        if number <= rival:
            at += 1
        if rival <= number:
            beside += 1
        found = append(found, number if number < rival else rival)
    while at < first:
        found = append(found, one[at])
        at += 1
    while beside < second:
        found = append(found, other[beside])
        beside += 1
    return found


def difference(one: vec[i32], other: vec[i32]) -> vec[i32]:
    """Return the numbers of one set that are not in the other."""
    first: i64 = len(one)
    second: i64 = len(other)
    if first == 0 or second == 0:
        return one
    found = vec[i32]()
    beside: i64 = 0
    at: i64
    for at in range(first):
        number = one[at]
        while beside < second and other[beside] < number:
            beside += 1
        if beside == second or other[beside] != number:
            found = append(found, number)
    return found


def are_equal(one: vec[i32], other: vec[i32]) -> bool:
    """Return whether two sets have the same numbers."""
    count: i64 = len(one)
    if count != len(other):
        return False
    at: i64 = 0
    while at < count and one[at] == other[at]:
        at += 1
    return at == count


def holds(numbers: vec[i32], number: i64) -> bool:
    """Return whether a number is in a set."""
    low: i64 = 0
    high: i64 = len(numbers)
    while low < high:
        middle = (low + high) >> 1
        if i64(numbers[middle]) < number:
            low = middle + 1
        else:
            high = middle
    return low < len(numbers) and i64(numbers[low]) == number


def packed_size(numbers: vec[i32]) -> i64:
    """Return the bytes of a packed field of these numbers, without its tag and length."""
    size: i64 = 0
    at: i64
    for at in range(len(numbers)):
        number = numbers[at]
        size += 1
        while number > 0x7F:
            size += 1
            number >>= 7
    return size
