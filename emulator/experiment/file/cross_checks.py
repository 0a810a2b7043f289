"""Checks of combinations: each key allows its value alone, but not all values together can be run."""

from __future__ import annotations

import stat
from pathlib import Path

from pydantic import BaseModel

from emulator.contract.mistakes import code_of
from emulator.experiment.file.size_limits import size_problems
from emulator.experiment.file.spec import TrialSpec
from emulator.faults.groups import Crowd
from emulator.faults.spec import ATTACK, FaultSpec
from emulator.files.region_names import unknown_region
from emulator.files.trace_error import TraceError
from emulator.network.bandwidth_spec import Bandwidth
from emulator.network.model import JitterModel, LossModel
from emulator.workload.problems import workload_problems

_UNCHECKED = "could not check its parameters"


def check_plan_inputs(spec: TrialSpec, files: bool = True, has_network: bool = True) -> list[tuple[str, str]]:
    """Return the key path and the problem of each combination that `draw_plan` would refuse, all at once.

    Without `has_network` the network of the spec stands for one that is wrong, and what depends on it is not
    told. Without `files`, the function does not look whether the files that the spec names are there.

    It draws nothing and reads no large file. What only a file's content can tell, such as a graph with fewer
    nodes than peers, `draw_plan` tells.
    """
    named = _files(spec) if files else []
    problems = [(key, problem) for key, file in named if (problem := _file_problem(file))]
    problems += workload_problems(spec) + size_problems(spec)
    crowd = spec.churn.flash_crowd
    base = spec.peers - (crowd.peers if crowd else 0)
    if crowd and base < 1:
        problem = (
            f"{crowd.peers}, but they are counted in the trial's {spec.peers} peers: make `peers` larger"
        )
        problems.append(("churn.flash_crowd.peers", problem))
    if crowd and crowd.at + crowd.within > spec.phases.end:
        last = f"the crowd joins until {crowd.at + crowd.within:g} s"
        problems.append(("churn.flash_crowd.at", f"{last}, but the trial ends at {spec.phases.end:g} s"))
    crash = spec.churn.crash
    if crash and crash.at >= spec.phases.end:
        problems.append(("churn.crash.at", f"{crash.at:g} s, but the trial ends at {spec.phases.end:g} s"))
    if spec.network.overhead and spec.network.bandwidth is None:
        problems.append(("network.overhead", "it counts on links alone. Give `network.bandwidth`, too"))
    for key, latency in spec.network.latencies():
        with code_of(latency, _UNCHECKED):
            problems += [(f"{key}.{below}", problem) for below, problem in latency.problems(spec.peers)]
    problems += _later_problems(spec)
    for name, each in (("jitter", spec.network.jitter), ("loss", spec.network.loss)):
        if isinstance(each, JitterModel | LossModel):
            with code_of(each, _UNCHECKED):
                problems += [(f"network.{name}.{key}", problem) for key, problem in each.problems()]
    try:
        problems += [(f"network.{key}", text) for key, text in spec.network.region_problems(spec.peers)]
        crowd_of_all = _crowd(spec, has_network)
    except TraceError as error:
        return problems + _unusable("network.latency", error)
    for key, of_classes in (("network.bandwidth", spec.network.bandwidth), ("processing", spec.processing)):
        if of_classes is not None:
            problems += [(f"{key}.{below}", problem) for below, problem in of_classes.problems(crowd_of_all)]
    for key, regions in _regions_named(spec):
        if problem := unknown_region(regions, crowd_of_all.regions):
            problems.append((key, problem))
    names = [fault.name for fault in spec.faults]
    for index, fault in enumerate(spec.faults):
        found = fault.problems(crowd_of_all, spec.phases.end)
        if fault.name in names[:index]:
            found.append(("name", f'"{fault.name}" is the name of an earlier fault. Rename one'))
        if fault.name == ATTACK and spec.attackers is not None:
            found.append(("name", f'"{ATTACK}" is what `attackers` do. Give the fault another name'))
        found += _rate_problems(fault, spec.network.bandwidth) if has_network else []
        problems += [(f"faults.{index}.{key}", problem) for key, problem in found]
    if spec.attackers is not None:
        found = spec.attackers.problems(crowd_of_all, spec.phases.end)
        problems += [(f"attackers.{key}", problem) for key, problem in found]
    with code_of(spec.churn.model, _UNCHECKED):
        churn = spec.churn.model.problems(max(base, 1), spec.phases.end)
        problems += [(f"churn.model.{key}", problem) for key, problem in churn]
    return problems


