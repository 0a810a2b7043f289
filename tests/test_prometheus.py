"""A real Prometheus reads the metrics of a release, answers the dashboards, and raises the chart's alerts.

Needs in TRELLIS_PROMTOOL and TRELLIS_PROMETHEUS the programs of these names.
"""

from __future__ import annotations

import json
import math
import os
import re
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
import yaml
from chart_rendering import CHART, find, needs_helm, render
from metrics_of_release import collectors
from test_dashboard import DASHBOARDS, targets, variables

from emulator.network import metrics_server

PROMTOOL, PROMETHEUS = (os.environ.get(f"TRELLIS_{name}", "") for name in ("PROMTOOL", "PROMETHEUS"))
RULES = CHART / "rules" / "alerts.yaml"
_LIMIT = 60.0
_SCRAPES = 4
"""The scrapes after which a rate has a value."""
needs_promtool = pytest.mark.skipif(not PROMTOOL, reason="TRELLIS_PROMTOOL names no program promtool")
needs_prometheus = pytest.mark.skipif(not PROMETHEUS, reason="TRELLIS_PROMETHEUS names no program prometheus")


def promtool(*arguments: str, text: str = "") -> str:
    """Run promtool, which has to end with status 0, and return what it says."""
    done = subprocess.run([PROMTOOL, *arguments], input=text, capture_output=True, text=True, timeout=_LIMIT)
    assert not done.returncode, done.stdout + done.stderr
    return done.stdout


@needs_promtool
def test_names_units_and_helps_of_all_metrics_are_as_prometheus_wants_them() -> None:
    with metrics_server.serve("127.0.0.1:0", collectors()) as server:
        promtool("check", "metrics", text=_read(f"http://127.0.0.1:{server.port}/metrics"))


@needs_promtool
def test_the_file_of_alerts_is_one_of_prometheus() -> None:
    assert "7 rules found" in promtool("check", "rules", "--lint-fatal", str(RULES))


@needs_helm
@needs_promtool
def test_the_alerts_of_a_release_are_rules_of_prometheus_about_that_release_alone(tmp_path: Path) -> None:
    rule = find(render({"prometheus": {"rules": {"enabled": True}}}), "PrometheusRule", "demo")
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rule["spec"]))
    promtool("check", "rules", "--lint-fatal", str(tmp_path / "rules.yaml"))
    for alert in rule["spec"]["groups"][0]["rules"]:
        selectors = re.findall(r"trellis_\w+\{([^}]*)\}", alert["expr"])
        assert selectors and all('release="demo"' in selector for selector in selectors)
        assert alert["expr"].count("trellis_") == len(selectors)


