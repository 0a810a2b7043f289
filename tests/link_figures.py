"""The figures of links on the page docs/link-figures.md, and the program that prints them.

Tests hold the same figures against their bars with fewer messages. From the top folder of a checkout,
`.venv/bin/python tests/link_figures.py` prints the page's tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from random import Random
from statistics import mean

import numpy as np
from fluid_links import MBIT, MS, Pieces, Sent, departures, departures_in_words, fluid, links, rates

from emulator.network.access_links import DROPPED, AccessLinks, LinkRates
from emulator.network.burst_loss import Bursts
from emulator.network.fair_links import FairLinks

Departures = list[int | str | None]
TAKES = MS
"""The nanoseconds that one of the messages of `mean_wait` takes alone on the link."""
LOADS = ((0.5, 500_000), (0.8, 1_000_000), (0.9, 2_000_000))
"""The loads of a link and the messages by which the wait is measured."""
BURSTS = ((0.05, 4.0), (0.02, 1.0), (0.75, 3.0))
"""The mean loss and the mean burst of each model of loss."""


def wait_of_theory(load: float) -> float:
    """Return the mean wait (ns) of M/D/1: load / (2 (1 - load)) times what a message takes (Pollaczek and
    Khinchine)."""
    return load / (2 * (1 - load)) * TAKES


def mean_wait(load: float, messages: int) -> float:
    """Return the mean wait (ns) on a link of 10 Mbit/s that gets messages of 1,250 bytes at random times.

    The gaps are the quantiles of the exponential distribution in random order, so that their mean is exact.
    """
    shares = (np.arange(messages) + 0.5) / messages
    gaps = np.random.default_rng(1).permutation(-np.log1p(-shares)) * (TAKES / load)
    made = AccessLinks([LinkRates(10 * MBIT, 0, 10**15)], [0], 0)
    assert made.instant(1) == 1
    waited = 0
    for at in np.cumsum(gaps).astype(np.int64).tolist():
        waited += made.send(0, at, 1250) - TAKES - at
    return waited / messages


def hits_of(share: float, burst: float, messages: int) -> list[bool]:
    """Return which messages of one pair are lost in bursts."""
    loss = Bursts.model_validate({"kind": "bursts", "mean": share, "burst": burst}).begin(1)
    random = Random(1)
    return [loss.hits(0, 7, random) for _ in range(messages)]


def burst_lengths(hits: Sequence[bool]) -> list[int]:
    """Return how many messages in a row each burst took."""
    return [len(list(run)) for bad, run in groupby(hits) if bad]


def in_order(sent: Sequence[Sent], rate: int, queue_ns: int, down: bool = False) -> Departures:
    """Return when messages leave the up link of a peer, or its down link, that serves them in order."""
    made = AccessLinks([rates([(0, rate)], queue_ns, down)], [0] * 10, 0)
    found = list[int | str | None]()
    for at, _, size in sent:
        passes = made.receive if down else made.send
        leaves = passes(0, made.instant(at), size)
        found.append("dropped" if leaves == DROPPED else made.nanoseconds(leaves))
    return found


@dataclass(frozen=True)
class Load:
    """One kind of random load on a link, and the links that bear it."""

    name: str
    at_once: int
    """The most messages, to as many peers or from them, that enter at one time."""
    queue_ns: int
    changes: int = 0
    """The changes of the link's rate, one in three of which is to 0."""
    down: bool = False

    def draw(self, random: Random) -> tuple[list[Sent], Pieces]:
        """Return what enters the link, and its rates."""
        sent, at = list[Sent](), 0
        while len(sent) < 40:
            at += random.choice((0, random.randrange(20 * MS)))
            count = random.randint(2, self.at_once)
            sent += [(at, peer, random.randrange(3000)) for peer in random.sample(range(1, 10), count)]
        rates = (1 * MBIT, 3 * MBIT, 7 * MBIT, 10 * MBIT)
        times = sorted(random.sample(range(1, at + 2), self.changes))
        later = [(each, random.choice((0, *random.choices(rates, k=2)))) for each in times]
        return sent, [(0, random.choice(rates)), *later]


