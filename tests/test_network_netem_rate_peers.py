"""A trial of real peers in namespaces of their own, whose links the kernel limits."""

from __future__ import annotations

from typing import Any

import pytest
from netem_world import need_root, told_by

LIMIT = 300
"""Seconds. The trial takes 55, and the programs some to start and to end."""

pytestmark = pytest.mark.timeout(LIMIT + 30)


@pytest.fixture(scope="module")
def fidelity(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    need_root()
    found = told_by("netem_rate_peers.py", tmp_path_factory.mktemp("peers"), LIMIT)
    if "the kernel" in found.get("rates_refused", ""):
        pytest.skip(found["rates_refused"])
    return found


def test_the_kernel_limits_and_the_delay_line_does_not(fidelity: dict[str, Any]) -> None:
    assert (fidelity["enforced_by"], fidelity["rates_enforced_by"]) == ("netem", "kernel")
    assert "rates_refused" not in fidelity
    assert fidelity["measured"]["probes"] == 0  # they would wait in the links
    for link in fidelity["links"]:
        assert link["messages"] is None and link["packets"] > 1000


def test_links_of_real_peers_have_their_rates(fidelity: dict[str, Any]) -> None:
    up, down = fidelity["links"]
    for link, rate in ((up, 6_000_000), (down, 4_000_000)):
        print(f"{link['way']}: {link['achieved_bit_s'] / 1e6:.3f} Mbit/s over {link['busy_s']:.1f} s")
        assert link["asked_bit_s"] == rate and link["busy_s"] >= 10
        assert link["achieved_bit_s"] == pytest.approx(rate, rel=0.03)
    (check,) = [each for each in fidelity["checks"] if each["name"] == "rate of links, largest error"]
    assert check["ok"] and check["measured"] is not None


def test_empty_links_delay_echoes_no_further(fidelity: dict[str, Any]) -> None:
    assert fidelity["measured"]["echoes"] == 24
    assert fidelity["measured"]["round_trip_error_max_ms"] < 20
