"""Makes the network of a trial from a drawn or measured matrix."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from operator import index
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from emulator.contract.mistakes import code_of
from emulator.contract.random_streams import generator
from emulator.files.trace_error import TraceError
from emulator.network.model import LatencyModel
from emulator.network.peer_network import Network
from emulator.network.rate_change import RateChange
from emulator.network.regions import draw_regions
from emulator.network.spec import NetworkSpec


def place(peers: int, hosts: int, random: np.random.Generator) -> NDArray[np.int32]:
    """Draw a host for each peer; the numbers of peers at any two hosts differ by one at most."""
    rounds = -(-peers // hosts)
    return np.concatenate([random.permutation(hosts) for _ in range(rounds)])[:peers].astype(np.int32)


def draw_locations(spec: NetworkSpec, peers: int, seed: int) -> NDArray[np.int32]:
    """Draw the row of the latency matrix for each of a trial's peers."""
    with code_of(spec.latency, "counted no hosts", TraceError):
        hosts = index(spec.latency.host_count())
        if hosts < 1:
            raise ValueError(f"{hosts} hosts are none")
    random = generator(seed, "plan", "locations")
    drawn = spec.latency.draw_places(peers, random)
    return place(peers, hosts, random) if drawn is None else drawn


def draw_regions_of(
    spec: NetworkSpec, location: NDArray[np.int32], peers: int, seed: int
) -> NDArray[np.str_]:
    """Return the region of each peer, that of its place or one that is drawn; empty if there are none."""
    if spec.regions:
        location = draw_regions(spec.regions, peers, generator(seed, "plan", "own regions"))
    names = np.array([region.name for region in spec.regions] or spec.latency.region_names, dtype=str)
    return names[location] if len(names) else names


def build_network(
    spec: NetworkSpec,
    locations: Sequence[int],
    seed: int,
    link_classes: Sequence[int] = (),
    changes: Sequence[RateChange] = (),
) -> Network:
    """Return the network of a trial; `locations` is the plan's column, one row of the matrix for each peer.

    It has the places of the matrix alone at which there are peers, because a matrix may have thousands more.

    `link_classes` is the plan's column, which is needed to send messages where links have a bandwidth, and
    `changes` are those of their rates.

    Raises TraceError for a bad matrix file, ValueError for a location that the matrix does not have.
    """
    hosts = index(spec.latency.host_count())
    if len(locations) and not 0 <= min(locations) <= max(locations) < hosts:
        raise ValueError(f"a peer's location is not one of the {hosts} hosts of the matrix")
    used, places = np.unique(np.asarray(locations, np.intp), return_inverse=True)
    rows = _delays(spec.latency, spec, seed, used)
    losses = spec.latency.losses()
    lost = [] if losses is None else _arrays(losses[np.ix_(used, used)])
    if not any(map(any, lost)):
        lost = []
    later = [(each.at, _delays(each.latency, spec, seed, used)) for each in spec.later]
    return Network(rows, places.tolist(), spec, link_classes, seed, changes, lost, later)


def _delays(
    latency: LatencyModel, spec: NetworkSpec, seed: int, places: NDArray[np.intp]
) -> list[array[float]]:
    """Return the one-way delays (s) of a model between these of its places, a row from each."""
    whole = checked_matrix(latency, seed)
    rtt = whole[np.ix_(places, places)]
    if latency.zeros_are_one_place:
        rtt[rtt == 0] = spec.same_host_rtt
    one_way = rtt / 2
    at_one_place = np.broadcast_to(latency.rtt_at_one_place(spec.same_host_rtt), len(whole))
    np.fill_diagonal(one_way, at_one_place[places] / 2)
    return _arrays(one_way)


def _arrays(matrix: NDArray[np.floating[Any]]) -> list[array[float]]:
    """Return the rows, as exact as they are."""
    kind: Literal["f", "d"] = "f" if matrix.dtype == np.float32 else "d"
    return [array(kind, row.astype(kind, copy=False).tobytes()) for row in matrix]


def checked_matrix(latency: LatencyModel, seed: int) -> NDArray[np.floating[Any]]:
    """Return the RTTs (s) of a model. Raises ValueError if a package's model made an impossible matrix."""
    with code_of(latency, "made no matrix", ValueError, TraceError):
        rtt, hosts = latency.matrix(seed), latency.host_count()
        if not isinstance(rtt, np.ndarray):
            raise TypeError(f"{rtt!r:.80} is no array")
    these = f"network.latency: kind {getattr(latency, 'kind', '?')}"
    if rtt.shape != (hosts, hosts):
        raise ValueError(f"{these} made a matrix of {rtt.shape} where {hosts} hosts need {(hosts, hosts)}")
    impossible = ~(np.isfinite(rtt) & (rtt >= 0))
    np.fill_diagonal(impossible, False)
    if impossible.any():
        raise ValueError(f"{these} made an RTT that is below 0, or no number")
    return rtt
