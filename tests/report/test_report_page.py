"""What a reader of a report sees first, and that nothing in a run can harm the page."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.charts.results import ResultsError
from analysis.measures.catalogue import describe
from analysis.report.compare import compare
from analysis.report.report import check_rows, write_report
from emulator.experiment.run.directory import RunDirectory

MakeRun = Callable[..., RunDirectory]
HOSTILE = "<img src=x onerror=alert(1)>\"'</script><script>alert(2)</script>"


class Page(HTMLParser):
    """The visible text of a page in order, and what it would fetch."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.text: list[str] = []
        self.fetched: list[str] = []
        self.tags: list[str] = []
        self._hidden = 0
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._hidden += tag in ("style", "script", "title")
        for name, value in attributes:
            if name in ("src", "href", "xlink:href", "action", "data") and value:
                self.fetched.append(value)

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("style", "script", "title")

    def handle_data(self, data: str) -> None:
        if not self._hidden and data.strip():
            self.text.append(" ".join(data.split()))


def test_an_invalid_trial_and_its_reason_come_first(make_run: MakeRun) -> None:
    page = Page(write_report(make_run(invalid=True)))
    first = " ".join(page.text[:2])
    assert first.startswith("INVALID.")
    assert "vitis.friends=4-2: timer lateness, 99th percentile: 240 ms, limit 100 ms" in first
    assert "use fewer peers" in first


def test_a_valid_run_says_so_first(make_run: MakeRun) -> None:
    page = Page(write_report(make_run()))
    assert " ".join(page.text[:2]) == "Valid. All 12 trials stayed within every fidelity limit."


def test_an_invalid_run_without_recorded_reasons_still_names_the_trial(make_run: MakeRun) -> None:
    run = make_run(invalid=True)
    summary = json.loads(run.summary.read_text())
    run.summary.write_text(json.dumps(summary | {"reasons": []}))
    assert "vitis.friends=4-2: timer lateness" in " ".join(Page(write_report(run)).text[:2])


def test_the_report_shows_what_was_made_of_inputs(make_run: MakeRun) -> None:
    run = make_run()
    plan = run.trial("vitis.friends=4-1").plan
    plan.mkdir(parents=True)
    told = {"said": ["3 hosts, 3 pairs"], "warnings": ["1 pair has an RTT of 0 <b>"]}
    (plan / "inputs.json").write_text(json.dumps({"network.latency": told}))
    page = write_report(run).read_text()
    assert "<li>network.latency: 3 hosts, 3 pairs</li>" in page
    assert "<b>Warning.</b> network.latency: 1 pair has an RTT of 0 &lt;b&gt;" in page


def test_what_has_no_version_is_left_out(make_run: MakeRun) -> None:
    run = make_run()
    summary = json.loads(run.summary.read_text())
    summary["versions"] |= {"git": None, "pyspark": None}
    run.summary.write_text(json.dumps(summary))
    text = Page(write_report(run)).text
    versions = text[text.index("Versions") : text.index("Machine")]
    assert versions == ["Versions", "trellis", "0.1.0", "python", "3.11.2"]


def test_a_title_that_says_its_unit_stands_alone(make_run: MakeRun) -> None:
    run = make_run()
    summary = json.loads(run.summary.read_text())
    summary["measures"]["delay_hops"]["title"] = "Lookup hops, mean"
    run.summary.write_text(json.dumps(summary))
    page = write_report(run).read_text()
    assert ">Lookup hops, mean</th>" in page
    assert "Lookup hops, mean <small>" not in page
    assert ">delay <small>ms</small></th>" in page


def test_stretched_time_is_told_above_the_title(make_run: MakeRun) -> None:
    run = make_run()
    text = run.experiment.read_text()
    stretched = text.replace("{kind: virtual}", "{kind: processes, hosts: 2, time_scale: 4.0}")
    run.experiment.write_text(stretched)
    page = Page(write_report(run))
    told = next(i for i, part in enumerate(page.text) if "time stretched by 4" in part)
    assert told < page.text.index("Friends against overhead")
    assert any("Times are in trial time; 4 times as much passed on the wall" in part for part in page.text)


