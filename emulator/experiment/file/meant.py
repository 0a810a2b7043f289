"""Advice for keys and values that other tools have and an experiment has not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from emulator.contract.registry import SYSTEMS
from emulator.experiment.file.byte_sizes import whole_bytes
from emulator.experiment.file.document import Key
from emulator.experiment.file.keys import kinds, models, nearest, suggestion, types_at
from emulator.experiment.file.meant_faults import meant_fault
from emulator.experiment.file.meant_forms import in_whole_phase
from emulator.experiment.file.meant_kinds import whole_kind
from emulator.experiment.file.meant_words import EXAMPLES, KEYS
from emulator.experiment.file.meant_words import SYSTEMS as OTHER_SYSTEMS
from emulator.experiment.file.misplaced import is_parameter
from emulator.experiment.file.wrong import Wrong, at, written
from emulator.files.quantities import format_duration, parse_duration

_SEEDS: Final = 'For more seeds, write the first one as "seed: 1" and their number as "repeat: 2"'
_PEERS: Final = 'The number of peers is "peers"'
_MEASURES: Final = (
    'All measures are always made. Conditions on them go in "expect", such as expect: ["hit_ratio >= 99 %"]'
)
_AT_THE_TOP: Final[Mapping[str, str]] = {
    **dict.fromkeys(("seeds", "trials", "repeats", "runs"), _SEEDS),
    **dict.fromkeys(("nodes", "size"), _PEERS),
    **dict.fromkeys(("metrics", "measures", "measurements", "outputs"), _MEASURES),
    "protocol": 'The protocol is "system", such as "system: vitis"',
    "duration": 'The length is that of the phases, such as "phases: {measure: 60 s}"',
}
_TIMES: Final = ("from", "start", "begin", "until", "end", "duration", "lasts")
_DELAYS: Final = ("latency", "rtt", "delay")
_RATES: Final = ("upload", "uplink", "download", "downlink", "rate")
_COMPARED: Final = ("systems", "compare", "comparison", "protocols")
_RATES_OF_CHURN: Final = ("rate", "churn_rate", "leave_rate", "join_rate", "interval", "kind", "lifetime")
_PHASES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("start", "startup", "ramp_up", "rampup", "joining"), "join"),
    **dict.fromkeys(("warmup", "warm_up", "stabilize", "stabilise", "setup", "settling"), "settle"),
    **dict.fromkeys(("duration", "run", "measurement", "measured", "steady", "test"), "measure"),
    **dict.fromkeys(("cooldown", "cool_down", "teardown", "end", "wait"), "drain"),
}
"""The phases by the names that other tools give them."""


def missing_key(key: Key) -> str:
    """Return an example of a key that has to be there, or an empty text."""
    named = tuple(part for part in key if not isinstance(part, int))
    return f"{named[-1]}: {written(EXAMPLES[named])}" if named in EXAMPLES else ""


def many_seeds() -> str:
    """Return how to ask for several seeds."""
    return _SEEDS


def meant_key(wrong: Wrong) -> str:
    """Return what to write for a key that there is not, or an empty text."""
    *parts, last = wrong.key
    above, name, value = tuple(parts), str(last), wrong.value
    if not wrong.is_of_experiment:
        return ""
    if not above:
        return _compared(value) if name in _COMPARED else _AT_THE_TOP.get(name) or _of_network(wrong, name)
    if above[0] == "faults" and len(above) == 2 and (advice := meant_fault(wrong)):
        return advice
    return _of_part(wrong, above, name, value) or _other_key(wrong, above, name)


def _of_part(wrong: Wrong, above: Key, name: str, value: Any) -> str:
    """Return what to write for a key of this name below `above`, or an empty text."""
    is_fault = above[0] == "faults"
    if above == ("workload", "publications"):
        if name in ("rate", "frequency", "per_second"):
            return in_whole_phase(wrong, value)
        if KEYS["workload", "publications"].get(name) == "payload_bytes":
            text = f"such as payload_bytes: {whole_bytes(value)}"
            return f"The size of an event is a whole number of bytes, {text}"
    if above == ("system",) and not is_parameter(wrong.key, wrong.values):
        system = at(wrong.values, ("system", "name"))
        listed = system if isinstance(system, str) and system in SYSTEMS else "NAME"
        return f"A system's parameters go below `parameters`; `trellis systems {listed}` lists them"
    if above == ("churn",):
        return _of_churn(wrong, name, value)
    if (above == ("attackers",) or (is_fault and len(above) == 2)) and name in _TIMES:
        return 'It begins `at` a time and lasts `for` some time, such as "at: 40 s, for: 10 s"'
    if is_fault and above[-1] == "links" and name in _DELAYS:
        return 'What each message takes in addition is "delay", such as delay: 200 ms'
    if above == ("network", "latency"):
        return _of_latency(name)
    if above == ("phases",) and name in _PHASES:
        phase = _PHASES[name]
        return f'The phases are join, settle, measure and drain; this one is "{phase}", such as {phase}: 30 s'
    if above == ("network", "bandwidth") and name == "kind":
        return "Bandwidth has no kinds. Remove it, and write the rates, such as up: 20 Mbit/s"
    if above == ("network", "bandwidth") and name in _RATES:
        return 'The rates are "up" and "down", such as up: 20 Mbit/s'
    return _of_network(wrong, name) if above == ("network",) else ""


def _of_churn(wrong: Wrong, name: str, value: Any) -> str:
    """Return how to write a model of churn where its kind, or a rate, is a key of `churn`."""
    key: Key = ("churn", "model")
    known = {kind for model in models(types_at(wrong.model, key)) for kind in kinds(model)}
    if name in known:
        model = whole_kind(wrong, key, name, value if isinstance(value, Mapping) else {})
    elif name == "kind" and isinstance(value, str) and value in known:
        model = whole_kind(wrong, key, value, at(wrong.values, ("churn",)))
    elif name in _RATES_OF_CHURN:
        model = whole_kind(wrong, key, "poisson", {})
    else:
        return ""
    return f"Write model: {written(model)}" if wrong.has_room_for(model, key) else ""


def _of_network(wrong: Wrong, name: str) -> str:
    """Return how to write a loss or a delay of all messages, which other tools have under other names."""
    is_at_the_top = len(wrong.key) == 1
    below = " below `network`" if is_at_the_top else ""
    if KEYS[("network",)].get(name) == "loss":
        return f"Write {_with_value(wrong, ('network', 'loss'))}{below}"
    if name not in ("delay", "rtt", "one_way_delay", "ping") and (name, is_at_the_top) != ("latency", True):
        return ""
    is_one_way = "delay" in name
    try:
        rtt = parse_duration(wrong.value) * (2 if is_one_way else 1)
    except ValueError:
        rtt = 0.1
    about = ", which is twice the one-way delay" if is_one_way else ""
    return f"Write latency: {{kind: constant, rtt: {format_duration(rtt)}}}{below}{about}"


def _with_value(wrong: Wrong, key: Key) -> str:
    """Return a key with the value that another one was given, or with an example where it cannot have it."""
    fits = wrong.has_room_for(wrong.value, key)
    return f"{key[-1]}: {written(wrong.value if fits else EXAMPLES[tuple(map(str, key))])}"


def _of_latency(name: str) -> str:
    if name in _DELAYS:
        return 'Of kind constant, the key is "rtt", which is twice the one-way delay'
    if name in ("min", "max", "mean", "minimum", "maximum", "average", "from", "to"):
        constant = "latency: {kind: constant, rtt: 50 ms}"
        return f"Write {constant} for one RTT of all peers, and what varies as jitter, such as jitter: 5 ms"
    return ""


def _other_key(wrong: Wrong, above: Key, name: str) -> str:
    """Return the key that is meant by the name that other tools have for it, or an empty text."""
    meant = KEYS.get(tuple(map(str, above)), {}).get(name)
    return f"Write {_with_value(wrong, (*above, meant))}" if meant else ""


def _compared(value: Any) -> str:
    """Return how to compare systems."""
    named = [_own_name(name) for name in value] if isinstance(value, list) else []
    systems = named if named and all(named) else ["vitis", "rvr"]
    return f'To compare systems, write "vary: {written({"system.name": systems})}"'


def _own_name(name: Any) -> str:
    """Return the system that is meant by a name, or an empty text."""
    word = str(name).strip().lower().replace("_", "-").replace(" ", "-")
    meant = OTHER_SYSTEMS.get(word, word)
    return meant if meant in SYSTEMS else ""


def meant_system(name: str) -> str:
    """Return what to write for a system that there is not."""
    if meant := _own_name(name):
        return f'Write "{meant}"'
    word = name.strip().lower()
    having = [each for each in SYSTEMS if each.startswith(f"{word}-") or each.endswith(f"-{word}")]
    if having:
        return f"Write one of {', '.join(sorted(having))}"
    package = "" if nearest(name, SYSTEMS) else ". That of a package is known where the package is installed"
    return suggestion(name, SYSTEMS) + package
