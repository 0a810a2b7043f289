"""The figures of the page on topics over six systems."""

from __future__ import annotations

from typing import Any

import pytest

from docs.making.topics_figures import ASPECTS, SETTINGS, SYSTEMS, Mark, draw, marks, setting_of

_FAULT = {"name": "dark", "crash": {"region": "tokyo"}}
_SETTINGS: tuple[dict[str, Any], ...] = (
    {"churn": {}, "faults": []},
    {"churn": {"model": {"kind": "skype"}}, "faults": []},
    {"churn": {"flash_crowd": {"peers": 75}}, "faults": []},
    {"churn": {}, "faults": [_FAULT]},
)


def summary(system: str | None, mean: float) -> dict[str, Any]:
    """Return a summary of one variant at rest; the name of the system is not in one that does not vary it."""
    name = {} if system is None else {"system.name": system}
    measured = {"delay_ms": {"mean": mean, "ci95": None, "n": 1}}
    return {"variants": [{"values": {**name, **_SETTINGS[0]}, "measures": measured}]}


def test_each_variant_has_a_place_among_the_settings() -> None:
    assert [setting_of(values) for values in _SETTINGS] == [0, 1, 2, 3] == list(range(len(SETTINGS)))


def test_the_last_run_of_a_system_counts() -> None:
    runs = [summary("gossipsub", 1.0), summary("opt", 2.0), summary(None, 3.0)]
    assert marks(runs, "delay_ms") == {("gossipsub", 0): Mark(3.0, 0.0), ("opt", 0): Mark(2.0, 0.0)}


@pytest.mark.parametrize("aspect", ASPECTS)
def test_a_figure_names_systems_and_settings_as_text(aspect: Any) -> None:
    of = {(system, place): Mark(300.0, 20.0) for system in SYSTEMS for place in range(len(SETTINGS))}
    drawn = draw(aspect, of).decode()
    assert all(f">{name}<" in drawn for name in (*SYSTEMS.values(), *SETTINGS, aspect.label))
    assert len(drawn) < 60_000
