"""The section of the report that tells where deliveries were missed and messages stopped."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from analysis.charts.numerals import number, quantity
from analysis.charts.results import Results
from analysis.contract.figures import Block, Lead, Rows, Section, Text
from analysis.report.losses import OUTSIDE, Losses, losses_of
from analysis.report.lost_by_type import lost_by_type
from analysis.report.over_seeds import mean_text, seeds, told
from emulator.files.input_facts import counted
from emulator.network.peer_network import LOSS

_MOST_WAYS: Final = 20
"""The most ways between regions of a variant that are shown."""
_CAUSES: Final = (
    "The expected deliveries that were not made, the lookups that did not end at the right peer, the gets "
    "that found no value and the puts of which no copy was confirmed, by what their traces say. The "
    "network's loss, faults, full links, busy peers, peers that are down and attackers mark each message "
    "that they stop. Where one of another peer was stopped, that peer could not pass the event on; whether "
    "it would have passed it on to the one that missed it, no trace says. Nor does one say whether a "
    "lookup, a get or a put would have succeeded with its message that was stopped."
)
_STOPS: Final = (
    "The messages that were stopped, by reason and by the operation to which they belong. Attackers tell no "
    "bytes."
)
_WAYS: Final = (
    "The same by region: from that of the peer that sent a message to that of the peer which did not "
    f"get it; of each variant the {_MOST_WAYS} with the most messages. Of maintenance that the network's "
    "loss took, no regions are known."
)
_PEERS: Final = (
    "The ten peers that missed most, and of equal ones those of which most was stopped: how many messages "
    "from them and to them. Numbers of peers are those of the named trial."
)
_MOST_PEERS: Final = 10
_PEER_TABLES: Final = 3
"""The most variants whose peers are shown."""

Place = tuple[str, str, str]
"""The reason, the operation, and the way between regions."""
Counts = tuple[int, int]
"""The numbers of messages and of their bytes."""


def _write(results: Results) -> Iterator[Block]:
    found = {
        label: {trial: losses_of(results, trial) for trial in trials} for label, trials in seeds(results)
    }
    worst = sorted(found, key=lambda label: -_missed_share(found[label]))
    several = len(results.variants) > 1
    if any(each.causes for trials in found.values() for each in trials.values()):
        yield Lead(_lead(found, worst, len(results.variants)))
        yield Text(told(_CAUSES, results, "Numbers"))
        yield _table(_cause_rows(found), ("Cause", "Missed", "Of the expected"), several)
        if regions := list(_region_rows(found)):
            yield _table(regions, ("Region", "Missed"), several)
    if stops := list(_stop_rows(found, lambda reason, operation, way: (reason, operation))):
        yield Text(told(_STOPS, results, "Numbers"))
        yield _table(stops, ("Reason", "In", "Messages", "Bytes"), several)
        if any(each.regions for trials in found.values() for each in trials.values()):
            yield Text(_WAYS)
            ways = list(
                _stop_rows(found, lambda reason, operation, way: (reason, way) if way else None, _MOST_WAYS)
            )
            yield _table(ways, ("Reason", "Way", "Messages", "Bytes"), several)
    if peers := list(_peer_rows(results, found, worst)):
        yield Text(_PEERS)
        named = ("Trial", "Peer", "Missed", "Stopped messages from it", "Stopped messages to it")
        yield Rows(named, peers)
    yield from lost_by_type(results)


def _table(
    rows: Iterator[tuple[str, ...]] | list[tuple[str, ...]], columns: tuple[str, ...], several: bool
) -> Rows:
    """Return a table, without the column of variants if there is one variant."""
    return Rows(("Variant", *columns) if several else columns, [row if several else row[1:] for row in rows])


def _missed_share(trials: Mapping[str, Losses]) -> float:
    expected = sum(each.expected for each in trials.values())
    return sum(each.causes.total() for each in trials.values()) / expected if expected else 0.0


def _lead(found: Mapping[str, Mapping[str, Losses]], worst: Sequence[str], variants: int) -> str:
    """Return the sentence on the variant that missed the largest share, of those that are drawn, with the
    commonest reason."""
    label, trials = worst[0], found[worst[0]].values()
    reasons = sum((each.reasons for each in trials), Counter[str]())
    reason, count = reasons.most_common(1)[0]
    share = quantity(_missed_share(found[label]), "share")
    most = f"of these, {quantity(count / reasons.total(), 'share')} where {reason}"
    others = sum(bool(_missed_share(found[other])) for other in worst[1:])
    who = (
        f"{label} missed most, {share} of what was expected"
        if len(worst) > 1
        else f"{share} of what was expected was missed"
    )
    beside = f"; {counted(others, 'more variant')} missed some" if others else ""
    beside += f" (looked at: {len(worst)} of {variants:,} variants)" if len(worst) < variants else ""
    return f"Where messages were lost: {who} ({most}){beside}."


def _cause_rows(found: Mapping[str, Mapping[str, Losses]]) -> Iterator[tuple[str, ...]]:
    for label, trials in found.items():
        every = list(trials.values())
        if not any(each.causes for each in every):
            continue
        totals = {"all": [each.causes.total() for each in every]}
        causes = sum((each.causes for each in every), Counter[str]())
        totals |= {cause: [each.causes[cause] for each in every] for cause, _ in causes.most_common()}
        for cause, counts in totals.items():
            shares = [
                count / each.expected if each.expected else None
                for count, each in zip(counts, every, strict=True)
            ]
            yield label, cause, mean_text(counts), mean_text(shares, "share")


def _region_rows(found: Mapping[str, Mapping[str, Losses]]) -> Iterator[tuple[str, ...]]:
    for label, trials in found.items():
        every = list(trials.values())
        for region in sorted({region for each in every for region in each.regions.values()}):
            counts = [
                sum(count for peer, count in each.missed_at.items() if each.regions.get(peer) == region)
                for each in every
            ]
            if any(counts):
                yield label, region, mean_text(counts)


def _places(losses: Losses) -> dict[Place, Counts]:
    """Return how many messages were stopped and of how many bytes, by reason, operation and regions."""
    found: dict[Place, Counts] = {}
    for (reason, operation, sender, receiver), (count, size) in losses.stops.items():
        ends = losses.regions.get(sender), losses.regions.get(receiver)
        way = f"{ends[0]} to {ends[1]}" if ends[0] and ends[1] else ""
        before = found.get((reason, operation, way), (0, 0))
        found[reason, operation, way] = before[0] + count, before[1] + size
    if losses.untraced[0]:
        found[LOSS, OUTSIDE, ""] = losses.untraced
    return found


def _stop_rows(
    found: Mapping[str, Mapping[str, Losses]],
    by: Callable[[str, str, str], tuple[str, str] | None],
    most: int | None = None,
) -> Iterator[tuple[str, ...]]:
    """Yield rows of stopped messages, by what `by` makes of reason, operation and way; None leaves them
    out. Of each variant there are at most so many, those with the most messages."""
    for label, trials in found.items():
        every = [_sums(_places(each), by) for each in trials.values()]
        sums = Counter[tuple[str, str]]()
        for of_seed in every:
            sums.update({key: count for key, (count, _) in of_seed.items()})
        for key, _ in sums.most_common(most):
            counts, sizes = zip(*(each.get(key, (0, 0)) for each in every), strict=True)
            yield label, *key, mean_text(counts), mean_text(sizes, "bytes") if any(sizes) else number(None)


def _sums(
    places: Mapping[Place, Counts], by: Callable[[str, str, str], tuple[str, str] | None]
) -> dict[tuple[str, str], Counts]:
    found: dict[tuple[str, str], Counts] = {}
    for place, (count, size) in places.items():
        if (key := by(*place)) is not None:
            before = found.get(key, (0, 0))
            found[key] = before[0] + count, before[1] + size
    return found


def _peer_rows(
    results: Results, found: Mapping[str, Mapping[str, Losses]], worst: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    for label in worst[:_PEER_TABLES]:
        trial, losses = next(iter(found[label].items()))
        sent, to_it = Counter[int](), Counter[int]()
        for (_, _, sender, receiver), (count, _) in losses.stops.items():
            sent[sender] += count
            to_it[receiver] += count
        missed = losses.missed_at
        for peer in sorted(missed, key=lambda peer: (-missed[peer], -sent[peer] - to_it[peer], peer))[
            :_MOST_PEERS
        ]:
            about = ", ".join(
                text
                for text in (
                    str(peer),
                    losses.regions.get(peer),
                    "attacker" if peer in losses.attackers else "",
                )
                if text
            )
            counts = (losses.missed_at[peer], sent[peer], to_it[peer])
            yield results.trial_labels[trial], about, *map(number, counts)


WHERE_LOST: Final = Section("Where messages were lost", _write, "Lost", "where-lost")
"""The section of the report that tells where deliveries were missed and messages stopped."""