TRIAL = 'release="demo", trial="vitis-1"'
HEALTHY = {
    f'trellis_trial_info{{{TRIAL}, state="running", system="vitis"}}': "1x60",
    f"trellis_peers_up{{{TRIAL}}}": "200x60",
    f"trellis_messages_sent_total{{{TRIAL}}}": "0+50x60",
    f'trellis_hosts{{{TRIAL}, state="ready"}}': "20x60",
    f'trellis_hosts{{{TRIAL}, state="lost"}}': "0x60",
    f"trellis_spans_lost_total{{{TRIAL}}}": "0x60",
    'trellis_volume_free_bytes{release="demo"}': "5e9x60",
    'trellis_volume_size_bytes{release="demo"}': "10e9x60",
    'trellis_run_trials{release="demo", state="valid"}': "3x60",
    'trellis_run_trials{release="demo", state="invalid"}': "0x60",
    'trellis_refused_total{release="demo", program="gate", reason="bad_token"}': "0x60",
    'trellis_run_ended{release="demo"}': "0x60",
    'trellis_run_analyzed{release="demo"}': "0x60",
}
"""The values of a release at which nothing is wrong, one a minute."""
STARTING = f'trellis_trial_info{{{TRIAL}, state="starting", system="vitis"}}'
RUNNING = f'trellis_trial_info{{{TRIAL}, state="running", system="vitis"}}'
LOST = f'trellis_hosts{{{TRIAL}, state="lost"}}'
INVALID = 'trellis_run_trials{release="demo", state="invalid"}'
REFUSED = 'trellis_refused_total{release="demo", program="gate", reason="bad_token"}'
ENDED, ANALYZED = 'trellis_run_ended{release="demo"}', 'trellis_run_analyzed{release="demo"}'
FAULTS: dict[str, tuple[str, dict[str, str]]] = {
    "hosts that do not get ready": ("TrellisTrialStalled", {RUNNING: "_x60", STARTING: "1x60"}),
    "peers that send nothing": ("TrellisTrialStalled", {f"trellis_messages_sent_total{{{TRIAL}}}": "7x60"}),
    "a host that is lost": ("TrellisHostLost", {LOST: "0x10 1x50"}),
    "spans that are lost": ("TrellisSpansLost", {f"trellis_spans_lost_total{{{TRIAL}}}": "0x10 3x50"}),
    "a full volume": ("TrellisVolumeNearlyFull", {'trellis_volume_free_bytes{release="demo"}': "0.9e9x60"}),
    "a stranger that goes on": ("TrellisStrangersRefused", {REFUSED: "0x10 0+20x50"}),
    "an invalid trial": ("TrellisTrialInvalid", {INVALID: "0x10 1x50"}),
    "an analysis that does not come": ("TrellisAnalysisFailed", {ENDED: "0x5 1x55"}),
}
"""The alert that is raised by each fault, and the values that differ then."""
PASSING: dict[str, dict[str, str]] = {
    "nothing": {},
    "a start of some minutes": {RUNNING: "_x8 1x52", STARTING: "1x8 _x52"},
    "no peer is up yet": {
        f"trellis_peers_up{{{TRIAL}}}": "0x60",
        f"trellis_messages_sent_total{{{TRIAL}}}": "0x60",
    },
    "a stranger that tries a few times": {REFUSED: "0x20 5x40"},
    "an analysis of some minutes": {ENDED: "0x5 1x55", ANALYZED: "0x25 1x35"},
}


