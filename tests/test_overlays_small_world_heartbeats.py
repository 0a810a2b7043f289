"""One peer of the small world: what neighbours tell each other."""

from __future__ import annotations

from fake_environment import FakeEnvironment
from librt.vecs import vec
from mypy_extensions import i64
from small_world_peer import SELF, Peer, knowing, profile

from emulator.compact.peer_rows import PeerRows
from emulator.messages.message import Undecoded
from emulator.protocols.gossip.profile_handles import ProfileHandles
from emulator.protocols.gossip.profiles import newer
from emulator.protocols.overlays.small_world.heartbeats import NOTHING_SAID, Heartbeats
from emulator.protocols.overlays.small_world.links import Link, Links
from emulator.protocols.overlays.small_world.overlay import SmallWorld
from emulator.protocols.overlays.small_world.parameters import SmallWorldParameters
from trellis.v1.overlay import ProfileExchange, TManExchange
from trellis.v1.pubsub import Proposals


def test_each_round_all_neighbours_get_the_profile() -> None:
    tested = knowing([101, 102, 103])
    tested.environment.outbox.clear()
    tested.rounds(1)
    assert tested.sent(ProfileExchange) == [101, 102, 103]


def test_a_profile_from_a_stranger_is_answered_exactly_once() -> None:
    tested = Peer()
    tested.hear_from([200], reply=False)
    ((receiver, answer),) = tested.environment.take(ProfileExchange)
    assert (receiver, answer.reply) == (200, True)


def test_an_answer_is_not_answered() -> None:
    tested = Peer()
    tested.hear_from([200], reply=True)
    assert not tested.environment.outbox


def test_a_neighbours_heartbeat_is_not_answered() -> None:
    tested = knowing([101])
    tested.environment.outbox.clear()
    tested.hear_from([101], reply=False)
    assert not tested.environment.outbox


def test_two_peers_do_not_play_ping_pong() -> None:
    """One has the other as neighbour, the other does not: a heartbeat causes one answer and no more."""
    one, other = Peer(), Peer()
    one.hear_from([200], reply=False)
    answers = one.environment.take(ProfileExchange)
    for _, answer in answers:
        other.environment.hand_over(300, answer)
    assert len(answers) == 1
    assert not other.environment.outbox


def test_who_sends_a_profile_is_an_incoming_link() -> None:
    tested = knowing([101])
    tested.hear_from([200])
    assert tested.overlay.neighbours()["incoming"] == [200]
    assert {link.profile.peer for link in tested.overlay.links()} == {101, 200}


def link_to(tested: Peer, peer: int) -> Link:
    (link,) = [link for link in tested.overlay.links() if link.profile.peer == peer]
    return link


def test_what_a_neighbour_says_last_is_its_profile() -> None:
    tested = Peer()
    for version, topic in ((1, 5), (2, 6)):
        said = profile(101, version, [topic])
        tested.environment.hand_over(101, ProfileExchange(True, said))
        assert link_to(tested, 101).profile is said


def test_a_newer_profile_in_hearsay_replaces_a_neighbours() -> None:
    tested = knowing([101])
    newer, older = profile(101, 2, session=1), profile(101, 9, session=0)
    for told in (newer, older):
        tested.environment.hand_over(999, TManExchange(True, [told], vec[i64]([0])))
        assert link_to(tested, 101).profile is newer


def test_links_have_a_version_that_changes_with_who_they_are_and_what_they_say() -> None:
    tested = knowing([101])
    version = tested.overlay.links_version

    def changed() -> bool:
        nonlocal version
        before, version = version, tested.overlay.links_version
        return version != before

    heartbeat = ProfileExchange(True, profile(101))
    tested.environment.hand_over(101, heartbeat)
    assert changed()
    tested.environment.hand_over(101, heartbeat)
    tested.environment.hand_over(101, ProfileExchange(True, profile(101)))
    assert not changed()
    tested.environment.hand_over(101, ProfileExchange(True, profile(101), Proposals(hops=vec[i64]([1]))))
    assert changed()
    tested.hear_from([200])
    assert changed()
    assert tested.overlay.neighbours()["incoming"] == [200]
    tested.environment.fail(200)
    assert changed()
    tested.hear_of([201])
    assert changed()
    tested.environment.fail(101)
    assert changed()


