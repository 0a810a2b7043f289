"""Models of churn: calibrated to their facts, in equilibrium from the start, sessions in order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from emulator.churn.draw_sessions import draw_flash_crowd, draw_sessions
from emulator.churn.lifetimes import Exponential, Lifetime, Lognormal, Mixture, Pareto, Weibull
from emulator.churn.sessions import SHORTEST, Sessions, fit_to_trial
from emulator.churn.skype import skype_sessions
from emulator.churn.spec import FlashCrowd, Model

HOUR = 3600.0
DAY = 24 * HOUR
POISSON = {"kind": "poisson", "mean_session": "30 s", "mean_gap": "60 s"}
PARETO = {"kind": "pareto", "mean_session": "30 s", "mean_gap": "60 s", "shape": 1.8}
SKYPE = {"kind": "skype", "compress": 600}


def model(fields: dict[str, object]) -> Model:
    return TypeAdapter[Model](Model).validate_python(fields)


def draw(fields: dict[str, object], peers: int, end: float, seed: int = 1, join: float = 10.0) -> Sessions:
    return draw_sessions(model(fields), peers, join, end, np.random.default_rng(seed))


def up_at(sessions: Sessions, time: float) -> int:
    return int(((sessions.start <= time) & (time < sessions.end)).sum())


def test_static_peers_join_over_the_join_phase_and_stay() -> None:
    sessions = draw({"kind": "static"}, 4000, 80.0)
    assert sessions.peer.tolist() == list(range(4000))
    assert (sessions.end == 80.0).all()
    assert np.histogram(sessions.start, bins=4, range=(0, 10))[0] == pytest.approx([1000] * 4, rel=0.12)


@pytest.mark.parametrize("fields", [POISSON, PARETO])
def test_a_third_of_the_peers_is_up_from_the_start_to_the_end(fields: dict[str, object]) -> None:
    sessions = draw(fields, 6000, 300.0, join=0.0)
    for time in (0.0, 5.0, 50.0, 150.0, 299.0):
        assert up_at(sessions, time) == pytest.approx(2000, rel=0.08)


def test_poisson_joins_come_at_an_even_rate() -> None:
    sessions = draw(POISSON, 6000, 300.0, join=0.0)
    joins = np.histogram(sessions.start[sessions.start > 0], bins=10, range=(0, 300))[0]
    assert joins == pytest.approx([6000 * 30 / 90] * 10, rel=0.1)


def test_peers_up_at_the_start_join_over_the_join_phase() -> None:
    sessions = draw({"kind": "poisson", "mean_session": "1 h", "mean_gap": "2 h"}, 6000, 100.0)
    first = sessions.start[sessions.number() == 0]
    joins = np.histogram(first, bins=5, range=(0, 10))[0]
    assert up_at(sessions, 0.0) < 20
    assert joins == pytest.approx([400] * 5, rel=0.15)


def test_a_session_shorter_than_the_join_phase_still_happens() -> None:
    peers = np.arange(1000, dtype=np.int32)
    start, end = np.full(1000, -50.0), np.full(1000, 5.0)
    sessions = fit_to_trial(peers, start, end, 100.0, 200.0, np.random.default_rng(1))
    assert len(sessions.peer) >= 998
    assert (sessions.end == 5.0).all()
    assert sessions.start.mean() == pytest.approx(2.5, rel=0.1)


def test_skype_model_has_the_measured_availability_cycle_and_joins() -> None:
    peers = 2081
    _, start, end = skype_sessions(peers, 24 * DAY, 1.0, np.random.default_rng(3))
    hours = np.arange(24 * 24) * HOUR
    online = (np.sort(start).searchsorted(hours, "right") - np.sort(end).searchsorted(hours, "right")).astype(
        float
    )
    assert online.mean() == pytest.approx(690, rel=0.06)
    assert online.mean() / peers == pytest.approx(0.332, rel=0.06)
    by_hour = online.reshape(24, 24).mean(axis=0)
    assert by_hour.min() == pytest.approx(600, rel=0.07)
    assert by_hour.max() == pytest.approx(763, rel=0.07)
    assert 10 <= int(by_hour.argmax()) <= 15
    joins = ((start > 0) & (start < 24 * DAY)).sum() / (24 * 24)
    assert joins == pytest.approx(42.4, rel=0.07)


def test_skype_model_has_the_measured_sessions_and_gaps() -> None:
    peer, start, end = skype_sessions(2081, 28.7 * DAY, 1.0, np.random.default_rng(3))
    length = (end - start)[start > 0] / HOUR
    assert np.median(length) == pytest.approx(5.11, rel=0.06)
    assert length.mean() == pytest.approx(16.27, rel=0.08)
    assert np.log(length).std() == pytest.approx(1.54, rel=0.05)
    order = np.lexsort((start, peer))
    peer, start, end = peer[order], start[order], end[order]
    gap = (start[1:] - end[:-1])[(peer[1:] == peer[:-1]) & (end[:-1] > 0)] / HOUR
    assert gap.mean() == pytest.approx(14.31, rel=0.08)
    assert np.median(gap) == pytest.approx(6.16, rel=0.15)


@pytest.mark.parametrize(
    "lifetime",
    [
        Exponential(10.0),
        Pareto(10.0, 4.5),
        Lognormal(10.0, 0.5),
        Weibull(0.8, 10.0),
        Mixture([(0.8, Exponential(5.0)), (0.2, Exponential(30.0))]),
    ],
)
def test_lifetimes_have_their_mean_and_their_length_bias(lifetime: Lifetime) -> None:
    random = np.random.default_rng(1)
    plain = lifetime.draw(200_000, random)
    biased = lifetime.draw_length_biased(200_000, random)
    assert plain.mean() == pytest.approx(lifetime.mean, rel=0.02)
    assert biased.mean() == pytest.approx((plain**2).mean() / plain.mean(), rel=0.05)
    assert np.median(biased) == pytest.approx(weighted_median(plain), rel=0.03)


def weighted_median(values: np.ndarray) -> float:
    ordered = np.sort(values)
    return float(ordered[np.searchsorted(np.cumsum(ordered), ordered.sum() / 2)])


def test_a_flash_crowd_joins_within_its_moment_and_stays() -> None:
    crowd = FlashCrowd.model_validate({"at": "50 s", "peers": 200, "within": "2 s"})
    sessions = draw_flash_crowd(crowd, 800, 90.0, np.random.default_rng(1))
    assert sessions.peer.tolist() == list(range(800, 1000))
    assert 50 <= sessions.start.min() < 50.2
    assert 51.8 < sessions.start.max() <= 52
    assert (sessions.end == 90.0).all()


def test_too_many_sessions_and_a_window_beyond_the_trace_are_told() -> None:
    tiny = {"kind": "poisson", "mean_session": "1 ms", "mean_gap": "1 ms"}
    assert model(tiny).problems(10_000, 100.0)[0][0] == "mean_session"
    assert model({"kind": "skype", "compress": 1e9}).problems(1000, 100.0)[0][0] == "compress"
    trace = {"kind": "trace", "file": "x", "compress": 60}
    assert model(trace).problems(1000, 34_560.0) == []
    (problem,) = model(trace).problems(1000, 34_561.0)
    assert problem[0] == "compress"
    assert "lower compress to 59.998" in problem[1]
    (problem,) = model(trace | {"start": "25 d"}).problems(1000, 100.0)
    assert problem[0] == "start"


@settings(deadline=None, max_examples=60)
@given(
    fields=st.sampled_from(
        [POISSON, PARETO, SKYPE, {"kind": "pareto", "mean_session": "1 s", "mean_gap": "1 ms"}]
    ),
    peers=st.integers(1, 60),
    join=st.sampled_from([0.0, 3.0, 40.0]),
    end=st.sampled_from([0.5, 40.0, 90.0]),
    seed=st.integers(0, 1000),
)
def test_sessions_of_a_peer_are_in_the_trial_in_order_and_apart(
    fields: dict[str, object], peers: int, join: float, end: float, seed: int
) -> None:
    sessions = draw(fields, peers, end, seed, min(join, end))
    assert ((sessions.start >= 0) & (sessions.end <= end)).all()
    assert (sessions.end - sessions.start >= SHORTEST).all()
    assert ((sessions.peer >= 0) & (sessions.peer < peers)).all()
    same = sessions.peer[1:] == sessions.peer[:-1]
    assert (sessions.peer[1:] >= sessions.peer[:-1]).all()
    assert (sessions.start[1:] > sessions.end[:-1])[same].all()
    again = draw(fields, peers, end, seed, min(join, end))
    assert (again.start == sessions.start).all()
    assert (again.end == sessions.end).all()
