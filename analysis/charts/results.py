"""The results of a run, as the report and the comparison read them: from small files, without Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from analysis.charts.numerals import in_words, of_seeds
from analysis.charts.value_words import Worded, WordedMapping, has_names, with_words
from emulator.experiment.file.document import WRITTEN, ExperimentError, read_document
from emulator.experiment.plan.provenance import OtherPlan, check_content
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.summary_file import check_table, read_summary, table_digests
from emulator.files.damage import DamagedFile

_NONE_WITHOUT_KEYS: Final = ("churn", "attackers", "processing")
"""The parts of an experiment of which there is nothing if they have no keys."""
SHARES: Final = frozenset(
    {"share", "loss", "loss.mean", "duplicate", "corrupt", "drift", "graceful", "initial", "rate_error"}
)
"""The ends of keys of an experiment whose numbers are shares: a name, or two where others have that name."""
SHARES_BELOW_1: Final = frozenset(
    {"roles.publisher", "roles.subscriber", "roles.relay", "subscriptions.size"}
)
"""The ends of keys whose numbers are shares below 1, and counts from 1 on."""


class ResultsError(Exception):
    """Results are missing or cannot be read; the error says which file and what to do."""


@dataclass(frozen=True)
class Results:
    """The results that a run directory holds after the analysis."""

    run: RunDirectory
    summary: dict[str, Any]
    """The content of `summary.json`."""
    experiment: dict[str, Any]
    """The content of `experiment.yaml` as plain data."""
    asked_events: tuple[int, ...] = ()
    """The numbers of the events whose delivery trees are asked for."""
    traces_at: str = ""
    """The address of a trace in a backend, with `{trace}` for its id; "" if there are to be no links."""
    _digests: Mapping[str, str] | None = field(default=None, repr=False)
    """The digests of the tables' files, None if an earlier version made them."""
    _checked: set[tuple[str, str]] = field(default_factory=set, repr=False)
    _folders: dict[str, dict[str, list[str]]] = field(default_factory=dict, repr=False)
    _rows: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, run: RunDirectory) -> Results:
        """Read the results of a run. Raises ResultsError if `summary.json` or `experiment.yaml` is missing or
        unreadable."""
        try:
            if not run.summary.exists():
                raise FileNotFoundError(None, None, str(run.summary))
            summary = read_summary(run)
            experiment = read_document(run.experiment, WRITTEN).values
        except FileNotFoundError as error:
            raise ResultsError(f"{error.filename} is missing; write it with: {_analyze(run)}") from None
        except DamagedFile as error:
            raise ResultsError(str(error)) from None
        except (ValueError, ExperimentError) as error:
            raise ResultsError(
                f"{run.path}: summary.json or experiment.yaml is damaged ({error}); "
                f"write the summary again with: {_analyze(run)}"
            ) from None
        lacking = [key for key in ("valid", "trials", "variants", "measures") if key not in summary]
        if lacking:
            raise ResultsError(f"{run.summary} lacks {', '.join(lacking)}; write it with: {_analyze(run)}")
        try:
            digests = table_digests(run, summary)
            for trial in run.trials():
                check_content(trial.plan)
        except (DamagedFile, OtherPlan) as error:
            raise ResultsError(str(error)) from None
        return cls(run, summary, experiment, _digests=digests)

    @property
    def trials(self) -> Sequence[Mapping[str, Any]]:
        """The trials in the summary's order."""
        trials: list[Mapping[str, Any]] = self.summary["trials"]
        return trials

    @cached_property
    def variants(self) -> Sequence[Mapping[str, Any]]:
        """The variants in the summary's order; see `with_words` of their values."""
        return with_words(self.summary["variants"], value_label)

    @property
    def claims(self) -> Sequence[Mapping[str, Any]]:
        """The verdicts over the paper's claims. Raises ResultsError if an earlier version judged them."""
        claims: list[Mapping[str, Any]] = self.summary.get("claims") or []
        if any("numbers" not in claim for claim in claims):
            raise ResultsError(
                f"{self.run.summary} judges claims as earlier versions did; write it again with: "
                f"{_analyze(self.run)}"
            )
        return claims

    @property
    def measures(self) -> Mapping[str, Mapping[str, Any]]:
        """The title, unit, direction and meaning of each measure, by name."""
        measures: dict[str, Mapping[str, Any]] = self.summary["measures"]
        return measures

    @cached_property
    def labels(self) -> dict[str, str]:
        """A short name for each variant, which tells it from the others."""
        return variant_labels(self.variants)

    @cached_property
    def trial_labels(self) -> dict[str, str]:
        """A short name for each trial: that of its variant, if there are several, and its seed."""
        return trial_labels(self.summary)

    def system_of(self, trial: str) -> str | None:
        """Return the varied value of `system.name` of a trial; None if systems are not varied."""
        return next((t["values"].get("system.name") for t in self.trials if t["trial"] == trial), None)

    @cached_property
    def shown_trials(self) -> dict[str, str]:
        """The trial that figures show of each variant that was measured: the lowest valid seed, if any."""
        measured = [t for t in self.trials if t["measures"]]
        measured.sort(key=lambda t: (not t["valid"], int(t["seed"])))
        return {t["variant"]: t["trial"] for t in reversed(measured)}

    @cached_property
    def seeds(self) -> dict[str, int]:
        """The number of trials of each variant that were measured."""
        return Counter(trial["variant"] for trial in self.trials if trial["measures"])

    def of_seeds(self, variant: Mapping[str, Any], measure: str) -> str:
        """Return of how many seeds a mean is, such as "2 of 3 seeds", if others of the variant have no
        value, else ""."""
        found = variant["measures"].get(measure) or {}
        return of_seeds(found.get("n") or 0, self.seeds.get(variant["variant"], 0))

    @property
    def lacks_seeds(self) -> bool:
        """This is true if some mean is not of all measured seeds."""
        return any(self.of_seeds(variant, name) for variant in self.variants for name in self.measures)

    def identity(self, of: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a trial or a variant is, by name: variant, system, and each varied key."""
        return identity_of(of, self.experiment)

    def has(self, table: str) -> bool:
        """Return whether the run has a table, which only some runs have."""
        return (self.run.tables / table).is_dir()

    def rows(self, table: str, trial: str) -> list[dict[str, Any]]:
        """Return the rows of a small table of one trial, read once; see `table`."""
        if (table, trial) not in self._rows:
            found = self.table(table, trial)
            self._rows[table, trial] = [] if found is None else found.to_pylist()
        return self._rows[table, trial]

    def table(
        self, name: str, trial: str, columns: list[str] | None = None, where: pc.Expression | None = None
    ) -> pa.Table | None:
        """Return the rows of one trial; None if it has none. Raises ResultsError if the table is
        not there."""
        folder = self.run.tables / name
        if not any(told["measures"] for told in self.trials):
            return None
        if not folder.is_dir():
            raise ResultsError(f"the table {folder} is missing; write it with: {_analyze(self.run)}")
        self._check(name, trial)
        files = sorted(
            file for part in self._parts(name).get(trial, ()) for file in (folder / part).glob("*.parquet")
        )
        try:
            parts = [pq.read_table(f, columns=columns, filters=where, partitioning=None) for f in files]
            return pa.concat_tables(parts) if parts else None
        except (pa.ArrowException, KeyError) as error:
            raise ResultsError(
                f"the table {folder} cannot be read ({error}); write it again with: {_analyze(self.run)}"
            ) from None

    def _parts(self, table: str) -> dict[str, list[str]]:
        """Return the names of a table's folders, those on disk and those that the analysis wrote, by
        trial."""
        if table not in self._folders:
            written = {
                parts[2]
                for file in self._digests or ()
                if (parts := file.split("/"))[:2] == ["tables", table]
            }
            found: dict[str, list[str]] = {}
            for name in sorted(written | {path.name for path in (self.run.tables / table).iterdir()}):
                found.setdefault(unquote(name).removeprefix("trial="), []).append(name)
            self._folders[table] = found
        return self._folders[table]

    def _check(self, name: str, trial: str) -> None:
        """Raises ResultsError if the table of a trial is not the one that the analysis wrote."""
        if self._digests is None or (name, trial) in self._checked:
            return
        self._checked.add((name, trial))
        try:
            for folder in self._parts(name).get(trial, ()):
                check_table(self.run, self._digests, name, folder)
        except DamagedFile as error:
            raise ResultsError(str(error)) from None


def identity_of(of: Mapping[str, Any], experiment: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a trial or a variant of an experiment is: variant, system, and each varied key."""
    values: Mapping[str, Any] = of["values"]
    system = values.get("system.name") or (experiment.get("system") or {}).get("name", "")
    return {"variant": of["variant"], "system": system, **values}


def variant_labels(variants: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return, by variant name, the values in which the variant differs from the others, in words."""
    variants = with_words(variants, value_label)
    keys = varied_keys(variants)
    labels = {v["variant"]: values_label(v["values"], keys) for v in variants}
    distinct = len(set(labels.values())) == len(labels) and all(labels.values())
    return labels if distinct else {name: name for name in labels}


def trial_labels(summary: Mapping[str, Any]) -> dict[str, str]:
    """Return a short name for each trial of a summary: that of its variant, if there are several, and its
    seed."""
    labels = variant_labels(summary["variants"])
    return {
        trial["trial"]: f"{labels.get(trial['variant'], trial['variant'])}, seed {trial['seed']}"
        if len(labels) > 1
        else f"seed {trial['seed']}"
        for trial in summary["trials"]
    }


def varied_keys(variants: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the keys that have more than one value among `variants`."""
    keys = dict.fromkeys(key for v in variants for key in v["values"])
    return [k for k in keys if len({repr(v["values"].get(k)) for v in variants}) > 1]


def key_label(key: str) -> str:
    """Return what an experiment's dotted key is about: "system.parameters.friends" -> "friends"."""
    parts = [part for part in key.split(".") if part not in ("name", "kind", "parameters")]
    return (parts[-1] if parts else key).replace("_", " ")


def unit_of(key: str, value: Any = None) -> str:
    """Return the unit of a number at an experiment's dotted key: "share" for shares, else ""."""
    parts = key.split(".")
    ends = {parts[-1], ".".join(parts[-2:])}
    below_1 = isinstance(value, int | float) and 0 < value < 1 and ends & SHARES_BELOW_1
    return "share" if ends & SHARES or below_1 else ""


def value_label(key: str, value: Any) -> str:
    """Return a value of an experiment's key in words: "friends 12", "session 30 s", "high", "no relay
    cache". A list of what has names, such as faults, is told by these: "split and dark", "no faults". Of what
    is only there if it has keys, such as churn, there is none: "no churn"; other parts without keys have
    their defaults, and no words."""
    if isinstance(value, Worded | WordedMapping):
        return value.words
    if isinstance(value, bool):
        return key_label(key) if value else f"no {key_label(key)}"
    if value is None:
        return f"no {key_label(key)}"
    if isinstance(value, int | float):
        return f"{key_label(key)} {in_words(value, unit_of(key, value))}"
    if isinstance(value, Mapping):
        if not value:
            return f"no {key_label(key)}" if key in _NONE_WITHOUT_KEYS else ""
        return ", ".join(
            filter(None, (_part_label(f"{key}.{part}", of_part) for part, of_part in value.items()))
        )
    if has_names(value):
        return " and ".join(str(each["name"]) for each in value) or f"no {key_label(key)}"
    if str(value)[:1].isdigit():
        return f"{key_label(key)} {value}"
    return str(value)


def _part_label(key: str, value: Any) -> str:
    """Return a part of a value in words, after its key if these words do not say what it is."""
    text = value_label(key, value)
    named = not isinstance(value, Mapping) or "kind" in value or not text
    return text if named else f"{key_label(key)} {text}"


def values_label(values: Mapping[str, Any], keys: Sequence[str]) -> str:
    """Return the values at these keys in words. Keys that are about things of one name say whose they are:
    "vitis, poisson, session 30 s, absence 20 s". Values without words are "defaults"."""
    names = [key_label(key) for key in keys]
    texts = []
    for key, name in zip(keys, names, strict=True):
        text = value_label(key, values.get(key))
        above = [part for part in key.split(".")[:-1] if part not in ("name", "kind", "parameters")]
        if names.count(name) > 1 and name in text and above:
            text = f"{above[-1].replace('_', ' ')} {text}"
        texts.append(text)
    text = ", ".join(filter(None, texts))
    return text or ("defaults" if keys else "")


def _analyze(run: RunDirectory) -> str:
    return f"trellis analyze {run.path}"
