"""Problems of the `workload:` part of an experiment as a whole, which are found without reading a file."""

from __future__ import annotations

from emulator.contract.mistakes import code_of
from emulator.contract.registry import WORKLOADS
from emulator.contract.workload import Problems, Trial
from emulator.workload.size import MOST_ROWS, more
from emulator.workload.spec import WorkloadSpec


def workload_problems(trial: Trial) -> Problems:
    """Return the dotted key and the problem of each combination that cannot be drawn."""
    workload = trial.workload
    found = _choice_problems(workload) + _stray_problems(workload)
    if not found:
        kind = workload.kind
        found = _shared_problems(trial, kind.shared)
        with code_of(kind, "could not check its parameters"):
            found += [(key, text) for key, text in kind.problems(getattr(workload, kind.key), trial)]
    return [(f"workload.{key}" if key else "workload", problem) for key, problem in found]


def participants_of(trial: Trial) -> int:
    """Return the number of peers, or of clients if peers have them."""
    clients = trial.workload.clients
    return trial.peers * (clients.per_peer if clients is not None else 1)


def _choice_problems(workload: WorkloadSpec) -> Problems:
    """Return what is wrong if the keys do not choose exactly one kind."""
    chosen = workload.chosen()
    if not chosen:
        *others, last = dict.fromkeys(kind.key for kind in WORKLOADS.usable())
        return [("", f"has neither {', '.join(others)} nor {last}. Add one of them")]
    first, *rest = chosen
    return [(kind.key, f"is there together with workload.{first.key}. Keep one of them") for kind in rest]


def _stray_problems(workload: WorkloadSpec) -> Problems:
    """Return the keys that belong to another kind than the one that was chosen."""
    allowed = {key for kind in workload.chosen() for key in kind.shared}
    owners = {key: kind.key for kind in reversed([*WORKLOADS.usable()]) for key in kind.shared}
    found = []
    for key, owner in owners.items():
        default = type(workload).model_fields[key].get_default(call_default_factory=True, validated_data={})
        if key not in allowed and getattr(workload, key) != default:
            found.append((key, f"needs workload.{owner}. Add them, or remove it"))
    return found


def _shared_problems(trial: Trial, keys: tuple[str, ...]) -> Problems:
    """Return what is wrong with roles and clients."""
    found, workload = [], trial.workload
    given = workload.roles.numbers(trial.peers)
    if "roles" in keys and sum(given.values()) > trial.peers:
        told = ", ".join(f"{number} {name}s" for name, number in given.items() if number)
        found.append(("roles", f"{told}, but there are only {trial.peers} peers"))
    clients, participants = workload.clients, participants_of(trial)
    if "clients" not in keys or clients is None:
        return found
    if participants > MOST_ROWS:
        return [*found, ("clients.per_peer", more("clients", participants, MOST_ROWS, "Lower it"))]
    if clients.mean_session is not None:
        visits = participants * trial.phases.end / (clients.mean_session + clients.mean_gap)
        if visits > MOST_ROWS:
            text = more("sessions of clients", visits, MOST_ROWS, "Make it longer")
            found.append(("clients.mean_session", text))
    return found
