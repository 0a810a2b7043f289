"""The sets that forget: by number of entries, or by time."""

from __future__ import annotations

import pytest

from emulator.contract.recent import Newest, Recent, RecentNumbers
from emulator.testing.fake_environment import FakeEnvironment


def test_the_newest_entries_are_kept_and_an_entry_is_new_once() -> None:
    seen = Newest(2)
    assert [seen.add(entry) for entry in (1, 2, 1, 3)] == [True, True, False, True]
    assert [entry in seen for entry in (1, 2, 3)] == [False, True, True]


@pytest.mark.parametrize("kind", [Recent, RecentNumbers])
def test_an_entry_is_kept_for_a_lifetime_and_then_forgotten(kind: type[Recent | RecentNumbers]) -> None:
    environment = FakeEnvironment()
    seen = kind(environment, 10.0)
    assert [seen.add(number) for number in (1, 2, 1)] == [True, True, False]
    environment.advance(9.0)
    assert seen.add(3)
    environment.advance(9.5)
    assert not seen.add(3)
    assert seen.add(4)
    environment.advance(10.0)
    assert seen.add(1)
    assert not seen.add(4)
    environment.advance(20.0)
    assert seen.add(1)