def test_hostile_names_stay_text(make_run: MakeRun) -> None:
    run = make_run(title=HOSTILE)
    summary = json.loads(run.summary.read_text().replace("vitis.friends=4", "vitis</td><b>"))
    for trial in summary["trials"]:
        trial["reasons"] = [HOSTILE]
    for variant in summary["variants"]:
        variant["values"] = dict.fromkeys(variant["values"], HOSTILE + variant["variant"])
    summary["command"] = HOSTILE
    summary["measures"]["hit_ratio"] |= {"title": HOSTILE, "about": HOSTILE}
    summary["versions"] = {HOSTILE: HOSTILE}
    claim = summary["claims"][0]
    claim |= {"statement": HOSTILE, "differs": [HOSTILE], "why": HOSTILE}
    claim["numbers"][0] |= {"what": HOSTILE, "paper": HOSTILE, "unit": HOSTILE}
    run.summary.write_text(json.dumps(summary))
    path = write_report(run)
    page = Page(path)
    assert HOSTILE in page.text
    assert "img" not in page.tags
    assert "<script>alert" not in path.read_text()


def test_a_report_asks_for_nothing_from_any_network(make_run: MakeRun) -> None:
    path = write_report(make_run())
    page = Page(path)
    assert page.fetched
    assert [address for address in page.fetched if not address.startswith(("#", "data:,"))] == []
    assert re.findall(r"@import|https?://|url\((?!#hatch)", path.read_text()) == []
    assert path.stat().st_size < 500_000


@pytest.mark.parametrize("kind", ["report", "comparison"])
def test_a_page_forbids_the_browser_to_fetch_anything(make_run: MakeRun, tmp_path: Path, kind: str) -> None:
    run = make_run()
    path = write_report(run) if kind == "report" else tmp_path / "compare.html"
    if kind == "comparison":
        compare(run, run, path)
    head = path.read_text().partition("</head>")[0]
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', head)
    allowed = dict(part.strip().partition(" ")[::2] for part in policy.split(";"))
    assert allowed == {
        "default-src": "'none'",
        "style-src": "'unsafe-inline'",
        "script-src": "'unsafe-inline'",
        "img-src": "data:",
    }


def test_measures_claims_and_command_are_told(make_run: MakeRun) -> None:
    text = " ".join(Page(write_report(make_run())).text)
    assert "trellis run experiments/friends.yaml --set peers=200" in text
    assert "27.0 ± 1.6" in text, "overhead of vitis with 4 friends, in percent"
    assert "V2 Overhead of Vitis is below that of RVR. ? other setting Not the paper" in text
    assert "setting: peers is 200, the paper's 10,000. 1 of 2 numbers hold" in text
    assert "✗ delay; the paper: about 331 ms (± 33.1 ms) 516 ms" in text
    assert "✓ overhead; the paper: at most 20 % 15.0 ± 1.0 %" in text
    assert "a flash crowd of 40 peers at 55 s" in text


def test_peers_that_were_away_are_told_with_times_and_what_that_means(make_run: MakeRun) -> None:
    run = make_run()
    assert "Peers that were away" not in " ".join(Page(write_report(run)).text)
    summary = json.loads(run.summary.read_text())
    absence = {"host": "host-7", "peers": 12, "from_s": 31.3, "until_s": 44.0, "back": 11}
    summary["trials"][0]["absences"] = [absence | {"host": f"host-{n}"} for n in range(25)]
    run.summary.write_text(json.dumps(summary))
    text = " ".join(Page(write_report(run)).text)
    assert "300 peers were away for some time" in text
    assert "host-7 12 31.3 s 44 s 11" in text.replace("\u00a0", " ")
    assert "counts neither as missed nor as received" in text
    assert "5 more are in the table" in text and "host-20" not in text


def test_claims_that_an_earlier_version_judged_are_to_be_judged_again(make_run: MakeRun) -> None:
    run = make_run()
    summary = json.loads(run.summary.read_text())
    summary["claims"] = [{"id": "V2", "statement": "", "paper": "", "measured": {}, "holds": True, "why": ""}]
    run.summary.write_text(json.dumps(summary))
    with pytest.raises(ResultsError, match=r"earlier versions.*trellis analyze"):
        write_report(run)


def test_parameters_that_are_varied_together_are_told_in_words(make_run: MakeRun) -> None:
    together = "system.parameters: [{links: outgoing, friends: 4}, {links: both}]"
    run = make_run()
    run.experiment.write_text(
        run.experiment.read_text().replace("system.parameters.friends: [4, 8, 12]", together)
    )
    text = " ".join(Page(write_report(run)).text)
    assert "varied: parameters (outgoing, friends 4), both" in text


