"""The setting of a run's experiment in words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from analysis.charts.numerals import in_words, number, quantity
from analysis.charts.results import key_label, unit_of, value_label
from analysis.charts.value_words import has_names, with_words
from analysis.contract.figures import SettingLine
from emulator.experiment.file.variants import keys_of

_MOST_VALUES = 20
"""The most values of a varied key that are all named."""
Fact = tuple[str, str]
"""The subject of a fact, and what was set."""


def facts(
    experiment: Mapping[str, Any], summary: Mapping[str, Any], workload: Iterable[SettingLine]
) -> list[Fact]:
    """Return the setting of a run, most important first, with these lines of its workload.

    Absent parts of the experiment are left out, and so are base values of what is varied: no trial has them.
    """
    vary = _by_key(part(experiment, "vary"))
    fixed = _without(experiment, vary)
    described = {
        "System": (("system.parameters",), _system(part(experiment, "system"), vary)),
        "Peers": (
            ("peers",),
            number(fixed["peers"]) if "peers" in fixed else "",
        ),
        "Runtime": (("runtime",), _runtime(part(fixed, "runtime"))),
        "Network": (("network",), _network(part(fixed, "network"))),
        "Churn": (("churn",), _churn(part(fixed, "churn"))),
        "Faults": (("faults",), "; ".join(map(_fault, fixed.get("faults") or []))),
        "Attackers": (("attackers",), _attackers(part(fixed, "attackers"))),
        "Processing": (("processing",), _processing(part(fixed, "processing"))),
        **{line.title: (tuple(line.keys), line.text(experiment)) for line in workload},
        "Phases": (("phases",), _phases(part(fixed, "phases"))),
        "Seeds": (("seed", "repeat"), _seeds(summary)),
    }
    found = []
    for name, (prefixes, text) in described.items():
        varied = [
            f"varied: {_varied(key, values)}"
            for key, values in vary.items()
            if any(key == prefix or key.startswith(prefix + ".") for prefix in prefixes)
        ]
        if text or varied:
            found.append((name, "; ".join(filter(None, [text, *varied]))))
    return found


def _by_key(vary: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return what is varied, key by key, also where several keys are varied together."""
    found: dict[str, list[Any]] = {}
    for entry, values in vary.items():
        keys = keys_of(entry)
        for position, key in enumerate(keys):
            found[key] = [value[position] for value in values] if len(keys) > 1 else values
    return found


