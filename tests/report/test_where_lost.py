"""The section of the report on where deliveries were missed and messages stopped."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.charts.results import Results
from analysis.contract.figures import Lead, Rows
from analysis.report.losses import (
    ASKED_STOPPED,
    GET_EMPTY,
    GET_EMPTY_STOPPED,
    LOOKUP_STOPPED,
    NEVER_LEFT,
    NEVER_SENT,
    NOT_DELIVERED,
    NOWHERE,
    STOPPED,
    STOPPED_ELSEWHERE,
    UNANSWERED,
    WORD_ALONE,
    WRONG_PEER,
    WRONG_PEER_STOPPED,
    losses_of,
)
from analysis.report.report import write_report
from analysis.report.where_lost import WHERE_LOST
from emulator.experiment.run.directory import RunDirectory

TRIAL = "vitis.friends=4-1"
OPERATIONS = [
    ("publish", 1, None), ("publish", 2, None), ("publish", 3, None), ("lookup", None, 1),
    ("lookup", None, 3), ("get", None, None), ("put", None, None),
]  # fmt: skip
"""The operation, event and lookup of the traces 1 to 7; the get and the put have the number 8."""


def put(run: RunDirectory, table: str, rows: Sequence[Mapping[str, Any]], schema: pa.Schema = None) -> None:
    folder = run.tables / table / f"trial={TRIAL.replace('=', '%3D')}"
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema), folder / "part-00000.parquet")


def mark(name: str, trace: int | None, subject: int, unit: str = "bytes") -> dict[str, Any]:
    operation = None if trace is None else bytes([trace]) * 16
    return {
        "name": name, "value": 100.0, "unit": unit, "peer": 10, "subject": subject, "trace": operation,
    }  # fmt: skip


@pytest.fixture
def lossy(make_run: Callable[..., RunDirectory]) -> RunDirectory:
    """One trial with three events of peer 10, one lookup, and messages that were stopped."""
    run = make_run()
    summary = json.loads(run.summary.read_text())
    summary["trials"] = [trial for trial in summary["trials"] if trial["trial"] == TRIAL]
    run.summary.write_text(json.dumps(summary))
    faults = [{"name": "split"}, {"name": "slow"}, {"name": "cut duplicates"}, {"name": "delays"}]
    run.experiment.write_text(f"{run.experiment.read_text()}\nfaults: {json.dumps(faults)}\n")
    due = {"publisher": 10, "published_s": 50.0, "expected": True, "delay_ms": None}
    wanted = [(1, peer) for peer in (10, 11, 12, 13, 14, 15, 16)] + [(2, 11), (2, 12), (3, 11)]
    put(run, "deliveries", [due | {"event": e, "peer": p, "delivered": (e, p) == (1, 11)} for e, p in wanted])
    got = [(1, 11, 1), (1, 13, 1), (1, 14, 0), (2, 12, 0), (2, 99, 1)]
    put(run, "handled", [{"event": e, "peer": p, "copies": c, "publisher": 10} for e, p, c in got])
    put(run, "operations", [
        {"trace": bytes([number]) * 16, "operation": operation, "event": event, "lookup": lookup,
         "number": 8 if number > 5 else None}
        for number, (operation, event, lookup) in enumerate(OPERATIONS, 1)
    ], pa.schema([
        ("trace", pa.binary()), ("operation", pa.string()), ("event", pa.int32()), ("lookup", pa.int32()),
        ("number", pa.int64()),
    ]))  # fmt: skip
    put(run, "observations", [
        mark("network loss", 1, 12), mark("network loss", 1, 12), mark("up link drop", 1, 12),
        mark("fault split", 4, 20), mark("fault split", None, 21), mark("fault split", None, 21),
        mark("attack black-hole", None, 30, "messages"), mark("fault slow delays", 2, 11),
        mark("fault split begins", None, 11, "s"), mark("attack delay", 2, 11, "messages"),
    ], pa.schema([
        ("name", pa.string()), ("value", pa.float64()), ("unit", pa.string()), ("peer", pa.int32()),
        ("subject", pa.int64()), ("trace", pa.binary()),
    ]))  # fmt: skip
    put(run, "lost_messages", [
        {"message": "Ping", "kind": "maintenance", "channel": "", "traffic": "maintenance", "sent": 9,
         "lost": 7, "lost_bytes": 70},
    ])  # fmt: skip
    asked = {"origin": 10, "counted": True, "right": False, "delivered": False}
    lookups = [
        asked | {"lookup": 1}, asked | {"lookup": 2}, asked | {"lookup": 3, "delivered": True},
        asked | {"lookup": 4, "right": True, "delivered": True}, asked | {"lookup": 5, "counted": False},
    ]  # fmt: skip
    put(run, "lookups", lookups)
    plan = run.trial(TRIAL).plan
    plan.mkdir(parents=True)
    regions = {10: "eu", 12: "us", 20: "us", 21: "eu", 11: "eu"}
    peers = [{"peer": p, "region": r, "attacker": p == 11} for p, r in regions.items()]
    pq.write_table(pa.Table.from_pylist(peers), plan / "peers.parquet")
    return run


def tables(run: RunDirectory) -> dict[str, list[list[str]]]:
    """Return the rows of each table, by the heading of its first column."""
    blocks = [block for block in WHERE_LOST.write(Results.read(run)) if isinstance(block, Rows)]
    return {
        "/".join(block.columns[1:3]): [[" ".join(cell.split()) for cell in row[1:]] for row in block.rows]
        for block in blocks
    }


def test_each_missed_delivery_and_lookup_has_the_cause_that_its_trace_tells(lossy: RunDirectory) -> None:
    found = losses_of(Results.read(lossy), TRIAL)
    assert found.expected == 6 + 3 + 4
    assert found.causes == {
        f"{STOPPED}: network loss": 1,
        NOT_DELIVERED: 1,
        WORD_ALONE: 2,
        f"{STOPPED_ELSEWHERE}: network loss": 2,
        NEVER_SENT: 1,
        NEVER_LEFT: 1,
        f"{LOOKUP_STOPPED}: fault split": 1,
        WRONG_PEER: 1,
        NOWHERE: 1,
    }
    assert found.missed_at == {10: 3, 11: 2, 12: 2, 13: 1, 14: 1, 15: 1, 16: 1}


@pytest.mark.parametrize(
    ("end", "subject", "cause"),
    [
        (12, 13, f"{STOPPED_ELSEWHERE}: fault split"),  # from a peer without a copy, as a request is
        (13, 12, f"{STOPPED_ELSEWHERE}: fault split"),
        (13, 14, NEVER_SENT),  # both got copies, by other ways
        (10, 13, NEVER_SENT),  # the publisher needs no copy
    ],
)
def test_a_message_of_another_peer_is_a_cause_only_if_that_peer_got_no_copy(
    lossy: RunDirectory, end: int, subject: int, cause: str
) -> None:
    missed = {"event": 1, "peer": 11, "publisher": 10, "expected": True, "delivered": False}
    put(lossy, "deliveries", [missed])
    put(lossy, "handled", [{"event": 1, "peer": p, "copies": 1, "publisher": 10} for p in (13, 14)])
    put(lossy, "observations", [mark("fault split", 1, subject) | {"peer": end}])
    put(lossy, "lookups", [{"lookup": 1, "counted": False}])
    assert losses_of(Results.read(lossy), TRIAL).causes == {cause: 1}


@pytest.mark.parametrize("name", ["down link drop", "processing drop"])
def test_what_the_receiver_marks_was_stopped_on_the_way_to_it(lossy: RunDirectory, name: str) -> None:
    put(lossy, "observations", [mark(name, 1, 10) | {"peer": 12}])
    found = losses_of(Results.read(lossy), TRIAL)
    assert found.stops == {(name, "publish", 10, 12): (1, 100)}
    assert found.causes[f"{STOPPED}: {name}"] == 1


def test_a_peer_on_the_way_that_was_down_is_a_cause(lossy: RunDirectory) -> None:
    put(lossy, "observations", [mark("peer down", 1, 12), mark("peer down", 4, 30)])
    causes = losses_of(Results.read(lossy), TRIAL).causes
    assert causes[f"{STOPPED}: peer down"] == causes[f"{LOOKUP_STOPPED}: peer down"] == 1
    assert causes[f"{STOPPED_ELSEWHERE}: peer down"] == 2 and causes[NEVER_SENT] == 1


def test_a_lookup_that_ended_at_the_wrong_peer_says_if_a_message_of_it_was_stopped(
    lossy: RunDirectory,
) -> None:
    put(lossy, "observations", [mark("peer down", 5, 30)])
    causes = losses_of(Results.read(lossy), TRIAL).causes
    assert causes[f"{WRONG_PEER_STOPPED}: peer down"] == 1 and WRONG_PEER not in causes


def test_puts_and_gets_that_failed_have_causes(lossy: RunDirectory) -> None:
    asked = {"peer": 40, "counted": True}
    put(lossy, "observations", [mark("peer down", 6, 30), mark("network loss", 7, 30)])
    put(lossy, "gets", [
        asked | {"get": 8, "version": None, "newest": 1},
        asked | {"get": 9, "version": None, "newest": 1},
        asked | {"get": 10, "version": 0.0, "newest": 1},
        asked | {"get": 11, "version": 1.0, "newest": 2},  # found an old version
        asked | {"get": 12, "version": None, "newest": None},  # nothing was stored before
        asked | {"get": 13, "version": None, "newest": 1, "counted": False},
    ])  # fmt: skip
    stored = [
        asked | {"put": number, "copies": copies} for number, copies in ((8, None), (9, 0.0), (10, 2.0))
    ]
    put(lossy, "puts", stored)
    found = losses_of(Results.read(lossy), TRIAL)
    assert found.expected == 6 + 3 + 4 + 4 + 3 and found.missed_at[40] == 5
    assert found.causes[f"{ASKED_STOPPED.format('get')}: peer down"] == 1
    assert found.causes[f"{ASKED_STOPPED.format('put')}: network loss"] == 1
    assert found.causes[UNANSWERED.format("get")] == found.causes[UNANSWERED.format("put")] == 1
    assert found.causes[GET_EMPTY] == 1
    put(lossy, "gets", [asked | {"get": 8, "version": 0.0, "newest": 1}])
    assert losses_of(Results.read(lossy), TRIAL).causes[f"{GET_EMPTY_STOPPED}: peer down"] == 1


def test_messages_that_were_stopped_are_told_by_reason_operation_and_region(lossy: RunDirectory) -> None:
    found = tables(lossy)
    assert found["Reason/In"] == [
        ["network loss", "maintenance", "7", "70 bytes"],
        ["network loss", "publish", "2", "200 bytes"],
        ["fault split", "maintenance", "2", "200 bytes"],
        ["up link drop", "publish", "1", "100 bytes"],
        ["fault split", "lookup", "1", "100 bytes"],
        ["attack black-hole", "maintenance", "1", "—"],
    ]
    assert found["Reason/Way"] == [
        ["network loss", "eu to us", "2", "200 bytes"],
        ["fault split", "eu to eu", "2", "200 bytes"],
        ["up link drop", "eu to us", "1", "100 bytes"],
        ["fault split", "eu to us", "1", "100 bytes"],
    ]
    assert found["Region/Missed"] == [["eu", "5"], ["us", "2"]]


def test_a_fault_may_be_named_as_the_marks_of_messages_that_go_on_end(lossy: RunDirectory) -> None:
    names = ["fault cut duplicates", "fault delays", "fault delays delays", "fault split duplicates"]
    put(lossy, "observations", [mark(name, 1, 12) for name in [*names, "fault slow corrupts"]])
    found = losses_of(Results.read(lossy), TRIAL)
    stopped = {"fault cut duplicates", "fault delays", "fault slow corrupts"}
    assert {name for name, *_ in found.stops} == stopped


def test_without_operations_all_that_was_stopped_is_maintenance(lossy: RunDirectory) -> None:
    shutil.rmtree(lossy.tables / "operations" / f"trial={TRIAL.replace('=', '%3D')}")
    found = losses_of(Results.read(lossy), TRIAL)
    assert {operation for _, operation, *_ in found.stops} == {"maintenance"}
    assert sum(count for count, _ in found.stops.values()) == 7


def test_of_the_ways_between_regions_those_with_the_most_messages_are_told(lossy: RunDirectory) -> None:
    plan = lossy.trial(TRIAL).plan / "peers.parquet"
    peers = [{"peer": p, "region": f"r{p}", "attacker": False} for p in range(100)]
    pq.write_table(pa.Table.from_pylist(peers), plan)
    marks = [mark("network loss", None, subject) for subject in range(20, 60)]
    put(lossy, "observations", [*marks, *(mark("network loss", 1, 59),) * 2])
    ways = tables(lossy)["Reason/Way"]
    assert len(ways) == 20 and ways[0] == ["network loss", "r10 to r59", "3", "300 bytes"]


def test_no_peer_is_named_where_nothing_was_missed(lossy: RunDirectory) -> None:
    due = {"event": 1, "peer": 11, "publisher": 10, "expected": True, "delivered": True}
    put(lossy, "deliveries", [due])
    put(lossy, "lookups", [{"lookup": 1, "counted": False}])
    found = tables(lossy)
    assert "Reason/In" in found and "Peer/Missed" not in found


def test_the_peers_that_missed_most_are_named_with_what_ended_at_them(lossy: RunDirectory) -> None:
    rows = tables(lossy)["Peer/Missed"]
    assert rows[:3] == [
        ["10, eu", "3", "7", "0"],
        ["12, us", "2", "0", "3"],
        ["11, eu, attacker", "2", "0", "0"],
    ]


def test_the_first_sentence_has_the_commonest_reason_whichever_peer_did_not_get_the_message(
    lossy: RunDirectory,
) -> None:
    lead = next(block for block in WHERE_LOST.write(Results.read(lossy)) if isinstance(block, Lead))
    start = "Where messages were lost: 84.6 % of what was expected was missed (of these, 27.3 % where a "
    assert " ".join(lead.text.split()).startswith(f"{start}message was stopped: network loss)")


def test_the_head_of_the_page_has_that_sentence_too(make_run: Callable[..., RunDirectory]) -> None:
    page = write_report(make_run()).read_text()
    head = page[page.index('id="outcome"') : page.index('id="where-lost"')]
    assert "Where messages were lost: vitis, friends 4 missed most, 33.3" in head
    assert "5 more variants missed some" in head


def test_a_run_in_which_nothing_was_lost_has_no_such_section(make_run: Callable[..., RunDirectory]) -> None:
    run = make_run()
    for trial in json.loads(run.summary.read_text())["trials"]:
        folder = run.tables / "deliveries" / f"trial={trial['trial'].replace('=', '%3D')}"
        due = {"event": 5, "publisher": 10, "peer": 11, "expected": True, "delivered": True}
        pq.write_table(pa.Table.from_pylist([due]), folder / "part-00000.parquet")
    assert not list(WHERE_LOST.write(Results.read(run)))
