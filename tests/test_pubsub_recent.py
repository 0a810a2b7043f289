"""The set that keeps a number of entries."""

from __future__ import annotations

from emulator.pubsub.recent import Newest


def test_the_newest_entries_are_kept_and_an_entry_is_new_once() -> None:
    seen = Newest(2)
    assert [seen.add(entry) for entry in (1, 2, 1, 3)] == [True, True, False, True]
    assert [entry in seen for entry in (1, 2, 3)] == [False, True, True]