AMPLE = 10**12
FAN_OUT = Load("fan-out", 8, AMPLE)
FAN_IN = Load("fan-in", 8, AMPLE, down=True)
OVERFLOW = Load("overflow", 8, 5 * MS)
CHANGES = Load("change of rate", 4, 20 * MS, changes=4)
LOADS_OF_LINKS = (FAN_OUT, FAN_IN, OVERFLOW, CHANGES)


@dataclass
class Comparison:
    """The departures from links beside those of the fluid model."""

    messages: int = 0
    dropped: int = 0
    stalled: int = 0
    """The messages that never leave, because the rate stays 0."""
    other_fate: int = 0
    """The messages that one of the two drops or stalls, and the other does not."""
    largest_ns: int = 0

    def add(self, got: Departures, expected: Departures) -> None:
        """Compare what both say of the same messages."""
        for mine, theirs in zip(got, expected, strict=True):
            self.messages += 1
            self.dropped += theirs == "dropped"
            self.stalled += theirs is None
            if isinstance(mine, int) and isinstance(theirs, int):
                self.largest_ns = max(self.largest_ns, abs(mine - theirs))
            else:
                self.other_fate += mine != theirs


def implementations(load: Load, fair: bool) -> dict[str, Callable[[Sequence[Sent], Pieces], Departures]]:
    """Return the links of Trellis that can bear a load, by the name of their class."""
    queue, down = load.queue_ns, load.down
    found: dict[str, Callable[[Sequence[Sent], Pieces], Departures]] = {
        "SharedLinks": lambda sent, pieces: departures(links(pieces, queue, fair, down), sent, int(down))
    }
    if not load.changes and fair:
        found["FairLinks"] = lambda sent, pieces: departures_in_words(
            FairLinks([rates(pieces, queue, down)], [0] * 10, 0), sent, int(down)
        )
    if not load.changes and not fair:
        found["AccessLinks"] = lambda sent, pieces: in_order(sent, pieces[0][1], queue, load.down)
    return found


def compare(load: Load, fair: bool, times: int) -> dict[str, Comparison]:
    """Hold the links that can bear a load against the fluid model, with so many random loads."""
    links_of = implementations(load, fair)
    found = {name: Comparison() for name in links_of}
    random = Random(1)
    for _ in range(times):
        sent, pieces = load.draw(random)
        room = Fraction(load.queue_ns * pieces[0][1], 10**9)
        expected = fluid(sent, pieces, room, fair)  # type: ignore[arg-type]
        for name, drive in links_of.items():
            found[name].add(drive(sent, pieces), expected)
    return found


def main() -> None:
    """Print all figures."""
    print("| load | messages | mean wait | theory | difference |\n|---|---|---|---|---|")
    for load, messages in LOADS:
        wait, theory = mean_wait(load, messages), wait_of_theory(load)
        off = f"{wait / theory - 1:+.2%}"
        print(f"| {load} | {messages:,} | {wait / MS:.4f} ms | {theory / MS:.4f} ms | {off} |")
    print("\n| mean loss | measured | mean burst | measured | difference |\n|---|---|---|---|---|")
    for share, burst in BURSTS:
        hits = hits_of(share, burst, 800_000)
        length = mean(burst_lengths(hits))
        print(f"| {share:.0%} | {mean(hits):.3%} | {burst:g} | {length:.4f} | {length / burst - 1:+.2%} |")
    print("\n| load | discipline | links | messages | dropped | stalled | other fate | largest difference |")
    print("|---|---|---|---|---|---|---|---|")
    for each in LOADS_OF_LINKS:
        for fair in (False, True):
            for name, of in compare(each, fair, 500).items():
                row = (each.name, "fair" if fair else "fifo", f"`{name}`", f"{of.messages:,}")
                counts = (f"{of.dropped:,}", f"{of.stalled:,}", f"{of.other_fate}", f"{of.largest_ns} ns")
                print(f"| {' | '.join((*row, *counts))} |")


if __name__ == "__main__":
    main()