def test_what_a_silent_neighbour_said_counts_no_more_after_two_and_a_half_rounds() -> None:
    tested = knowing([101, 102])
    tested.hear_from([101, 102])
    for _ in range(4):
        tested.hear_from([102])
        tested.rounds(1)
    assert link_to(tested, 101).said is None
    assert link_to(tested, 102).said is not None
    version = tested.overlay.links_version
    tested.hear_from([101])
    assert link_to(tested, 101).said is not None
    assert tested.overlay.links_version != version


def test_a_heartbeat_is_the_same_object_as_long_as_it_says_the_same() -> None:
    tested = knowing([101])
    said = []
    for change in (False, False, True, False):
        if change:
            tested.proposals = Proposals(hops=vec[i64]([1]))
        tested.environment.outbox.clear()
        tested.hear_from([101])
        tested.rounds(1)
        ((_, message),) = tested.environment.take(ProfileExchange)
        said.append(message)
    assert said[0] is said[1]
    assert said[1] is not said[2]
    assert said[2] is said[3]
    assert said[3].rider is tested.proposals
    tested.overlay.describe({4: 1.0})
    tested.rounds(1)
    ((_, message),) = tested.environment.take(ProfileExchange)
    assert message.profile == profile(SELF, 2, [4])


def test_a_later_session_has_a_newer_profile() -> None:
    sessions = []
    for session in (0, 4):
        overlay = SmallWorld(FakeEnvironment(3, session=session), SmallWorldParameters(), small_world_links=1)
        sessions.append(overlay.profile)
    assert newer(sessions[1], sessions[0])


def test_what_rides_on_a_heartbeat_from_another_host_is_read_by_the_system() -> None:
    tested = Peer()
    sent = ProfileExchange(True, profile(101), Proposals(hops=vec[i64]([1])))
    came = ProfileExchange.read(sent.encode(), 0, len(sent.encode()))
    assert isinstance(came.rider, Undecoded)
    tested.hear_from([101])
    tested.environment.hand_over(101, came)
    (link,) = [link for link in tested.overlay.links() if link.peer == 101]
    assert link.said is not None and link.said.rider == Proposals(hops=vec[i64]([1]))


def test_a_rider_that_is_malformed_is_as_if_there_was_none() -> None:
    tested = Peer()
    tested.hear_from([101])
    tested.environment.hand_over(101, ProfileExchange(True, profile(101, version=2), Undecoded(b"\xff")))
    (link,) = [link for link in tested.overlay.links() if link.peer == 101]
    assert link.said is not None and link.said.rider is None


def test_the_same_heartbeat_again_is_noted_without_a_listener() -> None:
    """The pool knows the routing tables: what a neighbour says again is no news, but the neighbour is up."""
    tested = knowing([101])
    environment, row = tested.environment, tested.overlay._row
    rows, profiles = environment.shared(PeerRows), environment.shared(ProfileHandles)
    pool = environment.shared(Heartbeats, environment.name, rows, profiles)
    table = environment.shared(Links, profiles, pool, "table")
    said = pool.take(ProfileExchange(False, profile(101)))
    other = pool.take(ProfileExchange(False, profile(101)))
    assert not table.hear_again(row, 101, said, 1.0)
    assert pool.receive(SELF, 101, said, 1.0)
    assert table.hear_again(row, 101, said, 2.0)
    assert table.heard[table.find(row, 101)] == 2.0
    assert not table.hear_again(row, 101, other, 3.0)
    assert not table.hear_again(row, 102, said, 3.0)
    assert table.heard[table.find(row, 101)] == 2.0


def test_a_reply_that_says_the_same_as_the_heartbeat_is_no_news() -> None:
    profiles = ProfileHandles()
    rows = PeerRows()
    pool = Heartbeats("", rows, profiles)
    links = Links(profiles, pool, "table")
    row = rows.row(SELF)
    sender = rows.row(101)
    pool.join(sender, Peer().overlay)
    links.empty(row)
    said = profile(101)
    heartbeat = pool.own(sender, False, said, None)
    links.add(row, 101, pool.handle(heartbeat), 1.0, NOTHING_SAID)
    links.say(0, heartbeat)
    assert links.hear_again(row, 101, pool.own(sender, True, said, None), 2.0)
    assert links.said[0] == pool.own(sender, True, said, None)
    assert not links.hear_again(row, 101, pool.own(sender, True, profile(101, version=2), None), 3.0)
    assert links.heard[0] == 2.0
