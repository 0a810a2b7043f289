"""The metrics of the recorder: totals of intervals, and snapshots of peers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from opentelemetry.proto.metrics.v1 import metrics_pb2
from recorded_telemetry import START, points, recorder, sent

from emulator.contract.protocol import Component
from emulator.telemetry import names
from emulator.telemetry.otlp_files import read_records
from trellis.v1.overlay import Goodbye


class Part(Component):
    """A component that tells gauges and links."""

    def __init__(
        self, gauges: Mapping[str, float] | None = None, links: Mapping[str, Sequence[int]] | None = None
    ) -> None:
        self._gauges = dict(gauges or {})
        self._links = links or {}

    def start(self, contacts: Sequence[int]) -> None: ...

    def stop(self, graceful: bool) -> None: ...

    def gauges(self) -> dict[str, float]:
        return self._gauges

    def neighbours(self) -> Mapping[str, Sequence[int]]:
        return self._links


def test_an_interval_tells_the_totals_of_the_host_by_message_channel_and_traffic(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    sent(tested, 1, True, 10)
    sent(tested, 2, True, 30)
    sent(tested, 2, False, 7)
    sent(tested, 2, False, 8, channel="overlay")
    tested.tallies.on("").tally(Goodbye(), traced=False).add(tested.tallies.place(2), 3, 6)
    tested.write_interval(5, peers_up=9, dropped_envelopes=4)
    tested.close()
    found = points(tmp_path)

    def by_type(metric: str) -> dict[tuple[str, ...], float]:
        keys = (names.MESSAGE_TYPE, names.MESSAGE_KIND, names.CHANNEL, names.TRAFFIC)
        return {tuple(a.get(key, "") for key in keys): value for a, value in found[metric]}

    assert by_type(names.SENT_MESSAGES) == {
        ("Pull", "notification", "", "operation"): 2,
        ("Pull", "notification", "", "maintenance"): 1,
        ("Pull", "notification", "overlay", "maintenance"): 1,
        ("Goodbye", "maintenance", "", "maintenance"): 3,
    }
    assert by_type(names.SENT_BYTES) == {
        ("Pull", "notification", "", "operation"): 40,
        ("Pull", "notification", "", "maintenance"): 7,
        ("Pull", "notification", "overlay", "maintenance"): 8,
        ("Goodbye", "maintenance", "", "maintenance"): 6,
    }
    assert found[names.PEERS_UP] == [({}, 9)]
    assert found[names.DROPPED] == [({}, 4)]
    assert found[names.LOST_SPANS] == [({}, 0)]


def test_every_metric_of_a_trial_has_unit_and_description(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    sent(tested, 1, True, 10)
    tested.lost.on("").tally(Goodbye(), traced=False).add(0, 1, 7)
    tested.take_identifier(1, "", 5, 255, "xor")
    tested.write_interval(5, peers_up=1, dropped_envelopes=0)
    assert list(tested.write_snapshot(6, [(1, [("", Part(links={"friend": [2]}))])]))
    tested.close()
    found = [
        (metric.name, metric.unit, metric.description)
        for record in read_records(tmp_path / "h1-metrics-0.otlp")
        for resource in metrics_pb2.MetricsData.FromString(record).resource_metrics
        for metric in resource.scope_metrics[0].metrics
    ]
    assert {name: unit for name, unit, _ in found} == {
        names.SENT_MESSAGES: "{message}",
        names.SENT_BYTES: "By",
        names.LOST_MESSAGES: "{message}",
        names.LOST_BYTES: "By",
        names.LOST_SPANS: "{span}",
        names.DROPPED: "{envelope}",
        names.PEERS_UP: "{peer}",
        names.PEER_SENT_MESSAGES: "{message}",
        names.PEER_SENT_BYTES: "By",
        names.LINK: "{link}",
        names.TAKEN_IDENTIFIER: "{identifier}",
    }
    assert all(description.endswith(".") for _, _, description in found)


def test_a_snapshot_tells_counters_states_and_links_of_each_peer_by_channel(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    sent(tested, 1, True, 10, channel="overlay")
    tested.tallies.on("").tally(Goodbye(), traced=False)
    links: Mapping[str, Sequence[int]] = {"friend": [2, 5], "successor": [2], "predecessor": []}
    components = [("overlay", Part({"links": 3.0}, links)), ("", Part({"utility": 0.5}))]
    assert list(tested.write_snapshot(5, [(1, components), (2, [("", Part())])]))
    tested.close()
    found = points(tmp_path)
    at_overlay = {names.PEER: 1, names.CHANNEL: "overlay"}
    counted = {
        names.MESSAGE_TYPE: "Pull",
        names.MESSAGE_KIND: "notification",
        names.TRAFFIC: "operation",
    } | at_overlay
    assert found[names.PEER_SENT_MESSAGES] == [(counted, 1)]
    assert found[names.PEER_SENT_BYTES] == [(counted, 10)]
    assert found[names.STATE + "utility"] == [({names.PEER: 1}, 0.5)]
    assert found[names.STATE + "links"] == [(at_overlay, 3.0)]
    assert found[names.LINK] == [
        (at_overlay | {names.NEIGHBOUR: other, names.KIND: kind}, 1)
        for other, kind in ((2, "friend"), (5, "friend"), (2, "successor"))
    ]


def test_identifiers_are_told_with_the_time_at_which_they_were_taken(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    for number in range(600):
        tested.take_identifier(number, "overlay", number, number << 100, "ring")
    tested.take_identifier(0, "", 7_000, 255, "xor")
    tested.close()
    found = points(tmp_path)[names.TAKEN_IDENTIFIER]
    assert len(found) == 601
    assert found[5] == (
        {
            names.PEER: 5,
            names.CHANNEL: "overlay",
            names.IDENTIFIER: f"{5 << 100:x}",
            names.SPACE: "ring",
        },
        1,
    )
    assert found[-1] == ({names.PEER: 0, names.IDENTIFIER: "ff", names.SPACE: "xor"}, 1)
    times = [
        point.time_unix_nano - START
        for record in read_records(tmp_path / "h1-metrics-0.otlp")
        for metric in metrics_pb2.MetricsData.FromString(record).resource_metrics[0].scope_metrics[0].metrics
        for point in metric.gauge.data_points
    ]
    assert times == [*range(600), 7_000]


def test_a_large_snapshot_is_split_and_whole(tmp_path: Path) -> None:
    tested = recorder(tmp_path)
    peers = [(peer, [("", Part({"a": peer}, {"friend": list(range(10))}))]) for peer in range(5000)]
    assert list(tested.write_snapshot(5, peers))
    tested.close()
    assert len(list(read_records(tmp_path / "h1-metrics-0.otlp"))) > 1
    found = points(tmp_path)
    assert [value for _, value in found[names.STATE + "a"]] == [float(peer) for peer in range(5000)]
    assert len(found[names.LINK]) == 50_000