def _later_problems(spec: TrialSpec) -> list[tuple[str, str]]:
    """Return the key and the problem of later latencies that come too late, or are of other places."""
    first, before, problems = spec.network.latency, 0.0, list[tuple[str, str]]()
    for index, each in enumerate(spec.network.later):
        key = f"network.later.{index}"
        if not before < each.at < spec.phases.end:
            text = f"{each.at:g} s, but the trial ends at {spec.phases.end:g} s"
            text = text if each.at >= spec.phases.end else "comes before the one above it. Write them by time"
            problems.append((f"{key}.at", text))
        before = max(before, each.at)
        try:
            hosts, then = first.host_count(), each.latency.host_count()
            names, named = list(first.region_names), list(each.latency.region_names)
            losses = each.latency.losses()
        except TraceError as error:
            problems += _unusable(f"{key}.latency", error)
            continue
        if hosts != then:
            text = (
                f"has {then:,} places, but `network.latency` has {hosts:,}. Give latencies of the same places"
            )
            problems.append((f"{key}.latency", text))
        elif named and named != names:
            text = "has other regions than `network.latency`. Name the same ones in the same order"
            problems.append((f"{key}.latency", text))
        if losses is not None and losses.any():
            text = "has losses, which do not change in time. Give them to `network.latency`, or as faults"
            problems.append((f"{key}.latency", text))
    return problems


def _regions_named(spec: TrialSpec) -> list[tuple[str, list[str]]]:
    """Return the key and the names of each part that names regions, but for faults and attackers."""
    churn, workload = spec.churn, spec.workload
    crash = None if churn.crash is None else churn.crash.region
    named: list[tuple[str, list[str] | None]] = [
        ("churn.region", churn.region),
        ("churn.crash.region", crash),
    ]
    named += [(f"workload.roles.regions.{role}", names) for role, names in workload.roles.regions.items()]
    for key in ("lookups", "values", "broadcast"):
        asked = getattr(workload, key)
        named.append((f"workload.{key}.region", None if asked is None else asked.region))
    return [(key, regions) for key, regions in named if regions is not None]


def _crowd(spec: TrialSpec, has_network: bool) -> Crowd:
    """Return the peers of a trial, as far as faults, attackers and classes can name groups of them.

    Raises TraceError for a bad file of a latency that names regions.
    """
    roles = spec.workload.roles.numbers(spec.peers)
    others = "peer" if spec.workload.clients is None else "server"
    regions = spec.network.peers_by_region(spec.peers) if has_network else None
    classes = [each.classes for each in (spec.network.bandwidth, spec.processing) if each is not None]
    names_places = any(each.places for those in classes for each in those)
    places = spec.network.latency.host_count() if names_places else 1
    roles |= {others: max(spec.peers - sum(roles.values()), 0)}
    return Crowd(spec.peers, roles, regions, places, _topics(spec))


def _topics(spec: TrialSpec) -> int | None:
    """Return the number of topics, as far as it is known."""
    chosen = spec.workload.chosen()
    if len(chosen) != 1:
        return None
    (kind,) = chosen
    with code_of(kind, _UNCHECKED):
        return kind.topics(getattr(spec.workload, kind.key), spec.peers)


def _rate_problems(fault: FaultSpec, own: Bandwidth | None) -> list[tuple[str, str]]:
    """Return the key below a fault and the problem of each rate that it would change where there is none."""
    problems = []
    for way in fault.links.rates if fault.links is not None else ():
        key = f"links.bandwidth.{way}"
        if own is None:
            problems.append((key, "the links have no rate that could change. Give `network.bandwidth`, too"))
            continue
        for name in own.without(way):
            who = f'the class "{name}" has' if name else "the peers have"
            problems.append((key, f"{who} no rate `{way}` in `network.bandwidth` that could change. Give it"))
    return problems


def _files(spec: TrialSpec) -> list[tuple[str, Path]]:
    """Return the key and name of each file that the network, the churn and the workload are read from."""
    read: dict[str, BaseModel] = dict(spec.network.latencies()) | {"churn.model": spec.churn.model}
    if isinstance(spec.network.jitter, JitterModel):
        read["network.jitter"] = spec.network.jitter
    files = [
        (f"{key}.{name}", value)
        for key, model in read.items()
        for name, value in model
        if isinstance(value, Path)
    ]
    for kind in spec.workload.chosen():
        named = kind.files(getattr(spec.workload, kind.key))
        files += [(f"workload.{key}", file) for key, file in named]
    return files


def _unusable(key: str, error: TraceError) -> list[tuple[str, str]]:
    """Return what is wrong with a latency's file, unless it is not there, which is told of all files."""
    return [] if _file_problem(error.file) else [(key, f"cannot be used: {error}")]


def _file_problem(file: Path) -> str | None:
    try:
        found = file.stat()
    except (OSError, ValueError):
        return f"there is no file {file}"
    return None if stat.S_ISREG(found.st_mode) else f"{file} is not a file"
