"""The network between peers: one-way delay, jitter and loss."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from librt.vecs import append, extend, vec
from mypy_extensions import i64

from emulator.contract.mistakes import code_of
from emulator.network.access_links import NANOSECONDS, AccessLinks
from emulator.network.fair_links import FairLinks
from emulator.network.jitters import HALF_NORMAL_DEVIATION
from emulator.network.link_use import LinkUse
from emulator.network.model import Jitter, JitterModel, Loss, LossModel
from emulator.network.pair_order import PairOrder
from emulator.network.placed_loss import placed_loss
from emulator.network.rate_change import RateChange
from emulator.network.shared_links import SharedLinks
from emulator.network.spec import NetworkSpec

Rows = Sequence["array[float]"] | Mapping[int, "array[float]"]
"""Numbers from each place, or from some places, to all places of the latency matrix."""

LOSS: Final = "network loss"
"""The name of the observation of a sender whose message the network has lost; its value is bytes."""
PEER_DOWN: Final = "peer down"
"""The name of the observation of a sender whose message came to a peer that is down; its value is bytes."""


class Network:
    """One-way delays between peers that stand at the places of a latency matrix.

    `rows[location][location]` is a one-way delay in seconds, `locations[peer]` is a peer's row. Several peers
    may stand at one place; the diagonal holds the delay between them. Memory grows with the places, not with
    the peers; a sender needs only the rows of its own peers. `later` has the rows that count from later times
    of the trial on.
    """

    __slots__ = (
        "_begun",
        "_delays",
        "_lost_share",
        "_placed",
        "_places",
        "_row_starts",
        "_sigma",
        "access",
        "changes",
        "earliest",
        "fair",
        "is_plain",
        "jitter",
        "later",
        "link_classes",
        "locations",
        "loss",
        "lost",
        "order",
        "rows",
        "shared",
        "unreachable_after",
    )

    def __init__(
        self,
        rows: Rows,
        locations: Sequence[int],
        spec: NetworkSpec,
        link_classes: Sequence[int] = (),
        seed: int = 0,
        changes: Sequence[RateChange] = (),
        lost: Rows = (),
        later: Sequence[tuple[float, Rows]] = (),
    ) -> None:
        """`link_classes` has the index of each peer's class of links, where links have a bandwidth, and
        `changes` what happens to their rates.

        `lost` has the share of messages that vanish between places, as `rows` has delays, or nothing. `later`
        has the times (s of the trial, rising) from which on other delays count. Bursts of loss are drawn from
        the trial's `seed`.
        """
        self.rows = rows
        self.lost = lost
        self.later = later
        self._begun = 0
        """The number of the times in `later` that have come."""
        self.locations = list(locations)
        jitter, loss = spec.jitter, spec.loss
        self.jitter = _begun_jitter(jitter) if isinstance(jitter, JitterModel) else None
        """The jitter of a model, None if the experiment asks for none or for a plain one."""
        self.earliest: float = 0.0 if self.jitter is None else self.jitter.earliest
        """The most seconds by which jitter makes a message earlier than the delay of its pair."""
        self.loss = _begun_loss(loss, seed) if isinstance(loss, LossModel) else None
        """The loss of a model, None if the experiment asks for none or for a plain share."""
        self._lost_share: float = 0.0 if isinstance(loss, LossModel) else loss
        self.unreachable_after = spec.unreachable_after
        self._sigma: float = 0.0 if isinstance(jitter, JitterModel) else jitter / HALF_NORMAL_DEVIATION
        bandwidth = spec.bandwidth
        on_links = [] if bandwidth is None else bandwidth.losses(link_classes)
        links = on_links or [0.0] * len(self.locations)
        self._placed = placed_loss(links, self.locations, lost)
        """The loss by where peers are, None if the experiment asks for none."""
        self.is_plain = not (self._sigma or self._lost_share or self.jitter or self.loss or self._placed)
        """This is true if each message takes just the delay of its pair and none is lost."""
        self.link_classes = list(link_classes)
        self.changes = list(changes)
        self.access: AccessLinks | None = None
        """The links of the peers, None if they have no limit, or are `shared`."""
        self.shared: SharedLinks | None = None
        """The links of the peers if they are shared fairly or their rates change, else None."""
        self.fair: FairLinks | None = None
        """The `shared` links in words, instead of them, after `pack_fair_links`."""
        if bandwidth is not None and (changes or bandwidth.discipline == "fair"):
            self.shared = bandwidth.shared_links(link_classes, spec.overhead, changes)
        elif bandwidth is not None:
            self.access = bandwidth.links(link_classes, spec.overhead)
        self.order = PairOrder() if spec.order == "kept" else None
        """The order of each pair's messages, None if they may overtake each other."""
        self._places = vec[i64](self.locations)
        self._delays = vec[float]()
        self._row_starts = vec[i64]()
        """The index in `_delays` at which the row of a location begins; -1 for rows that are not there."""
        self._pack(rows)

    def one_way(self, sender: int, receiver: int) -> float:
        """Return the seconds from peer to peer: half of the pair's RTT, without jitter."""
        start = self._row_starts[self._places[sender]]
        if start < 0:
            raise KeyError(f"the delays from peer {sender} are not known here")
        return self._delays[start + self._places[receiver]]

    def lift_limits(self) -> None:
        """Leave the rates of links to the kernel."""
        self.access = self.shared = None

    def pack_fair_links(self) -> None:
        """Have fair links of constant rates in `fair` instead of `shared`, if words have room for them."""
        if self.shared is not None:
            self.fair = self.shared.in_words()
        if self.fair is not None:
            self.shared = None

    def count_links(self, counting: bool, now: float) -> None:
        """Begin or end to count the use of links at a time (s), if they have a bandwidth."""
        self._count_departed(now)
        if self.access is not None:
            self.access.counting = counting
        elif self.shared is not None:
            self.shared.counting = counting
        elif self.fair is not None:
            self.fair.counting = counting

    def begin_link_interval(self, now: float) -> None:
        """Count the use of links from this time (s) on in the next interval."""
        self._count_departed(now)
        for use in self.link_use():
            use.begin_interval()

    def _count_departed(self, now: float) -> None:
        if self.shared is not None:
            self.shared.count_departed(self.shared.instant(round(now * NANOSECONDS)))

    def link_use(self) -> list[LinkUse]:
        """Return the use of the up links of each class, followed by that of its down links; none without a
        bandwidth."""
        if self.access is not None:
            return self.access.use
        if self.fair is not None:
            return self.fair.use
        return [] if self.shared is None else self.shared.use

    def turn(self, time: float) -> None:
        """Have the delays of this time of the trial (s) count from now on."""
        begun = bisect_right([at for at, _ in self.later], time)
        if begun != self._begun:
            self._begun = begun
            self._pack(self.later[begun - 1][1] if begun else self.rows)

    def _pack(self, rows: Rows) -> None:
        """Put the rows into one vector, because every message asks for a delay."""
        known = rows if isinstance(rows, Mapping) else dict(enumerate(rows))
        self._delays = vec[float](capacity=sum(len(row) for row in known.values()))
        self._row_starts = vec[i64]()
        for location in range(max(known, default=-1) + 1):
            row = known.get(location)
            if row is None:
                self._row_starts = append(self._row_starts, i64(-1))
            else:
                self._row_starts = append(self._row_starts, i64(len(self._delays)))
                self._delays = extend(self._delays, row)

    def delay(self, sender: int, receiver: int, random: Random) -> float | None:
        """Return the seconds that this message takes, or None if it is lost.

        Plain jitter only adds: it is a half-normal variable whose standard deviation is `jitter` (and whose
        mean is 1.32 times that), because queues make packets late and never early.
        """
        if self._lost_share and random.random() < self._lost_share:
            return None
        if self.loss is not None:
            try:
                if self.loss.hits(sender, receiver, random):
                    return None
            except Exception as error:
                error.add_note(f"{type(self.loss).__name__}, the model of loss, was asked")
                raise
        if self._placed is not None and self._placed.hits(sender, receiver, random):
            return None
        base = self.one_way(sender, receiver)
        if self.jitter is not None:
            try:
                later = max(self.jitter.draw(sender, receiver, random), -self.earliest)
            except Exception as error:
                error.add_note(f"{type(self.jitter).__name__}, the model of jitter, was asked")
                raise
            return max(base + later, 0.0)
        return base + abs(random.gauss(0.0, self._sigma)) if self._sigma else base


def _begun_jitter(model: JitterModel) -> Jitter:
    """Return the jitter of a model. Raises BadPackage if a package's gives none."""
    with code_of(model, "began no Jitter"):
        made: object = model.begin()
        if not isinstance(made, Jitter):
            raise TypeError(f"{made!r:.80} is no Jitter")
        return made


def _begun_loss(model: LossModel, seed: int) -> Loss:
    """Return the loss of a model. Raises BadPackage if a package's gives none."""
    with code_of(model, "began no Loss"):
        made: object = model.begin(seed)
        if not isinstance(made, Loss):
            raise TypeError(f"{made!r:.80} is no Loss")
        return made
