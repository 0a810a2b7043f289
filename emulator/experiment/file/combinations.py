"""What each key of an experiment allows alone, but not all of them together."""

from __future__ import annotations

import stat
from pathlib import Path

from emulator.experiment.file.size_limits import size_problems
from emulator.experiment.file.spec import TrialSpec
from emulator.workload.problems import workload_problems
from emulator.workload.source import ContentSource, TopicSource


def check_plan_inputs(spec: TrialSpec) -> list[tuple[str, str]]:
    """Key path and problem for each combination that `draw_plan` would refuse, all at once.

    Draws nothing and reads no large file. What only a file's content can tell, such as a graph with fewer
    nodes than peers, `draw_plan` tells.
    """
    problems = [(key, problem) for key, file in _files(spec) if (problem := _file_problem(file))]
    problems += workload_problems(spec.workload) + size_problems(spec)
    source, rest = spec.workload.subscriptions, spec.phases.end - spec.phases.join
    if source is not None:
        clients = spec.workload.clients
        found = source.misfits(spec.peers * (clients.per_peer if clients else 1))
        problems += [(f"workload.subscriptions.{key}", problem) for key, problem in found]
    if isinstance(source, ContentSource) and source.within > rest:
        problem = f"{source.within:g} s, but the trial ends {rest:g} s after the joins"
        problems.append(("workload.subscriptions.within", problem))
    if isinstance(source, TopicSource) and (source.within or 0) > spec.phases.settle:
        problem = (
            f"{source.within:g} s, but the measure phase begins {spec.phases.settle:g} s after the joins"
        )
        problems.append(("workload.subscriptions.within", problem))
    given = spec.workload.roles.numbers(spec.peers)
    if sum(given.values()) > spec.peers:
        told = ", ".join(f"{number} {name}s" for name, number in given.items() if number)
        problems.append(("workload.roles", f"{told}, but there are only {spec.peers} peers"))
    elif given["publisher"] + given["relay"] == spec.peers and source is not None:
        problems.append(("workload.roles", "leave no peer that subscribes. Lower publisher or relay"))
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
    churn = spec.churn.model.problems(max(base, 1), spec.phases.end)
    return problems + [(f"churn.model.{key}", problem) for key, problem in churn]


def _files(spec: TrialSpec) -> list[tuple[str, Path]]:
    """Key and name of each file that the latencies, the churn and the subscriptions are read from."""
    read = {
        "network.latency": spec.network.latency,
        "churn.model": spec.churn.model,
        "workload.subscriptions": spec.workload.subscriptions,
    }
    return [
        (f"{key}.{name}", value)
        for key, model in read.items()
        for name, value in (model or ())
        if isinstance(value, Path)
    ]


def _file_problem(file: Path) -> str | None:
    try:
        found = file.stat()
    except (OSError, ValueError):
        return f"there is no file {file}"
    return None if stat.S_ISREG(found.st_mode) else f"{file} is not a file"
