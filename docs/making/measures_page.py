"""Makes the page of all measures, by the kinds of workload that have them."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.contract.measures import MeasureGroup
from analysis.contract.workload_kinds import named, own
from analysis.measures.catalogue import own_groups
from analysis.measures.every_trial import EVERY_TRIAL
from analysis.measures.of_faults import RECOVERS, RECOVERY

_HEAD = """\
# Measures

The conditions of [`expect`](../expectations.md), `trellis compare --measure` and `summary.json` have these
measures, by these names. A report shows those that its trials have. The unit `share` is 0 to 1 and may be
written in percent. Measures marked *part* can be had of a part of a trial, such as `during split` or
`from 20 s`. What systems report of their own states are the measures `state.NAME`; the pages of systems name
them. Packages [bring measures of their own](../measures.md).

The column *formula* says how the number of a trial is made, from what happened in its measure phase. Means
over trials and their intervals are made from these numbers. A *copy* is a message that carries an event, a
*delivery* an event that a peer's application got, and a *message* any message that an operation causes. A
copy is *unwanted* where the peer had not asked for the event. A percentile lies between the two nearest
values, in proportion; delays in ms are first rounded to 0.01 ms for it. Standard deviations are those of a
whole population, unless *sample* stands before them. Where the lower part of a fraction is 0, or a mean
is over nothing, the measure counts as not measured.
"""
_TABLE = "| measure | unit | better | part | meaning | formula |\n|---|---|---|---|---|---|\n"


def measures_page() -> str:
    """Return the page."""
    sections: dict[str, list[MeasureGroup]] = {}
    for group in own_groups():
        sections.setdefault(_heading(group), []).append(group)
    return _HEAD + "".join(
        f"\n## {heading}\n\n{_TABLE}{''.join(row for group in groups for row in _rows(group))}"
        for heading, groups in sections.items()
    )


def _heading(group: MeasureGroup) -> str:
    if group is EVERY_TRIAL:
        return "All trials"
    if group is RECOVERY:
        return "Trials with faults"
    kinds, _ = named(own())
    those = [kind.name for kind in kinds if group in kind.analysis.measures]
    of_systems = f", systems: {', '.join(sorted(group.systems))}" if group.systems else ""
    return f"Workloads: {', '.join(those)}{of_systems}"


def _rows(group: MeasureGroup) -> Iterator[str]:
    of_parts = {name for names in group.of_parts.values() for name in names}
    for name, measure in group.measures.items():
        needs = f" Only where `{RECOVERS[name]}` is measured." if name in RECOVERS else ""
        text = f"{measure.title}. {measure.about}{needs}".replace("|", "\\|").replace("\n", " ")
        part = "part" if name in of_parts else ""
        cells = (f"`{name}`", measure.unit, measure.better or "", part, text, measure.formula)
        yield f"| {' | '.join(cells)} |\n"
