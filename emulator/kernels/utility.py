"""The plain twin of `utility.c`, which has the rule: how alike the interests of peers are."""

from __future__ import annotations

from librt.vecs import vec
from mypy_extensions import i32, i64


def rate(
    utilities: memoryview[float],
    handles: vec[i64],
    count: int,
    own: int,
    topics: vec[i32],
    begins: vec[i64],
    sizes: vec[i64],
    rates: vec[float],
    known: vec[i64],
) -> bool:
    """Write the utilities of the candidates. Returns whether that are all; -1 stands for one that is left.

    `known` is not used: only the kernel remembers.
    """
    if not 0 <= count <= min(len(handles), len(utilities)):
        raise ValueError(f"there are no {count} candidates")

    def topics_of(handle: int) -> set[int]:
        if not 0 <= handle < min(len(begins), len(sizes), len(rates)):
            raise IndexError(f"handle {handle} has no topics")
        begin, size = begins[i64(handle)], sizes[i64(handle)]
        if not (begin >= 0 and size >= 0 and begin + size <= len(topics)):
            raise IndexError(f"the topics of handle {handle} are not there")
        return {int(topic) for topic in topics[begin : begin + size]}

    wanted = topics_of(own)
    for place in range(count):
        handle = int(handles[i64(place)])
        theirs = topics_of(handle)
        if not wanted & theirs:
            utilities[place] = 0.0
        elif rates[i64(handle)] == rates[i64(own)]:
            utilities[place] = len(wanted & theirs) / len(wanted | theirs)
        else:
            utilities[place] = -1.0
    return all(utility >= 0 for utility in utilities[:count])