def alerts_at(minutes: Sequence[int], changes: dict[str, str], folder: Path) -> set[str]:
    """Return the alerts that are raised at one of these minutes of these values."""
    names = [rule["alert"] for rule in yaml.safe_load(RULES.read_text())["groups"][0]["rules"]]
    series = [{"series": name, "values": values} for name, values in (HEALTHY | changes).items()]
    none = [
        {"eval_time": f"{minute}m", "alertname": name, "exp_alerts": []}
        for minute in minutes
        for name in names
    ]
    test = {"interval": "1m", "input_series": series, "alert_rule_test": none}
    asked = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]}
    (folder / "test.yaml").write_text(yaml.safe_dump(asked))
    command = [PROMTOOL, "test", "rules", str(folder / "test.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT)
    raised = set(re.findall(r"alertname: (\w+), time", done.stdout + done.stderr))
    assert done.returncode == bool(raised), done.stdout + done.stderr
    return raised


@needs_promtool
@pytest.mark.parametrize(("alert", "changes"), FAULTS.values(), ids=FAULTS.keys())
def test_each_fault_raises_its_alert_and_no_other(
    alert: str, changes: dict[str, str], tmp_path: Path
) -> None:
    assert alerts_at([50], changes, tmp_path) == {alert}


@needs_promtool
@pytest.mark.parametrize("changes", PASSING.values(), ids=PASSING.keys())
def test_what_is_healthy_or_passes_raises_none(changes: dict[str, str], tmp_path: Path) -> None:
    assert alerts_at([20, 32, 50], changes, tmp_path) == set()


def test_every_alert_has_a_fault_that_raises_it() -> None:
    rules = yaml.safe_load(RULES.read_text())["groups"][0]["rules"]
    assert {rule["alert"] for rule in rules} == {alert for alert, _ in FAULTS.values()}


def _read(address: str) -> str:
    with urlopen(address, timeout=_LIMIT) as answer:
        return str(answer.read().decode())


class Prometheus:
    """A Prometheus that scrapes one program again and again."""

    def __init__(self, address: str) -> None:
        self._address = address

    def ask(self, path: str, **parameters: str) -> Any:
        return json.loads(_read(f"{self._address}/api/v1/{path}?{urlencode(parameters)}"))["data"]

    def values(self, query: str) -> list[float]:
        """Return the values of a query now."""
        return [float(found["value"][1]) for found in self.ask("query", query=query)["result"]]

    def has_values(self, query: str) -> bool:
        """Return whether the query has an answer now, all of numbers."""
        values = self.values(query)
        return bool(values) and not any(map(math.isnan, values))

    def wait(self, ready: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _LIMIT
        while True:
            try:
                if ready():
                    return
            except URLError:
                pass
            assert time.monotonic() < deadline, f"Prometheus has no {what}"
            time.sleep(0.2)


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    with socket.create_server(("127.0.0.1", 0)) as free:
        own = f"127.0.0.1:{free.getsockname()[1]}"
    with metrics_server.serve("127.0.0.1:0", collectors()) as server:
        scrapes = {"job_name": "trellis", "static_configs": [{"targets": [f"127.0.0.1:{server.port}"]}]}
        every = {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"}
        config = {"global": every, "rule_files": [str(RULES)], "scrape_configs": [scrapes]}
        (folder / "prometheus.yaml").write_text(yaml.safe_dump(config))
        options = [
            f"--config.file={folder}/prometheus.yaml",
            f"--storage.tsdb.path={folder}/data",
            "--enable-feature=exemplar-storage",
        ]
        with (folder / "log").open("wb") as log:
            program = subprocess.Popen(
                [PROMETHEUS, *options, f"--web.listen-address={own}"], stdout=log, stderr=log
            )
        try:
            found = Prometheus(f"http://{own}")
            found.wait(
                lambda: sum(found.values("count_over_time(trellis_peers_up[1m])")) >= _SCRAPES, "metrics"
            )
            yield found
        finally:
            program.terminate()
            program.wait(_LIMIT)


def expanded(query: str) -> str:
    """Return a query as Grafana asks it, of all releases and trials in the last minute."""
    query = query.replace("$__rate_interval", "1m").replace("$__range", "1m")
    return re.sub(r'"\$\w+"', '".*"', query)


@needs_prometheus
@pytest.mark.parametrize("name", DASHBOARDS)
def test_prometheus_answers_every_query_of_a_dashboard_with_values(name: str, prometheus: Prometheus) -> None:
    for target in targets(DASHBOARDS[name]):
        query = expanded(target["expr"])
        # A scrape that is late on a busy machine leaves a gap.
        prometheus.wait(partial(prometheus.has_values, query), query)


@needs_prometheus
@pytest.mark.parametrize("name", DASHBOARDS)
def test_prometheus_has_values_for_every_choice_of_a_dashboard(name: str, prometheus: Prometheus) -> None:
    for variable in variables(DASHBOARDS[name]).values():
        if variable["type"] == "query":
            asked = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"])
            assert asked is not None
            found = prometheus.ask(f"label/{asked[2]}/values", **{"match[]": expanded(asked[1])})
            assert found, variable["query"]["query"]


@needs_prometheus
def test_prometheus_knows_the_trace_of_a_slow_delivery(prometheus: Prometheus) -> None:
    def asked() -> Any:
        now = time.time()
        query = "trellis_delivery_delay_seconds_bucket"
        return prometheus.ask("query_exemplars", query=query, start=str(now - 60), end=str(now + 60))

    prometheus.wait(lambda: bool(asked()), "exemplars")
    assert asked()[0]["exemplars"][0]["labels"] == {"trace_id": f"{7:032x}"}


@needs_prometheus
def test_prometheus_raises_the_alerts_of_what_is_wrong_now(prometheus: Prometheus) -> None:
    def raised() -> set[str]:
        alerts = prometheus.ask("alerts")["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    prometheus.wait(lambda: {"TrellisHostLost", "TrellisSpansLost"} <= raised(), "alerts")
    assert "TrellisTrialInvalid" not in raised()
    (lost,) = [a for a in prometheus.ask("alerts")["alerts"] if a["labels"]["alertname"] == "TrellisHostLost"]
    assert lost["annotations"]["summary"] == "11 hosts of the trial vitis-1 of demo are lost"
