"""When pods are to be deleted, and what became of it: the decisions, with a clock that is none."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.fleet.pods.kill_schedule import Deletion, Kill, Outcome, Pace, Pod, PodChurn

PACE = Pace(rate=10, calls=3, patience=30)


def kill(number: int, due: float = 100.0, session: int = 0, graceful: bool = False) -> Kill:
    return Kill(number, session, f"host-{number}", f"peers-0-{number}", due, graceful)


def churn_of(*kills: Kill, pace: Pace = PACE) -> PodChurn:
    """Return the churn of these kills, with a pod for each that has run for long."""
    churn = PodChurn(kills, pace)
    for each in kills:
        churn.see(each.pod, Pod(f"uid of {each.pod}", 0, True), 0.0)
    return churn


def take(churn: PodChurn, now: float) -> Deletion:
    deletion = churn.take(now)
    assert deletion is not None
    return deletion


def only_outcome(churn: PodChurn, now: float) -> Outcome:
    (outcome,) = churn.outcomes(now)
    return outcome


def test_a_pod_is_deleted_when_its_session_ends_and_not_before() -> None:
    churn = churn_of(kill(1, due=100.0))
    assert churn.take(99.9) is None
    assert churn.wake_at() == 100.0
    assert take(churn, 100.0).uid == "uid of peers-0-1"
    assert churn.take(100.0) is None


def test_kills_are_asked_for_by_time_whatever_their_order_in_the_plan() -> None:
    churn = churn_of(kill(1, due=101.0), kill(2, due=100.0))
    assert take(churn, 102.0).kill.peer == 2


def test_a_session_is_over_when_its_pod_is_gone() -> None:
    churn = churn_of(kill(1))
    deletion = take(churn, 100.1)
    churn.answer(deletion)
    assert churn.outcomes(100.2) == []
    assert not churn.over
    churn.see("peers-0-1", None, 100.7)
    assert only_outcome(churn, 101.0) == Outcome(deletion.kill, 100.1, 100.7, "")
    assert churn.over


def test_a_pod_that_was_replaced_unseen_is_gone_too() -> None:
    churn = churn_of(kill(1))
    churn.answer(take(churn, 100.0))
    churn.see("peers-0-1", Pod("another", 101, False), 101.5)
    assert only_outcome(churn, 102.0).gone == 101.5


def test_news_of_a_pod_that_still_ends_is_no_end() -> None:
    churn = churn_of(kill(1))
    churn.answer(take(churn, 100.0))
    churn.see("peers-0-1", Pod("uid of peers-0-1", 0, False), 100.5)
    assert churn.outcomes(101.0) == []


def test_a_pod_may_be_gone_before_kubernetes_has_answered() -> None:
    churn = churn_of(kill(1))
    deletion = take(churn, 100.0)
    churn.see("peers-0-1", None, 100.1)
    churn.answer(deletion)
    assert only_outcome(churn, 100.2).gone == 100.1
    assert churn.over


def test_a_flash_leave_is_spread_at_the_rate() -> None:
    churn = churn_of(*(kill(number) for number in range(3)))
    asked = []
    for tick in range(100):
        now = 100.0 + tick * 0.025
        if (deletion := churn.take(now)) is not None:
            asked.append(now)
            churn.answer(deletion)
    assert asked == pytest.approx([100.0, 100.1, 100.2])


def test_no_more_calls_are_under_way_than_allowed() -> None:
    churn = churn_of(*(kill(number) for number in range(5)))
    under_way = [take(churn, now) for now in (100.0, 100.2, 100.4)]
    assert churn.take(101.0) is None
    churn.answer(under_way[1])
    assert churn.take(101.0) is not None


def test_with_all_calls_under_way_the_clock_alone_changes_nothing_before_patience_ends() -> None:
    churn = churn_of(kill(1), kill(2), pace=Pace(10, 1, 30))
    take(churn, 100.0)
    assert churn.wake_at() == 130.0


def test_a_pod_that_does_not_go_is_given_up() -> None:
    churn = churn_of(kill(1))
    churn.answer(take(churn, 100.0))
    assert churn.outcomes(129.9) == []
    outcome = only_outcome(churn, 130.0)
    assert outcome.gone is None
    assert "not gone after 30 s" in outcome.error
    churn.see("peers-0-1", None, 131.0)
    assert churn.outcomes(132.0) == []


def test_a_refusal_is_an_outcome_and_frees_its_call() -> None:
    churn = churn_of(kill(1), kill(2), pace=Pace(10, 1, 30))
    churn.refuse(take(churn, 100.0), "invalid")
    assert only_outcome(churn, 100.1).error == "invalid"
    assert take(churn, 100.2).kill.peer == 2


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        (None, "there was no pod"),
        (Pod("new", 50, False), "not running"),
        (Pod("new", 99, True), "come back before"),
        (Pod("new", 180, True), "come back before"),
    ],
)
def test_a_pod_that_cannot_hold_the_session_is_left_alone(pod: Pod | None, reason: str) -> None:
    churn = churn_of(kill(1, due=99.9))
    churn.see("peers-0-1", pod, 99.0)
    assert churn.take(200.0) is None
    outcome = only_outcome(churn, 200.0)
    assert reason in outcome.error
    assert outcome.gone is None
    assert churn.over


def test_a_session_whose_pod_still_ends_with_the_one_before_is_not_deleted_twice() -> None:
    churn = churn_of(kill(1, due=100.0), kill(1, due=101.0, session=1))
    churn.answer(take(churn, 100.0))
    assert churn.take(101.0) is None
    outcome = only_outcome(churn, 101.0)
    assert outcome.kill.session == 1
    assert "session before" in outcome.error


def test_a_pod_that_came_back_can_be_deleted_again() -> None:
    churn = churn_of(kill(1, due=100.0), kill(1, due=110.0, session=1))
    churn.answer(take(churn, 100.0))
    churn.see("peers-0-1", None, 100.5)
    churn.see("peers-0-1", Pod("second", 100, False), 100.6)
    churn.see("peers-0-1", Pod("second", 100, True), 102.0)
    assert take(churn, 110.0).uid == "second"


@given(
    st.lists(st.tuples(st.integers(0, 5), st.floats(100, 110)), max_size=30),
    st.lists(st.sampled_from(["answer", "refuse", "gone", "wait"]), max_size=200),
)
def test_every_kill_has_one_outcome_within_rate_and_calls(
    planned: list[tuple[int, float]], happenings: list[str]
) -> None:
    kills = [kill(pod, due, session) for session, (pod, due) in enumerate(planned)]
    churn = churn_of(*kills)
    asked: list[Deletion] = []
    unanswered: list[Deletion] = []
    outcomes: list[Outcome] = []
    now = 100.0
    for happening in happenings + ["answer", "wait"] * 300:
        while (deletion := churn.take(now)) is not None:
            asked.append(deletion)
            unanswered.append(deletion)
        assert len(unanswered) <= PACE.calls
        if happening in ("answer", "refuse") and unanswered:
            deletion = unanswered.pop(0)
            churn.answer(deletion) if happening == "answer" else churn.refuse(deletion, "no")
        elif happening == "gone" and asked:
            churn.see(asked[-1].kill.pod, Pod(f"{now}", 0, True), now)
        elif happening == "wait":
            now += 0.3
        outcomes += churn.outcomes(now)
    assert churn.over
    assert sorted(o.kill.session for o in outcomes) == list(range(len(kills)))
    times = [deletion.asked for deletion in asked]
    assert all(later - earlier > 0.099 for earlier, later in pairwise(times))
    assert all(d.asked >= d.kill.due for d in asked)


@pytest.mark.parametrize("values", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_a_pace_at_which_nothing_would_happen_is_refused(values: tuple[float, int, float]) -> None:
    with pytest.raises(ValueError, match="above 0"):
        Pace(*values)
