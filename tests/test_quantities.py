"""Durations: what each unit is, and what no duration is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.files.quantities import format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1 ms", 0.001),
        ("250ms", 0.25),
        ("1 s", 1),
        ("1 min", 60),
        ("1.5 min", 90),
        ("1 h", 3600),
        ("1 d", 86_400),
        (" 2e3 s ", 2000),
        ("0 s", 0),
        ("0.0e7 h", 0),
        ("0.001 ms", 1e-6),
        ("36525 d", 3_155_760_000),
    ],
)
def test_a_duration_is_its_number_times_its_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("30", "needs a number and a unit"),
        ("30 sec", "needs a number and a unit"),
        ("-1 s", "a duration is not negative here"),
        ("\N{FULLWIDTH DIGIT THREE} s", "needs a number and a unit"),
        (30, "needs a number and a unit"),
        (None, "needs a number and a unit"),
        (" " * 10_000 + "1 s", "needs a number and a unit"),
        ("1e300 s", "longer than 36525 d"),
        ("36526 d", "longer than 36525 d"),
        (f"1e{'9' * 40} s", "longer than 36525 d"),
        ("0.0009 ms", "shorter than 0.001 ms"),
        (f"1e-{'9' * 40} s", "shorter than 0.001 ms"),
    ],
)
def test_what_is_no_duration_is_told(value: object, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_duration(value)


@given(st.floats(1e-6, 3e9))
def test_a_duration_that_is_written_reads_the_same(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, rel=1e-15)
