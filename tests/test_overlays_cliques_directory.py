"""The directory of cliques: what servers tell each other of cliques that they are not in."""

from __future__ import annotations

import pytest

from emulator.messages.message import Message
from emulator.protocols.overlays.cliques.directory import Directory
from emulator.protocols.overlays.cliques.overlay import Cliques
from emulator.protocols.overlays.cliques.parameters import CliqueParameters
from emulator.protocols.overlays.cliques.view import WHOLE, View, even_ends
from emulator.testing.fake_environment import FakeEnvironment
from trellis.v1.cliques import CliqueRecord, DirectoryAnswer, DirectoryDigest, DirectoryNews

TOO_LARGE = 1 << 63


def directory(environment: FakeEnvironment) -> tuple[Directory, FakeEnvironment]:
    return Directory(environment, 40.0, 1.0, lambda before, now: None), environment


def exchange(one: Directory, here: FakeEnvironment, there: FakeEnvironment) -> DirectoryAnswer:
    """Let one server tell another one what it knows, and learn what that one knows more; return the
    answer."""
    one.exchange(there.peer)
    (asked,) = here.outbox
    there.hand_over(here.peer, asked.message, "", asked.request)
    (answered,) = there.outbox
    here.outbox.clear()
    there.outbox.clear()
    here.hand_over(there.peer, answered.message, "", answered.request)
    for sent in here.outbox:
        there.hand_over(here.peer, sent.message)
    here.outbox.clear()
    assert isinstance(answered.message, DirectoryAnswer)
    return answered.message


def test_servers_that_began_apart_meet_through_the_bootstrap_service() -> None:
    environment = FakeEnvironment(0)
    alone = Cliques(environment, CliqueParameters())
    alone.start([])
    while not environment.asked_for_contacts:
        environment.advance(1.0)
    environment.outbox.clear()
    environment.asked_for_contacts[0]([7])
    assert [sent.peer for sent in environment.outbox if isinstance(sent.message, DirectoryDigest)] == [7]


def test_records_that_make_no_sense_or_are_older_are_not_taken() -> None:
    environment = FakeEnvironment(0)
    alone = Cliques(environment, CliqueParameters())
    alone.start([])
    good = CliqueRecord(5, 3, [5, 6], [1.0, 2.0], [WHOLE // 2, WHOLE])
    for record in (good, CliqueRecord(5, 2, [5], [1.0], [WHOLE]), CliqueRecord(7, 1, [7], [], [WHOLE])):
        environment.hand_over(5, DirectoryNews([record], [0]))
    assert alone.directory.records[5] is good and 7 not in alone.directory.records
    later = CliqueRecord(4, 9, [4, 5], [0.5, 1.0], [WHOLE // 2, WHOLE])
    environment.hand_over(4, DirectoryNews([later], [0]))
    assert 5 not in alone.directory.records
    environment.hand_over(5, DirectoryNews([good], [0]))
    assert 5 not in alone.directory.records


def test_a_record_is_sent_again_only_when_its_view_is_another_one() -> None:
    directories = {peer: directory(FakeEnvironment(peer)) for peer in (0, 1)}
    (one, here), (two, there) = directories.values()
    record = CliqueRecord(0, 3, [0, 5], [1.0, 2.0], [WHOLE // 2, WHOLE])
    one.put(record)
    exchange(one, here, there)
    assert two.records == {0: record}
    here.advance(8.0)
    there.advance(30.0)
    one.beat(0)
    assert exchange(one, here, there).records == []
    there.advance(30.0)
    two.expire(but=None)
    assert two.records == {0: record}
    there.advance(30.0)
    exchange(one, here, there)
    two.expire(but=None)
    assert two.records == {}


def test_a_record_that_ended_in_silence_is_taken_again_when_its_leader_beats() -> None:
    environment = FakeEnvironment(1)
    known, _ = directory(environment)
    record = CliqueRecord(0, 3, [0], [1.0], [WHOLE])
    known.put(record, 7)
    environment.advance(41.0)
    known.expire(but=None)
    known.put(record, 7)
    assert known.records == {}
    known.put(record, 48)
    assert known.records == {0: record}


@pytest.mark.parametrize(
    "message",
    [
        DirectoryNews([CliqueRecord(5, TOO_LARGE, [5], [1.0], even_ends(1))], [3]),
        DirectoryNews([CliqueRecord(5, 2, [5], [1.0], even_ends(1))], [TOO_LARGE]),
        DirectoryNews([CliqueRecord(5, 2, [5], [1.0], even_ends(1))], []),
        DirectoryDigest([5], [TOO_LARGE], [3]),
        DirectoryDigest([5], [2], [TOO_LARGE]),
        DirectoryDigest([5], [2], []),
    ],
)
def test_a_directory_drops_numbers_that_are_too_large_or_missing(message: Message) -> None:
    known, environment = directory(FakeEnvironment(0))
    environment.hand_over(5, message, "", 7 if isinstance(message, DirectoryDigest) else 0)
    assert known.records == {}
    assert environment.outbox == []


@pytest.mark.parametrize(
    "answer",
    [
        DirectoryAnswer([CliqueRecord(5, TOO_LARGE, [5], [1.0], even_ends(1))], [], [5], [3]),
        DirectoryAnswer([CliqueRecord(5, 2, [5], [1.0], even_ends(1))], [], [5], [TOO_LARGE]),
        DirectoryAnswer([CliqueRecord(5, 2, [5], [1.0], even_ends(1))], [], [5], []),
    ],
)
def test_an_answer_with_numbers_that_are_too_large_or_missing_adds_nothing(answer: DirectoryAnswer) -> None:
    known, environment = directory(FakeEnvironment(0))
    known.exchange(5)
    (asked,) = environment.outbox
    environment.hand_over(5, answer, "", -asked.request)
    assert known.records == {}


def test_a_view_with_a_number_that_is_too_large_is_not_taken() -> None:
    environment = FakeEnvironment(1)
    cliques = Cliques(environment, CliqueParameters())
    environment.hand_over(0, View(TOO_LARGE, [0, 1], {0: 1.0, 1: 2.0}, even_ends(2), {}).message())
    assert cliques.view is None
    assert cliques.directory.records == {}
