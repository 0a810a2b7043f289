"""Advice for keys and values that other tools have and an experiment has not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from emulator.experiment.file.byte_sizes import whole_bytes
from emulator.experiment.file.document import Key
from emulator.files.quantities import parse_duration

_SEEDS: Final = 'For more seeds, write the first one as "seed: 1" and their number as "repeat: 2"'
_PEERS: Final = 'The number of peers is "peers"'
_AT_THE_TOP: Final[Mapping[str, str]] = {
    **dict.fromkeys(("seeds", "trials", "repeats", "runs"), _SEEDS),
    **dict.fromkeys(("nodes", "size"), _PEERS),
    "protocol": 'The protocol is "system", such as "system: vitis"',
    "systems": 'To compare systems, write "vary: {system.name: [vitis, rvr]}"',
    "duration": 'The length is that of the phases, such as "phases: {measure: 60 s}"',
}
_SIZE: Final = ("size", "bytes", "payload", "payload_size", "message_size", "event_size")
_TIMES: Final = ("from", "start", "begin", "until", "end", "duration", "lasts")
_DELAYS: Final = ("latency", "rtt", "delay")
_RATES: Final = ("upload", "uplink", "download", "downlink", "rate")
_GRAPHS: Final = ("gml", "graphml", "shadow", "topology")
_MISSING: Final[Mapping[Key, str]] = {
    ("name",): "name: my-experiment",
    ("system",): "system: chord",
    ("peers",): "peers: 100",
    ("workload",): "workload: {lookups: {rate: 1}}",
    ("faults", "name"): "name: split",
    ("faults", "at"): "at: 40 s",
    ("network", "regions", "name"): "name: eu",
    ("network", "regions", "share"): "share: 0.5",
    ("network", "jitter", "deviation"): "deviation: 5 ms",
}
_PHASES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("start", "startup", "ramp_up", "rampup", "joining"), "join"),
    **dict.fromkeys(("warmup", "warm_up", "stabilize", "stabilise", "setup", "settling"), "settle"),
    **dict.fromkeys(("duration", "run", "measurement", "measured", "steady", "test"), "measure"),
    **dict.fromkeys(("cooldown", "cool_down", "teardown", "end", "wait"), "drain"),
}
"""The phases by the names that other tools give them."""


def missing_key(key: Key) -> str:
    """Return an example of a key that has to be there, or an empty text."""
    return _MISSING.get(tuple(part for part in key if not isinstance(part, int)), "")


def many_seeds() -> str:
    """Return how to ask for several seeds."""
    return _SEEDS


def meant_key(above: Key, name: str, value: Any) -> str:
    """Return what to write for a key of this name below `above`, or an empty text."""
    if not above:
        return _AT_THE_TOP.get(name, "")
    is_fault = above[0] == "faults"
    if above == ("workload", "publications") and name in _SIZE:
        text = f"such as payload_bytes: {whole_bytes(value)}"
        return f"The size of an event is a whole number of bytes, {text}"
    if (above == ("attackers",) or (is_fault and len(above) == 2)) and name in _TIMES:
        return 'It begins `at` a time and lasts `for` some time, such as "at: 40 s, for: 10 s"'
    if is_fault and above[-1] == "links" and name in _DELAYS:
        return 'What each message takes in addition is "delay", such as delay: 200 ms'
    if above == ("network", "latency") and name in _DELAYS:
        return 'Of kind constant, the key is "rtt", which is twice the one-way delay'
    if above == ("phases",) and name in _PHASES:
        phase = _PHASES[name]
        return f'The phases are join, settle, measure and drain; this one is "{phase}", such as {phase}: 30 s'
    if above == ("network", "bandwidth") and name == "kind":
        return "Bandwidth has no kinds. Remove it, and write the rates, such as up: 20 Mbit/s"
    if above == ("network", "bandwidth") and name in _RATES:
        return 'The rates are "up" and "down", such as up: 20 Mbit/s'
    return ""


def meant_kind(key: Key, given: Any) -> str:
    """Return what to write for the kind of a part of the experiment, or an empty text."""
    if key != ("network", "latency"):
        return ""
    if given in _GRAPHS:
        return "Networks in GML and GraphML are of kind graph"
    try:
        parse_duration(given)
    except ValueError:
        return ""
    return f"Write {{kind: constant, rtt: {given}}} if it is the RTT of all peers"
