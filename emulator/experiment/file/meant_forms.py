"""Advice for values that stand in another form, or with another unit, than an experiment has them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from emulator.contract.registry import SYSTEMS
from emulator.experiment.file.document import Key
from emulator.experiment.file.expectation import Expectation
from emulator.experiment.file.keys import kinds, models, types_at
from emulator.experiment.file.meant_kinds import whole_kind
from emulator.experiment.file.meant_words import EXAMPLES, NOTHING, WORKLOADS
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.file.wrong import Wrong, at, written
from emulator.files.quantities import format_duration, parse_duration

_NUMBER: Final = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z/]*)\s*")
_LARGE: Final = re.compile(
    r"\s*([0-9]{1,3}(?:[,_][0-9]{3}){1,4}|[0-9]{1,12}(?:\.[0-9]{1,6})?)\s*(k|m|thousand|million)?\s*"
    r"((?:/|per )\s*s(?:ec|econd)?|peers?|nodes?|events?|messages?|lookups?|topics?|seeds?)?\s*",
    re.IGNORECASE,
)
_MANY: Final = {"": 1, "k": 1000, "m": 1_000_000, "thousand": 1000, "million": 1_000_000}
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


def meant_form(wrong: Wrong) -> str:
    """Return what to write where a value has another form than its key, or an empty text."""
    if not wrong.is_of_experiment:
        return _number(wrong) or varied(wrong)
    named, given = wrong.named, wrong.value
    is_plain = isinstance(given, str | int | float) and not isinstance(given, bool)
    if named == ("network", "bandwidth") and is_plain:
        return _bandwidth(given)
    if named == ("network", "latency") and is_plain:
        form = _form(given)
        rtt = f"{form[0]} ms" if form is not None and not form[1] else "50 ms"
        return f"Write {{kind: constant, rtt: {rtt}}} if it is the RTT of all peers"
    if advice := left_out(wrong):
        return advice
    if named == ("network", "bandwidth", "nodes") and isinstance(given, str):
        return f"Write {{file: {given}}}, the graph of `network.latency`"
    if named == ("network", "regions"):
        return _regions(wrong.key, given)
    if named == ("phases",) and is_plain:
        form = _form(given)
        length = f"{form[0]} s" if form is not None and not form[1] else given
        return f"Write {{measure: {length}}} if it is the length of the measure phase"
    if named == ("faults",) and isinstance(given, Mapping):
        return 'Write "- " before its first key, and indent the others by two spaces'
    if named == ("repeat",) and isinstance(given, list):
        return _seeds(wrong)
    if named == ("expect",) and isinstance(given, Mapping):
        return f"Write {_conditions(given)}"
    if len(named) == 2 and named[0] == "faults" and named[1] in _HIT and is_plain:
        return _hit(given)
    if named == ("churn", "crash") and is_plain:
        return _crash(wrong)
    if named[:1] == ("vary",):
        return _listed(wrong)
    return _number(wrong) or varied(wrong) or (_whole_part(wrong) if is_plain else "")


def left_out(wrong: Wrong) -> str:
    """Return what to write where a word, such as "none", leaves out what may be left out."""
    given = wrong.value
    is_nothing = (
        given is None or given is False or (isinstance(given, str) and given.strip().lower() in NOTHING)
    )
    if not is_nothing or not wrong.is_optional or not wrong.is_of_experiment:
        return ""
    return "Remove it" + (", or write {model: {kind: static}}" if wrong.key == ("churn",) else "")


def _bandwidth(given: str | float) -> str:
    """Return how to write one rate of the links of all peers."""
    if given == 0 or str(given).strip().lower() in ("0", "unlimited", "none", "infinite"):
        return "Remove it if the links of peers are unlimited"
    rate, unit = meant_rate(given)
    rate, of = rate or "20 Mbit/s", f", in {unit}" if unit else ""
    return f"Write {{up: {rate}, down: {rate}}} if it is the rate of each peer{of}"


def _listed(wrong: Wrong) -> str:
    """Return how to write values of `vary` with commas between them, but without brackets."""
    given, vary = wrong.value, at(wrong.values, ("vary",))
    if isinstance(given, str) and "," in given:
        return f"Write [{given}]"
    if not isinstance(vary, dict) or len(wrong.key) != 2 or isinstance(given, dict | list):
        return ""
    values: dict[str, list[str]] = {}
    for name, value in vary.items():  # the comma of {network.loss: 0, 0.1} ends the value
        if value is not None:
            values[name] = [written(value)]
        elif values:
            values[next(reversed(values))].append(name)
    name = next((name for name, those in values.items() if wrong.key[1] in (name, *those)), "")
    return f"Write {name}: [{', '.join(values[name])}]" if len(values.get(name, ())) > 1 else ""


def _number(wrong: Wrong) -> str:
    """Return the number that is meant by a text such as "10k", "10,000" or "100 peers"."""
    form = _LARGE.fullmatch(wrong.value) if isinstance(wrong.value, str) else None
    if form is None:
        return ""
    if wrong.named == ("workload", "publications", "events") and (form[3] or "").startswith(("/", "per ")):
        return in_whole_phase(wrong, wrong.value)
    number = float(form[1].replace(",", "").replace("_", "")) * _MANY[(form[2] or "").lower()]
    meant = int(number) if number.is_integer() else number
    return f"Write {meant}" if wrong.is_mended_by(meant) else ""


def in_whole_phase(wrong: Wrong, rate: Any) -> str:
    """Return how to write a rate of publications, of which an experiment has the number."""
    form = _LARGE.fullmatch(str(rate))
    measure = at(wrong.values, ("phases", "measure"))
    try:
        length = 30.0 if measure is None else parse_duration(measure)
    except ValueError:
        form = None
    key: Key = ("workload", "publications", "events")
    if form is None or form[2] or not wrong.has_room_for(events := round(float(form[1]) * length), key):
        return "Their number in the whole measure phase is `events`, such as events: 200"
    return f"Write events: {events}, their number in the whole measure phase of {format_duration(length)}"


def varied(wrong: Wrong) -> str:
    """Return how to compare several values of a key that has one."""
    values = wrong.value
    if not isinstance(values, list) or len(values) < 2 or wrong.named != wrong.key:
        return ""
    if not all(wrong.is_mended_by(value) for value in values):
        return ""
    if wrong.is_of_experiment and wrong.key[0] not in TrialSpec.model_fields:
        return ""
    key = ".".join(wrong.named if wrong.is_of_experiment else ("system", "parameters", *wrong.named))
    if key == "system":
        if not all(isinstance(value, str) and value in SYSTEMS for value in values):
            return ""
        key = "system.name"
    return f"Write vary: {written({key: values})}"


def _whole_part(wrong: Wrong) -> str:
    """Return how to write a part of which only its kind, or its most important number, is given."""
    example = EXAMPLES.get(wrong.named)
    if not isinstance(example, dict):
        return ""
    given = wrong.value
    if wrong.named == ("workload",):
        word = str(given).strip().lower()
        key = WORKLOADS.get(word, word)
        parts = ("subscriptions", "publications") if key == "subscriptions" else (key,)
        example = {part: EXAMPLES.get(("workload", part), {}) for part in parts}
    elif isinstance(given, int | float) and len(example) == 1:
        (key,) = example
        example = {key: given} if wrong.is_mended_by({key: given}) else example
    elif any(given in kinds(model) for model in models(types_at(wrong.model, (*wrong.key, "model")))):
        example = {"model": whole_kind(wrong, (*wrong.key, "model"), str(given), {})}
    return f"Write {written(example)}" if wrong.is_mended_by(example) else ""


def _crash(wrong: Wrong) -> str:
    """Return how to write a crash of which only the share is given."""
    phases = at(wrong.values, ("phases",))
    times = {"join": 10.0, "settle": 30.0}
    for phase in times:
        given = phases.get(phase) if isinstance(phases, Mapping) else None
        try:
            times[phase] = times[phase] if given is None else parse_duration(given)
        except ValueError:
            return ""
    crash = {"at": format_duration(sum(times.values())), "share": wrong.value}
    if not wrong.is_mended_by(crash):
        crash["share"] = EXAMPLES["churn", "crash", "share"]
    return f"Write {written(crash)}"


def _seeds(wrong: Wrong) -> str:
    """Return how to write a list of seeds that follow each other."""
    seeds = wrong.value
    if not all(isinstance(seed, int) and not isinstance(seed, bool) for seed in seeds) or not seeds:
        return ""
    first = seeds[0]
    follow = seeds == [*range(first, first + len(seeds))] and wrong.is_mended_by(len(seeds))
    return f"Write seed: {first} and repeat: {len(seeds)}" if follow else ""


def _conditions(given: Mapping[str, Any]) -> str:
    """Return how to write conditions that are given as measures and their values."""
    meant = [_condition(measure, value) for measure, value in given.items()]
    try:
        for condition in meant:
            Expectation.parse(condition)
    except ValueError:
        meant = ["hit_ratio >= 99 %"]
    return json.dumps(meant or ["hit_ratio >= 99 %"], ensure_ascii=False)


def _condition(measure: Any, given: Any) -> str:
    """Return the condition that is meant by a measure and its value."""
    if isinstance(given, str) and given.lstrip()[:1] in ("<", ">", "="):
        return f"{measure} {given.strip()}"
    if isinstance(given, float) and 0 <= given <= 1:
        return f"{measure} >= {given * 100:.6g} %"
    return f"{measure} {'>=' if str(given).endswith('%') else '<='} {given}"


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