def test_keys_that_are_varied_together_are_told_key_by_key(make_run: MakeRun) -> None:
    together = '"peers, system.parameters.friends": [[100, 4], [200, 8], [300, 12]]'
    run = make_run()
    run.experiment.write_text(
        run.experiment.read_text().replace("system.parameters.friends: [4, 8, 12]", together)
    )
    text = " ".join(Page(write_report(run)).text)
    assert "varied: peers 100, 200, 300" in text and "varied: friends 4, 8, 12" in text


@pytest.mark.parametrize(
    "name", ["overhead_histogram", "delay_cdf", "series", "messages", "deliveries", "hops"]
)
def test_a_missing_table_is_named_with_the_command_that_makes_it(make_run: MakeRun, name: str) -> None:
    run = make_run()
    shutil.rmtree(run.tables / name)
    with pytest.raises(ResultsError, match=rf"tables/{name} is missing.*trellis analyze {run.path}"):
        write_report(run)


def rewrite(run: RunDirectory, table: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Replace the rows of a table by what `change` makes of them."""
    for file in (run.tables / table).rglob("*.parquet"):
        rows = pq.read_table(file, partitioning=None).to_pylist()
        pq.write_table(pa.Table.from_pylist([change(row) for row in rows]), file)


def test_a_report_of_lookups_tells_of_lookups_alone(make_run: MakeRun) -> None:
    run = make_run()
    summary = json.loads(run.summary.read_text())
    names = {"hit_ratio": "lookup_success", "delay_ms": "delay_penalty", "overhead": None, "delay_hops": None}
    for part in (summary, *summary["trials"], *summary["variants"]):
        part["measures"] = {
            new: value for old, value in part["measures"].items() if (new := names.get(old, old)) is not None
        }
    summary["measures"] |= {
        name: asdict(describe(name)) for name in ("lookup_success", "delay_penalty", "lookup_hops")
    }
    run.summary.write_text(json.dumps(summary))
    for table in ("overhead_histogram", "deliveries"):
        for folder in (run.tables / table).iterdir():
            shutil.rmtree(folder)
    rewrite(run, "delay_cdf", lambda row: row | {"operation": "lookup"})
    of_events = dict.fromkeys(("hit_ratio", "overhead", "delay_ms"))
    rewrite(run, "series", lambda row: row | of_events | {"lookup_success": 0.99})
    text = " ".join(Page(write_report(run)).text)
    for told in ("Lookups that succeeded", "Relative delay penalty (ratio of means)", "Hops of lookups"):
        assert told in text
    for other in ("Hit ratio", "Traffic overhead", "deliveries", "publication", "Lookup hops", "One event"):
        assert other not in text


def test_a_run_that_was_not_analyzed_says_how(make_run: MakeRun) -> None:
    run = make_run()
    run.summary.unlink()
    with pytest.raises(ResultsError, match=r"summary\.json is missing.*trellis analyze"):
        write_report(run)


def test_a_damaged_table_is_named(make_run: MakeRun) -> None:
    run = make_run()
    next((run.tables / "series").glob("*-1/*.parquet")).write_bytes(b"PAR1 cut off")
    with pytest.raises(ResultsError, match="tables/series cannot be read"):
        write_report(run)


def test_a_trial_without_telemetry_leaves_its_variant_to_the_other_seed(make_run: MakeRun) -> None:
    run = make_run()
    summary = json.loads(run.summary.read_text())
    summary["trials"][0]["measures"] = {}
    run.summary.write_text(json.dumps(summary))
    for table in run.tables.iterdir():
        shutil.rmtree(table / "trial=vitis.friends%3D4-1", ignore_errors=True)
    text = " ".join(Page(write_report(run)).text)
    assert "vitis, friends 4, seed 2" in text and "vitis.friends=4-2" not in text


def test_a_trial_that_failed_before_anything_was_measured_is_told_with_its_reason(make_run: MakeRun) -> None:
    run = make_run()
    summary = json.loads(run.summary.read_text())
    summary["trials"][0] |= {"state": "failed", "reasons": ["exit status 1"], "fidelity": {}, "measures": {}}
    run.summary.write_text(json.dumps(summary))
    assert "exit status 1" in " ".join(Page(write_report(run)).text)


def test_a_report_replaces_the_old_one_at_once(make_run: MakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run()
    write_report(run)
    before = run.report.read_text()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    summary = json.loads(run.summary.read_text())
    run.summary.write_text(json.dumps(summary | {"title": "another"}))
    with pytest.raises(OSError, match="No space"):
        write_report(run)
    assert run.report.read_text() == before


def test_a_check_is_shown_at_the_trial_that_came_closest_to_its_limit(make_run: MakeRun) -> None:
    run = make_run(invalid=True)
    late, lost = check_rows(json.loads(run.summary.read_text())["trials"])
    assert (late.trial, late.measured, late.failed, late.used) == ("vitis.friends=4-2", 240.0, 1, 1.0)
    assert (lost.failed, lost.used) == (0, 0.0)


def test_what_was_not_measured_or_not_told_by_all_is_not_zero(make_run: MakeRun) -> None:
    run = make_run()
    summary = json.loads(run.summary.read_text())
    for trial in summary["trials"]:
        trial["fidelity"]["checks"] += [
            {
                "name": "round trip error",
                "measured": None,
                "limit": 20.0,
                "unit": "ms",
                "detail": "",
                "ok": True,
            },
            {"name": "lost", "measured": 0, "limit": 0, "unit": "spans", "detail": "", "ok": True}
            | {"told_by": "1 of 2 hosts"},
        ]
    summary["trials"][0]["told_by"] = "the hosts that told: 1 of 2"
    run.summary.write_text(json.dumps(summary))
    text = " ".join(Page(write_report(run)).text)
    assert "round trip error not measured 20 ms ? not measured" in text.replace("\N{NO-BREAK SPACE}", " ")
    assert "lost at least 0 spans, told by 1 of 2 hosts" in text.replace("\N{NO-BREAK SPACE}", " ")
    found = text[text.index("Checked, none found") :]
    assert "lost" not in found[: found.index(".")].replace("spans lost", "")
    assert "vitis.friends=4-1: of the hosts that told: 1 of 2" in text
    assert "of those that told" in text


def test_faults_attacks_and_busy_times_of_hosts_are_told_of_a_trial(make_run: MakeRun) -> None:
    run = make_run()
    summary = json.loads(run.summary.read_text())
    split = {"name": "split", "kind": "partition", "asked_begin_s": 40.0, "asked_end_s": 50.0, "waited": 0}
    stopped = split | {"name": "stopped", "kind": "pause", "asked_end_s": None}
    summary["trials"][0]["fidelity"]["faults"] = [
        split | {"begun_s": 40.001, "ended_s": 50.0, "peers": 3, "messages": {"stopped": 7, "crossed": 0}},
        split | {"begun_s": 40.0, "ended_s": 49.996, "peers": 2, "messages": {"stopped": 1, "crossed": 0}},
        stopped | {"begun_s": 40.002, "ended_s": None, "peers": 1, "waited": 1200},
        stopped | {"begun_s": None, "ended_s": None, "peers": 0, "waited": 0},
        split
        | {"name": "attack", "kind": "delay", "begun_s": 40.003, "ended_s": 50.0, "peers": 4}
        | {"messages": {"dropped": 2, "delayed": 31, "made": 0}},
    ]
    slow = {"host": "host-0", "processing_class": "slow", "messages": 20, "asked_s": 0.4, "achieved_s": 0.5}
    summary["trials"][0]["fidelity"]["processing"] = [slow]
    run.summary.write_text(json.dumps(summary))
    text = " ".join(Page(write_report(run)).text).replace("\N{NO-BREAK SPACE}", " ")
    assert "split partition 40 s 50 s 2 of 2 4 ms 5 8 stopped, 0 crossed" in text
    assert "stopped pause 40 s the end 1 of 2 2 ms 1 1,200 waited" in text
    assert "attack delay 40 s 50 s 1 of 1 3 ms 4 2 dropped, 31 delayed" in text
    assert "host-0 slow 20 0.4 s 0.5 s 20 ms 25 ms" in text


def test_a_run_in_which_nothing_was_measured_has_a_report_with_the_reason(make_run: MakeRun) -> None:
    run = make_run()
    summary = json.loads(run.summary.read_text())
    reason = "hosts with an error: 1 hosts, limit 0 hosts (host-0: netem is refused: no sch_netem)"
    for trial in summary["trials"]:
        trial |= {"measures": {}, "valid": False, "state": "invalid", "reasons": [reason]}
    for variant in summary["variants"]:
        variant["measures"] = {}
    summary |= {"valid": False, "measures": {}, "reasons": [f"vitis.friends=4-1: {reason}"], "claims": []}
    run.summary.write_text(json.dumps(summary))
    shutil.rmtree(run.tables)
    page = Page(write_report(run))
    assert "netem is refused" in " ".join(page.text[:2])
    assert "Nothing was measured." in page.text
