"""A made-up run of a sweep of any size, with the tables that its figures read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.charts.results import Results
from analysis.measures.catalogue import describe
from analysis.report.by_what_is_varied import shown_by_what_is_varied
from analysis.report.drawn_variants import drawn_variants
from analysis.report.shown import Shown
from emulator.experiment.run.directory import RunDirectory

MEASURES = ("hit_ratio", "overhead", "delay_hops", "delay_ms", "duplicates", "neighbours", "bytes_per_s")
SILENT = ("repeated", "relay_duty_load")
"""A measure that is 0 in every variant, and one without any value."""


def sweep_run(
    folder: Path, vary: Mapping[str, Sequence[Any]], seeds: int = 1, measures: Sequence[str] = MEASURES
) -> RunDirectory:
    """Write a valid, analyzed run of all combinations of values, with these measures."""
    run = RunDirectory(folder)
    run.path.mkdir()
    run.experiment.write_text(
        json.dumps({"name": "sweep", "system": {"name": "vitis"}, "peers": 100, "vary": dict(vary)})
    )
    combinations = list(product(*vary.values()))
    variants, trials = [], []
    for number, values in enumerate(combinations):
        of = dict(zip(vary, values, strict=True))
        name = f"v{number}"
        share = (number + 1) / len(combinations)
        means: dict[str, float | None] = {
            measure: 0.9 + share / 10 if describe(measure).unit == "share" else 10 * share * (i + 1)
            for i, measure in enumerate(measures)
        }
        means |= {"repeated": 0.0, "relay_duty_load": None}
        for seed in range(1, seeds + 1):
            apart = 1 + 1e-6 * number * (seed - (seeds + 1) / 2)  # no two seeds differ by the same
            each = {measure: None if mean is None else mean * apart for measure, mean in means.items()}
            trials.append(_trial(name, of, seed, each))
        measured = {
            measure: {"mean": mean, "ci95": 0.01 * mean if seeds > 1 else None, "n": seeds}
            for measure, mean in means.items()
            if mean is not None
        }
        variants.append({"variant": name, "values": of, "measures": measured})
    keys = ("title", "unit", "better", "about", "group")
    about = {name: describe(name) for name in (*measures, *SILENT)}
    summary = {
        "experiment": "sweep", "title": "A sweep", "created": "2026-11-21T10:00:00+00:00", "versions": {},
        "machine": {}, "command": "trellis run sweep.yaml", "valid": True, "reasons": [],
        "trials": trials, "variants": variants, "workloads": ["topics"], "claims": [],
        "measures": {name: {key: getattr(told, key) for key in keys} for name, told in about.items()},
    }  # fmt: skip
    run.summary.write_text(json.dumps(summary))
    for table in ("overhead_histogram", "delay_cdf", "cost_cdf", "series", "messages", "traffic"):
        (run.tables / table).mkdir(parents=True)
    for table in ("deliveries", "operations", "hops"):
        (run.tables / table).mkdir()
    shown = drawn_variants(Results.read(run)).names
    for trial in trials:
        if trial["variant"] in shown:
            _write_tables(run, trial["trial"], 1 + int(trial["variant"][1:]) / len(combinations))
    return run


def figures(results: Results) -> dict[str, Any]:
    """Return the figures of a run as the page shows them, by name."""
    charts = Shown.by(results).charts
    return {chart.name: chart for part in charts.values() for chart in shown_by_what_is_varied(results, part)}


def _trial(variant: str, values: Mapping[str, Any], seed: int, means: Mapping[str, Any]) -> dict[str, Any]:
    check = {"name": "lost", "measured": 0, "limit": 1, "unit": "spans", "detail": "", "ok": True}
    host = {
        "host": "virtual", "peers": 100, "clock_offset_start_ns": 0, "clock_offset_end_ns": 0,
        "state": "finished", "lost_at_s": None,
    }  # fmt: skip
    return {
        "trial": f"{variant}-{seed}", "variant": variant, "values": values, "seed": seed, "state": "valid",
        "valid": True, "reasons": [], "measures": dict(means),
        "fidelity": {
            "runtime": "virtual", "enforced_by": "virtual clock", "checks": [check], "hosts": [host],
        },
    }  # fmt: skip


def _write_tables(run: RunDirectory, trial: str, level: float) -> None:
    tables: dict[str, list[dict[str, Any]]] = {
        "overhead_histogram": [
            {"low": i / 20, "high": (i + 1) / 20, "peers": 1, "above": math.exp(-i / 10 / level)}
            for i in range(20)
        ],
        "delay_cdf": [
            {"operation": "publish", "unit": "ms", "value": 10.0 * i, "share": 1 - math.exp(-i / 40 / level)}
            for i in range(400)
        ],
        "series": [
            {
                "start_s": 40.0 + i, "end_s": 41.0 + i, "peers_up": 100, "hit_ratio": 1 - i * level / 1000,
                "overhead": 0.2 * level, "hops": 4.0, "delay_ms": 300 * level + i,
            }
            for i in range(30)
        ],
        "messages": [
            {
                "message": name, "kind": "maintenance", "channel": "", "traffic": "maintenance",
                "messages": 10, "bytes": int(1e5 * level),
            }
            for name in ("ProfileExchange", "ViewExchange")
        ],
        "traffic": [{"peer": i, "up_s": 30.0} for i in range(100)],
    }  # fmt: skip
    for table, rows in tables.items():
        folder = run.tables / table / f"trial={trial}"
        folder.mkdir()
        pq.write_table(pa.Table.from_pylist(rows), folder / "part-00000.parquet")
