"""Tests whose own classes inherit from traits of the protocols, which compiled traits do not allow."""

from __future__ import annotations

import pytest

from emulator.compiler.finder import WHY_INTERPRETED

from_source = pytest.mark.skipif(
    not WHY_INTERPRETED, reason="it runs with the protocols' source, in the last stage of `make test`"
)
