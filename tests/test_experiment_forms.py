"""An experiment file with a part of the wrong form is answered by how to write that part."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.experiment.file.explain import validate
from emulator.experiment.file.spec import ExperimentSpec

SPEC = {"name": "a", "system": {"name": "chord"}, "peers": 5, "workload": {"lookups": {"rate": 1}}}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"faults": "pause"}, 'Begin each entry with "- "'),
        ({"processing": {"classes": "slow"}}, 'Begin each entry with "- "'),
        ({"expect": "hops <= 1"}, 'Write ["hops <= 1"]'),
        ({"faults": [{"name": "a", "pause": {"peers": []}}]}, "is [], but has to have at least 1 entry"),
        (
            {"faults": [{"name": "a", "pause": 0.1}]},
            "such as {share: ...}. Its keys: share, number, peers, role, region",
        ),
        ({"faults": [{"name": "a", "bootstrap": True}]}, "is true. Known: away"),
        (
            {"network": {"processing": {}}},
            'is not a known key here. It stands beside "network", not below it',
        ),
    ],
)
def test_what_has_the_wrong_form_is_told_the_right_one(given: dict[str, Any], told: str) -> None:
    ((_, text),) = validate(ExperimentSpec, SPEC | given)[1]
    assert text.endswith(told)
