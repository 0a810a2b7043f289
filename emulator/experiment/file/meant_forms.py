"""Advice for values that stand in another form, or with another unit, than an experiment has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from emulator.experiment.file.document import Key

_NUMBER: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z/]*)\s*")
_PREFIXES: Final[Mapping[str, str]] = {"": "bit/s", "k": "kbit/s", "m": "Mbit/s", "g": "Gbit/s"}
_RATE: Final = re.compile(r"([kmg]?)(?:b|bit|bits)?(?:ps|/s|/sec)?", re.IGNORECASE)
_BYTES: Final = re.compile(r"([KkMmGg]?)(?:B|[Bb]ytes?)(?:ps|/s|/sec)?")
_DURATIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("usec", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("msec", "msecs", "millis", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("day", "days"), "d"),
}
_TIMES: Final = (*_DURATIONS, *_DURATIONS.values())
_LARGEST: Final = 1e12
"""The number from which on nothing is advised."""
_LEAST_BITS: Final = 10_000
"""The least number of a rate without a unit that is most likely of bit/s."""
_SIZES: Final = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"))
_HIT: Final = ("partition", "crash", "pause")
"""The kinds of faults of which a word alone is most likely a region, and a number a share."""


def meant_quantity(key: Key, given: Any, message: str) -> str:
    """Return what to write for a duration or a rate that has another unit or none, or an empty text.

    `message` says which of both is needed.
    """
    if message.startswith("a rate needs"):
        rate, unit = meant_rate(given)
        return f'. Write "{rate}"{f" if it is in {unit}" if unit else ""}' if rate else ""
    if not message.startswith("a duration needs"):
        return ""
    form = _form(given)
    if form is None:
        return ""
    number, word = form
    if not word:
        unit, name = ("ms", "milliseconds") if _is_short(key) else ("s", "seconds")
        return f'. Write "{number} {unit}" if it is in {name}'
    known = _DURATIONS.get(word.lower())
    return f'. Write "{number} {known}"' if known else ""


def _form(given: Any) -> tuple[str, str] | None:
    """Return the number of a quantity and its unit, "" if it has none; None for others and below 0."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        return (f"{given:.15g}", "") if 0 <= given < _LARGEST else None
    form = _NUMBER.fullmatch(given) if isinstance(given, str) else None
    return (form[1], form[2]) if form is not None else None


def _is_short(key: Key) -> bool:
    """This is true of the keys whose durations are most likely milliseconds: delays and waits."""
    if key[:1] == ("network",):
        return key[-1] != "at"
    return key[-1:] == ("message",) if key[:1] == ("processing",) else key[-2:] == ("links", "delay")


def meant_rate(given: Any) -> tuple[str, str]:
    """Return the rate that is meant by a number or by a text such as "10 Mbps", and the unit in which it was
    given if this is not sure; two empty texts for others.

    A capital B is a byte, which is 8 bits. A number is of Mbit/s, a large one of bit/s.
    """
    form = _form(given)
    if form is None or not float(form[0]):
        return "", ""
    number, word = form
    if not word:
        if float(number) < _LEAST_BITS:
            return f"{number} Mbit/s", "Mbit/s"
        size, unit = next(each for each in _SIZES if float(number) >= each[0])
        return f"{float(number) / size:.12g} {unit}", "bit/s"
    if (of_bytes := _BYTES.fullmatch(word)) is not None:
        return f"{float(number) * 8:.12g} {_PREFIXES[of_bytes[1].lower()]}", ""
    rate = _RATE.fullmatch(word)
    return ("", "") if rate is None else (f"{number} {_PREFIXES[rate[1].lower()]}", "")


def meant_form(key: Key, given: Any) -> str:
    """Return what to write where a list or a mapping of keys has to be, or an empty text."""
    named = tuple(part for part in key if not isinstance(part, int))
    is_plain = isinstance(given, str | int | float) and not isinstance(given, bool)
    if named == ("network", "bandwidth") and is_plain:
        if given == 0 or str(given).strip().lower() in ("0", "unlimited", "none", "infinite"):
            return "Remove it if the links of peers are unlimited"
        rate, unit = meant_rate(given)
        rate, of = rate or "20 Mbit/s", f", in {unit}" if unit else ""
        return f"Write {{up: {rate}, down: {rate}}} if it is the rate of each peer{of}"
    if named == ("network", "latency") and is_plain:
        form = _form(given)
        rtt = f"{form[0]} ms" if form is not None and not form[1] else "50 ms"
        return f"Write {{kind: constant, rtt: {rtt}}} if it is the RTT of all peers"
    if named == ("network", "bandwidth", "nodes") and isinstance(given, str):
        return f"Write {{file: {given}}}, the graph of `network.latency`"
    if named == ("network", "regions"):
        return _regions(key, given)
    if named == ("phases",) and is_plain:
        form = _form(given)
        length = f"{form[0]} s" if form is not None and not form[1] else given
        return f"Write {{measure: {length}}} if it is the length of the measure phase"
    if named == ("faults",) and isinstance(given, Mapping):
        return 'Write "- " before its first key, and indent the others by two spaces'
    if len(named) == 2 and named[0] == "faults" and named[1] in _HIT and is_plain:
        return _hit(given)
    return ""


def _hit(given: str | float) -> str:
    """Return how to write the peers that a fault hits."""
    if isinstance(given, str):
        if (form := _form(given)) is not None and form[1].lower() in _TIMES:
            return (
                f"Write whom it hits, such as {{share: 0.5}}, and how long it lasts beside it: for: {given}"
            )
        return f"Write {{{'share' if given.rstrip().endswith('%') else 'region'}: {given}}}"
    return f"Write {{{'number' if given > 1 else 'share'}: {given}}}" if given >= 0 else ""


def _regions(key: Key, given: Any) -> str:
    if isinstance(key[-1], int) and isinstance(given, str):
        return f"Write {{name: {given}, share: 0.5}}, with the share of the peers that are there"
    if isinstance(given, Mapping) and given and not {"name", "share"} & given.keys():
        given = {name: share["share"] if _has_share(share) else share for name, share in given.items()}
        return f"Write [{', '.join(f'{{name: {name}, share: {share}}}' for name, share in given.items())}]"
    return ""


def _has_share(of: Any) -> bool:
    return isinstance(of, Mapping) and "share" in of