def _without(tree: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    """Return a tree without the values at these dotted keys."""
    here = {key for key in keys if "." not in key}
    found = {}
    for name, value in tree.items():
        below = [key.removeprefix(f"{name}.") for key in keys if key.startswith(f"{name}.")]
        if name not in here:
            found[name] = _without(value, below) if below and isinstance(value, Mapping) else value
    return found


def time_scale(experiment: Mapping[str, Any]) -> float:
    """Return the wall seconds for one trial second; 1 unless the runtime stretches time."""
    return float(part(experiment, "runtime").get("time_scale", 1.0))


def part(tree: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the part of an experiment at a key; empty if there is none."""
    found = tree.get(key)
    return found if isinstance(found, Mapping) else {}


def _system(system: Mapping[str, Any], vary: Mapping[str, Any]) -> str:
    names = vary.get("system.name") or [system.get("name", "")]
    given = {k: v for k, v in part(system, "parameters").items() if f"system.parameters.{k}" not in vary}
    parameters = _parameters(given)
    *before, last = dict.fromkeys(map(str, names))
    listed = f"{', '.join(before)} and {last}" if before else last
    return listed + (f" ({parameters})" if parameters else "")


def _parameters(given: Mapping[str, Any], above: str = "") -> str:
    """Return parameters of the key `above` in words; groups of parameters, such as those of an overlay below,
    come last."""
    in_order = sorted(given.items(), key=lambda parameter: isinstance(parameter[1], Mapping))
    return ", ".join(
        f"{name.replace('_', ' ')} {plain(value, unit_of(f'{above}.{name}', value), name)}"
        for name, value in in_order
    )


def _runtime(runtime: Mapping[str, Any]) -> str:
    match runtime.get("kind"):
        case "virtual":
            return "virtual clock: all peers in one process, no wall clock anywhere"
        case "processes" | "kubernetes" as kind:
            hosts = "local processes" if kind == "processes" else "pods"
            scale = float(runtime.get("time_scale", 1.0))
            stretched = "" if scale == 1 else f", time stretched by {number(scale)}"
            count = f"{plain(runtime['hosts'])} " if "hosts" in runtime else ""
            return f"real time: gRPC between {count}{hosts}{stretched}"
        case kind:
            return str(kind or "")


def _network(network: Mapping[str, Any]) -> str:
    latency = part(network, "latency")
    match latency.get("kind"):
        case "king":
            text = "generated like the King measurements"
            text += f", {plain(latency['hosts'])} places" if "hosts" in latency else ""
            text += f", mean RTT {latency['mean_rtt']}" if "mean_rtt" in latency else ""
        case "constant":
            text = f"RTT {latency['rtt']} between every pair" if "rtt" in latency else "equal RTTs"
        case "regions":
            text = _regions(latency)
        case None:
            text = ""
        case kind:
            text = f"measured RTTs from {latency.get('file', '?')} ({kind})"
    if times := [str(each.get("at", "?")) for each in network.get("later") or []]:
        text += f", other latencies from {', '.join(times)} on"
    text += f", {_regions(network)}" if network.get("regions") else ""
    text += _loss(network.get("loss", 0)) + _jitter(network.get("jitter", "0 s"))
    if network.get("order") == "kept":
        text += ", messages of a pair in order"
    return (text + _bandwidth(part(network, "bandwidth"))).removeprefix(", ").removeprefix("; ")


def _regions(latency: Mapping[str, Any]) -> str:
    shares = [
        f"{region.get('name', '?')} {quantity(float(region.get('share', 0)), 'share')}"
        for region in latency.get("regions") or []
    ]
    table = f", RTTs of {latency['table']}" if latency.get("table") else ""
    return f"regions {', '.join(shares)}{table}"


def _loss(loss: Any) -> str:
    if isinstance(loss, Mapping):
        if loss.get("kind") != "bursts":
            return f", loss of kind {loss.get('kind')}"
        share = f"{quantity(float(loss['mean']), 'share')} of " if "mean" in loss else ""
        mean = f" of {number(float(loss['burst']))}" if "burst" in loss else ""
        return f", {share}messages lost in bursts{mean}"
    return f", {quantity(float(loss), 'share')} of messages lost" if float(loss) > 0 else ""


def _jitter(jitter: Any) -> str:
    if not isinstance(jitter, Mapping):
        return "" if str(jitter).split()[0] in ("0", "0.0") else f", jitter {jitter}"
    if jitter.get("kind") == "quantiles":
        where = f"from {jitter['file']}" if jitter.get("file") else "by quantiles"
        text = f", jitter {where}"
    else:
        text = f", {jitter.get('kind')} jitter {jitter.get('deviation', '')}".rstrip()
    correlation = float(jitter.get("correlation", 0))
    return f"{text}, correlation {number(correlation)}" if correlation else text


def _bandwidth(bandwidth: Mapping[str, Any]) -> str:
    if not bandwidth:
        return ""
    classes = bandwidth.get("classes") or [bandwidth]
    texts = [
        f"{_class(each)}{each.get('up') or 'unlimited'} up, {each.get('down') or 'unlimited'} down"
        for each in classes
    ]
    fair = ", shared fairly" if bandwidth.get("discipline") == "fair" else ""
    return f"; links of {'; '.join(texts)}{fair}; queues of {bandwidth.get('queue', '100 ms')}"


def _class(each: Mapping[str, Any]) -> str:
    """Return who has the links or the times of a class, empty if all peers have the same."""
    if "name" not in each:
        return ""
    share = each.get("share")
    return f"{each['name']}: " if share is None else f"{quantity(float(share), 'share')} {each['name']}: "


def _processing(processing: Mapping[str, Any]) -> str:
    if not processing:
        return ""
    classes = processing.get("classes") or [processing]
    texts = [f"{_class(each)}{each.get('message', 'some time')}" for each in classes]
    return f"a message takes {'; '.join(texts)}; waits of at most {processing.get('queue', '60 s')}"


def _churn(churn: Mapping[str, Any]) -> str:
    model = part(churn, "model")
    compress = f", {plain(model['compress'])} times as fast" if "compress" in model else ""
    match model.get("kind"):
        case "static":
            text = "none: all peers join and stay"
        case "skype":
            text = f"sessions like those of Skype supernodes{compress}"
        case "trace":
            text = f"sessions recorded in {model.get('file', '?')}{compress}"
        case "poisson" | "pareto" as kind:
            means = {"sessions": model.get("mean_session"), "gaps": model.get("mean_gap")}
            told = [f"{name} of {mean}" for name, mean in means.items() if mean is not None]
            text = f"{kind.capitalize()} {' and '.join(told)} on average" if told else f"{kind} sessions"
        case kind:
            text = str(kind or "")
    crowd = part(churn, "flash_crowd")
    if crowd:
        of = f" of {plain(crowd['peers'])} peers" if "peers" in crowd else ""
        text += f"; a flash crowd{of}{_at(crowd)}"
    crash = part(churn, "crash")
    if crash:
        share = quantity(float(crash["share"]), "share") if "share" in crash else "a share"
        text += f", but {share} of those that are up crash{_at(crash)}"
    return text.removeprefix("; ").removeprefix(", but ")


def _at(event: Mapping[str, Any]) -> str:
    return f" at {event['at']}" if "at" in event else ""


def _fault(fault: Mapping[str, Any]) -> str:
    kind = next((key for key in fault if key not in ("name", "at", "for") and fault[key] is not None), "?")
    lasts = f" for {fault['for']}" if fault.get("for") else ""
    if not isinstance(fault.get(kind), Mapping):
        return f"{fault.get('name', '?')}: {kind} {fault.get(kind, '')} from {fault.get('at', '0 s')}{lasts}"
    given = {key: value for key, value in part(fault, kind).items() if value is not None}
    rates = given.pop("bandwidth", None) or {}
    what = _parameters(given | {way: rate for way, rate in rates.items() if rate is not None})
    return f"{fault.get('name', '?')}: {kind} ({what}) from {fault.get('at', '0 s')}{lasts}"


def _attackers(attackers: Mapping[str, Any]) -> str:
    if not attackers:
        return ""
    share, behaviour = attackers.get("share"), part(attackers, "behaviour")
    of_all = "" if share is None else f"{quantity(float(share), 'share')} of the peers"
    if attackers.get("role"):
        of_all = f"the peers of role {attackers['role']}"
    if region := attackers.get("region"):
        regions = [region] if isinstance(region, str) else region
        of_all = f"the peers of {', '.join(regions)}"
    number_of = len(attackers["peers"]) if attackers.get("peers") else attackers.get("number", "some")
    who = of_all or f"{plain(number_of)} peers"
    if attackers.get("identities"):
        who += f", {plain(attackers['identities'])} of which are one attacker"
    if near := part(attackers, "near"):
        who += f", next to {_parameters({key: value for key, value in near.items() if value is not None})}"
    how = _parameters({key: value for key, value in behaviour.items() if key != "kind"})
    what = ", ".join(filter(None, [behaviour.get("kind"), how]))
    lasts = f" for {attackers['for']}" if attackers.get("for") else ""
    begins = f" from {attackers['at']}" if "at" in attackers else ""
    return f"{who}{f' ({what})' if what else ''}{begins}{lasts}"


def _phases(phases: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {length}" for name, length in phases.items())


def _seeds(summary: Mapping[str, Any]) -> str:
    return _listed(sorted({trial["seed"] for trial in summary["trials"]}))


def _varied(key: str, values: Sequence[Any]) -> str:
    """Return the values of a varied key in words, after its name: mappings with all their parts, and a value
    that the key has several times once."""
    worded = with_words([{"values": {key: value}} for value in values], value_label)
    given = (
        whole if isinstance(whole, Mapping) else each["values"][key]
        for whole, each in zip(values, worded, strict=True)
    )
    name = key_label(key) if not key.endswith(".parameters") else "parameters"
    texts = [
        value_label(key, value).removeprefix(f"{name} ") or "defaults"
        if value is None or isinstance(value, Mapping) or has_names(value)
        else value
        for value in given
    ]
    of = {repr(text): text for text in texts}
    if len(of) > 1:
        of = {told: f"({text})" if ", " in str(text) else text for told, text in of.items()}
    listed = _listed(list(of.values()), key)
    return listed if any(name in text for text in of if text.startswith("'no ")) else f"{name} {listed}"


def _listed(values: Sequence[Any], key: str = "") -> str:
    texts = [plain(value, unit_of(key, value), key) for value in values]
    if len(texts) > _MOST_VALUES:
        return f"{texts[0]}, {texts[1]} ... {texts[-1]} ({len(texts):,} values)"
    return ", ".join(texts)


def plain(value: Any, unit: str = "", key: str = "") -> str:
    """Return a value of an experiment in words; of a share in percent, if the unit or its key says so."""
    if isinstance(value, Mapping):
        return f"({_parameters(value, key)})"
    if isinstance(value, list | tuple):
        return " to ".join(plain(each, unit) for each in value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return in_words(value, unit) if is_number else str(value)
