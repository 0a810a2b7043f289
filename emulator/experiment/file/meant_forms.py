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
_HIT: Final = ("partition", "crash", "pause")
"""The kinds of faults of which a word alone is most likely a region, and a number a share."""


def meant_quantity(key: Key, given: Any, message: str) -> str:
    """Return what to write for a duration or a rate that has another unit or none, or an empty text.

    `message` says which of both is needed.
    """
    if message.startswith("a rate needs"):
        rate = meant_rate(given)
        return f'. Write "{rate}"' if rate else ""
    if not message.startswith("a duration needs"):
        return ""
    if isinstance(given, int | float) and not isinstance(given, bool):
        unit, word = ("ms", "milliseconds") if key[:1] == ("network",) else ("s", "seconds")
        return f'. Write "{given:g} {unit}" if it is in {word}'
    form = _NUMBER.fullmatch(given) if isinstance(given, str) else None
    if form is None:
        return ""
    unit = _DURATIONS.get(form[2].lower(), "" if form[2] else "s")
    return f'. Write "{form[1]} {unit}"' if unit else ""


def meant_rate(given: Any) -> str:
    """Return the rate that is meant by a number, of Mbit/s, or by a text such as "10 Mbps"; "" for others.

    A capital B is a byte, which is 8 bits.
    """
    if isinstance(given, int | float) and not isinstance(given, bool):
        return f"{given:g} Mbit/s" if given > 0 else ""
    form = _NUMBER.fullmatch(given) if isinstance(given, str) else None
    if form is None:
        return ""
    if (size := _BYTES.fullmatch(form[2])) is not None:
        return f"{float(form[1]) * 8:g} {_PREFIXES[size[1].lower()]}"
    rate = _RATE.fullmatch(form[2])
    if rate is None:
        return ""
    return f"{form[1]} {_PREFIXES[rate[1].lower()] if form[2] else 'Mbit/s'}"


def meant_form(key: Key, given: Any) -> str:
    """Return what to write where a list or a mapping of keys has to be, or an empty text."""
    named = tuple(part for part in key if not isinstance(part, int))
    is_plain = isinstance(given, str | int | float) and not isinstance(given, bool)
    if named == ("network", "bandwidth") and is_plain:
        rate = meant_rate(given) or "20 Mbit/s"
        return f"Write {{up: {rate}, down: {rate}}} if it is the rate of each peer"
    if named == ("network", "latency") and is_plain:
        return f"Write {{kind: constant, rtt: {given} ms}} if it is the RTT of all peers"
    if named == ("network", "bandwidth", "nodes") and isinstance(given, str):
        return f"Write {{file: {given}}}, the graph of `network.latency`"
    if named == ("network", "regions"):
        return _regions(key, given)
    if named == ("phases",) and is_plain:
        return f"Write {{measure: {given}}} if it is the length of the measure phase"
    if named == ("faults",) and isinstance(given, Mapping):
        return 'Write "- " before its first key, and indent the others by two spaces'
    if len(named) == 2 and named[0] == "faults" and named[1] in _HIT and is_plain:
        is_share = not isinstance(given, str) or given.rstrip().endswith("%")
        return f"Write {{{'share' if is_share else 'region'}: {given}}}"
    return ""


def _regions(key: Key, given: Any) -> str:
    if isinstance(key[-1], int) and isinstance(given, str):
        return f"Write {{name: {given}, share: 0.5}}, with the share of the peers that are there"
    if isinstance(given, Mapping) and given and "name" not in given:
        return f"Write [{', '.join(f'{{name: {name}, share: {share}}}' for name, share in given.items())}]"
    return ""
