"""How much may go wrong is a number or a share, written as such."""

from __future__ import annotations

import pytest

from emulator.experiment.file.spec import FidelityLimits
from emulator.experiment.file.tolerance import Amount, parse_amount, plain_amount


@pytest.mark.parametrize(
    ("written", "whole", "allowed", "plain"),
    [
        (3, 10, 3, 3),
        ("1 %", 3000, 30, "1 %"),
        ("1%", 50, 0.5, "1 %"),
        ("0.10 %", 3000, 3, "0.1 %"),
        ("100 %", 7, 7, "100 %"),
    ],
)
def test_an_amount_is_a_number_or_a_share_of_the_whole(
    written: object, whole: int, allowed: float, plain: object
) -> None:
    amount = parse_amount(written)
    assert amount.of(whole) == pytest.approx(allowed)
    assert plain_amount(amount) == plain


@pytest.mark.parametrize(
    "written", [-1, 1.5, True, None, "", "3", "x %", "101 %", "-1 %", "1e9 %", 10**10, "1 %%"]
)
def test_anything_else_is_refused_with_what_is_needed(written: object) -> None:
    with pytest.raises(ValueError, match=r"from 0 % to 100 %, such as 3 or \"1 %\""):
        FidelityLimits.model_validate({"hosts_restarted": written})


def test_nothing_may_go_wrong_unless_the_experiment_says_so() -> None:
    limits = FidelityLimits()
    assert limits.hosts_restarted == limits.hosts_lost == limits.operations_missed == Amount(0)


def test_limits_survive_the_way_to_a_host() -> None:
    limits = FidelityLimits.model_validate({"hosts_restarted": "0.5 %", "hosts_lost": 2})
    assert FidelityLimits.model_validate_json(limits.model_dump_json()) == limits
