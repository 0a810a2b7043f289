"""The `summary.json` of a run: the measures of each trial and variant, and the verdicts on the papers'
claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from analysis.claims.papers import judge
from analysis.contract.trials import TrialRecord
from analysis.contract.workload_kinds import in_every_run
from analysis.expectations import judge_expectations, judge_invariants
from analysis.measures.measure_run import Measured, Values
from analysis.measures.variant_results import variant_results
from analysis.tables.absences import Absence
from analysis.tables.reconciliation import told_by
from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.run.analyzed import ANALYZED, analyzed
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.fidelity import Check, Fidelity
from emulator.experiment.run.summary_file import write_summary


def summarize(
    run: RunDirectory,
    experiment: ExperimentSpec,
    records: Sequence[TrialRecord],
    measured: Measured,
    away: Mapping[str, Sequence[Absence]],
    compared: Mapping[str, Sequence[Check]],
    is_whole: bool = False,
) -> dict[str, Any]:
    """Write `summary.json` and return it.

    A whole analysis notes what it was made of, so that it is not made again from the same.

    `measured` has the trials that could be analysed, `away` the times when peers were down because their
    hosts had died. A run is valid if every trial of the experiment ran and was valid, and its telemetry could
    be read whole and agrees with what was written, as `compared` says.
    """
    trials = [
        _trial(record, measured.values.get(record.name), compared.get(record.name, ()))
        | {"absences": [asdict(a) for a in away.get(record.name, ())]}
        | _not_numbers(measured, record)
        | _unmeasured(measured, record.name)
        for record in records
    ]
    variants = variant_results(records, measured.values)
    reasons = [f"{t['trial']}: {reason}" for t in trials for reason in t["reasons"]]
    statuses = [r.status for r in records if r.status]
    names = dict.fromkeys(name for values in measured.values.values() for name in values)
    summary = {
        "experiment": experiment.name,
        "title": experiment.title,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": next((s["command"] for s in statuses if s.get("command")), ""),
        "versions": next((s["versions"] for s in statuses if s.get("versions")), {}),
        "machine": next((s["machine"] for s in statuses if s.get("machine")), {}),
        "valid": all(t["valid"] for t in trials),
        "reasons": reasons,
        "trials": trials,
        "variants": [
            {
                "variant": v.name,
                "values": v.values,
                "measures": {name: asdict(e) for name, e in v.measures.items()},
            }
            for v in variants
        ],
        "measures": {name: asdict(measured.about[name]) for name in names},
        "claims": [
            asdict(verdict) | {"holds": verdict.holds}
            for verdict in judge(
                experiment.claims, variants, {t["variant"] for t in trials if not t["valid"]}
            )
        ],
    }
    workloads = list(dict.fromkeys(record.serves for record in records))
    if not set(workloads) <= set(in_every_run()):
        summary["workloads"] = workloads
    outcomes = [*judge_expectations(experiment, records, measured), *judge_invariants(records)]
    if outcomes:
        summary["expectations"] = [asdict(each) | {"holds": each.holds} for each in outcomes]
    if measured.troubles:
        summary["troubles"] = list(dict.fromkeys(trouble.text for trouble in measured.troubles))
    if is_whole:
        summary[ANALYZED] = analyzed(run)
    return write_summary(run, summary)


def _not_numbers(measured: Measured, record: TrialRecord) -> dict[str, Any]:
    """Return what components of the trial's peers reported as NaN or infinity, if any did."""
    told = measured.not_numbers.get(record.name, ())
    system = {"system": record.spec.system.name}
    return {"not_numbers": [system | asdict(each) for each in told]} if told else {}


def _unmeasured(measured: Measured, trial: str) -> dict[str, Any]:
    """Return why measures of the trial have no value, unless there was nothing to measure."""
    why = measured.unmeasured.get(trial)
    return {"unmeasured": why} if why else {}


def _trial(record: TrialRecord, values: Values | None, compared: Sequence[Check]) -> dict[str, Any]:
    reasons = list(record.status.get("reasons") or record.fidelity.get("reasons") or [])
    if values is None:
        reasons = reasons or [f"it is {record.state}, without telemetry"]
    elif values.get("lost_telemetry"):
        reasons.append(f"{values['lost_telemetry']:.0f} bytes of telemetry could not be read")
    elif not record.valid and not reasons:
        reasons.append(f"it is {record.state}")
    if record.valid and not record.fidelity.get("valid"):
        reasons.append(
            f"nothing says that it is valid but its status: {record.directory.fidelity.name} does not"
        )
    fidelity = record.fidelity
    if compared:
        reasons += Fidelity("", "", list(compared)).reasons
        checks = [asdict(check) | {"ok": check.ok} for check in compared]
        fidelity = fidelity | {"checks": [*fidelity.get("checks", []), *checks]}
    return {
        "trial": record.name,
        "variant": record.variant,
        "values": record.values,
        "seed": record.spec.seed,
        "state": record.state,
        "valid": record.valid and not reasons,
        "reasons": reasons,
        "fidelity": fidelity,
        "told_by": told_by(record.fidelity, compared),
        "measures": values or {},
    }
