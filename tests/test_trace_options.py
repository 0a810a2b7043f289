"""The share of traces that `trellis traces --sample` is told to send."""

from __future__ import annotations

import pytest

from trellis.command.exits import UserError
from trellis.command.trace_commands import share_in


@pytest.mark.parametrize(("text", "share"), [("1", 1.0), ("0.1", 0.1), ("10 %", 0.1), ("0.5%", 0.005)])
def test_a_share_of_traces_may_be_in_percent(text: str, share: float) -> None:
    assert share_in(text) == share


@pytest.mark.parametrize("text", ["0", "1.5", "ten", "nan", "-5 %", "101 %", ""])
def test_what_is_no_share_of_traces_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="--sample is"):
        share_in(text)
