"""The provenance of a plan, kept beside it: the trial's spec, whose digest is in every table of the plan.

A change of an `experiment.yaml` after its plans were drawn is detected by it, and so is a table of another
plan.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from emulator.contract.package_versions import package_versions
from emulator.contract.workload import WorkloadKind
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.plan.inputs_file import INPUTS, write_inputs
from emulator.experiment.plan.tables import DIGEST, Plan, tables_of
from emulator.files.digests import digest_of, digests_of
from emulator.files.reading import read_regular

_NAMED = 10
_LARGEST = 16 << 20
_LONGEST = 60
_NOTHING = object()


class OtherPlan(ValueError):
    """The plan was drawn from another spec; the error says what differs."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A key that had another value when the plan was drawn."""

    key: str
    """The dotted key, such as network.latency.rtt."""
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.key} was {_text(self.old)}, is {_text(self.new)}"


def write_plan(plan: Plan, spec: TrialSpec, directory: Path) -> None:
    """Write the tables of a plan, what it was drawn from, and which packages were installed then."""
    told = spec.model_dump(mode="json")
    plan.write(directory, _digest(told))
    write_inputs(plan.inputs, directory)
    facts = {
        "digest": _digest(told),
        "spec": told,
        "tables": digests_of(directory.glob("*.parquet"), directory),
        "inputs": _digest_if_there(directory / INPUTS),
    }
    if packages := package_versions():
        facts["packages"] = packages
    (directory / "spec.json").write_text(json.dumps(facts, indent=2) + "\n")


def check_spec(spec: TrialSpec, directory: Path) -> None:
    """Check that the plan in this folder was drawn from this spec. Raises OtherPlan if it was not.

    Plans of earlier versions do not know their spec and pass. The check reads no table.
    """
    if found := differences_from(spec, directory):
        raise OtherPlan(listed(found))


def check_tables(directory: Path, kind: WorkloadKind | None = None) -> None:
    """Check that all tables in this folder are those of its plan. Raises OtherPlan if one was drawn from
    another spec, or was changed since."""
    told = _read(directory)
    if told is None:
        return
    for name in ("peers", "sessions", *tables_of(kind)):
        metadata = pq.read_schema(directory / f"{name}.parquet").metadata or {}
        if metadata.get(DIGEST, b"").decode() != told["digest"]:
            raise OtherPlan(f"{name}.parquet is of another plan than the spec.json beside it")
    check_content(directory)


def check_content(directory: Path) -> None:
    """Check that the files of the tables in this folder are those that were drawn.

    Raises OtherPlan if one was changed since, or added.

    Plans of earlier versions are believed.
    """
    told = _read(directory) or {}
    if not told and _has_digest(directory / "peers.parquet"):
        raise OtherPlan(f"{directory / 'spec.json'} is gone since the plan was drawn. {_cure(directory)}")
    drawn = told.get("tables")
    if not drawn:
        return
    cure = _cure(directory)
    changed = [
        name
        for name, digest in drawn.items()
        if not (directory / name).is_file() or digest_of(directory / name) != digest
    ]
    if changed:
        raise OtherPlan(f"{directory / changed[0]} was changed since the plan was drawn. {cure}")
    if added := sorted(path for path in directory.glob("*.parquet") if path.name not in drawn):
        raise OtherPlan(f"{added[0]} is not of the plan beside it. Remove it")
    inputs = directory / INPUTS
    if "inputs" in told and _digest_if_there(inputs) != told["inputs"]:
        raise OtherPlan(f"{inputs} was changed since the plan was drawn. {cure}")


def _cure(directory: Path) -> str:
    return f"Get the file back, or remove {directory.parent} and resume the run"


def _has_digest(table: Path) -> bool:
    """Return whether a table names the spec that it was drawn from; a damaged one is told of elsewhere."""
    try:
        return bool((pq.read_schema(table).metadata or {}).get(DIGEST))
    except (OSError, pa.ArrowException):
        return False


def _digest_if_there(file: Path) -> str | None:
    return digest_of(file) if file.is_file() else None


def differences_from(spec: TrialSpec, directory: Path) -> list[Difference]:
    """Return what differed when the plan in this folder was drawn; nothing if there is no plan."""
    told = _read(directory)
    now = spec.model_dump(mode="json")
    if told is None or told["spec"] == now:
        return []
    return list(differences(told["spec"], now))


def differences(
    old: Mapping[str, Any], new: Mapping[str, Any], above: str = "", added: bool = False
) -> Iterator[Difference]:
    """Yield keys with different values, and those of `new` alone if `added`, which later versions have."""
    for key in [*old, *((key for key in new if key not in old) if added else ())]:
        before, now = old.get(key, _NOTHING), new.get(key, _NOTHING)
        if isinstance(before, Mapping) and isinstance(now, Mapping):
            yield from differences(before, now, f"{above}{key}.", added)
        elif before != now and not (now is _NOTHING and _is_of_package(above)):
            yield Difference(f"{above}{key}", before, now)


def listed(found: Iterable[Difference]) -> str:
    """Return the differences in words; at most ten are named."""
    texts = [str(difference) for difference in found]
    more = len(texts) - _NAMED
    return "; ".join(texts[:_NAMED]) + (f"; and {more} more" if more > 0 else "")


def _is_of_package(above: str) -> bool:
    """Return whether the key is a system's parameter: without its package, the parameter's default is not
    known."""
    return above.startswith("system.parameters.")


def _read(directory: Path) -> dict[str, Any] | None:
    """Return the spec that is kept beside the plan, if any. Raises OtherPlan if the file is damaged."""
    path = directory / "spec.json"
    if not path.exists():
        return None
    try:
        told: dict[str, Any] = json.loads(read_regular(path, _LARGEST))
        if told["digest"] != _digest(told["spec"]):
            raise OtherPlan(f"{path} was changed: its digest is of another spec")
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        if isinstance(error, OtherPlan):
            raise
        raise OtherPlan(f"{path} is damaged: {type(error).__name__}: {error}") from None
    except OSError as error:
        raise OtherPlan(f"{path} cannot be read: {error.strerror}") from None
    return told


def _digest(told: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _text(value: Any) -> str:
    if value is _NOTHING:
        return "left out"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
