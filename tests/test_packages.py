"""What installed packages add, and how it is told if that cannot be used."""

from __future__ import annotations

import json
import os
import subprocess
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from forked_programs import COMMAND, run_program

from emulator.contract.protocol import RangeInterest
from emulator.contract.registry import WORKLOADS
from emulator.experiment.plan.tables import Plan
from emulator.runtime.plan_script import script_of

ROOT = Path(__file__).parent.parent
EXPERIMENT = """\
name: small
system: {name: NAME}
peers: 10
workload:
  subscriptions: {kind: random, topics: 20, per_peer: 2, buckets: 1}
"""
GOOD = """\
from pydantic import BaseModel, ConfigDict
from emulator.contract.system import System

class Nothing(BaseModel):
    model_config = ConfigDict(extra="forbid")

THING = System("thing", "A thing", "none", Nothing, lambda environment, parameters: None)
OTHER = System("other", "Another thing", "none", Nothing, lambda environment, parameters: None)
LOOSE = System("loose", "A loose thing", "none", BaseModel, lambda environment, parameters: None)
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Lays a package out as pip does: `install("acme", entry points, its module)`."""

    def _install(name: str, entry_points: str, module: str = GOOD) -> None:
        (tmp_path / f"{name}.py").write_text(module)
        info = tmp_path / f"{name}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(textwrap.dedent(entry_points))

    return _install


@pytest.fixture
def trellis(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command, with the packages of the test."""

    def _trellis(*arguments: str, **experiment: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "small.yaml").write_text(EXPERIMENT.replace("NAME", experiment.get("system", "vitis")))
        environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "COLUMNS": "300"}
        return run_program(COMMAND, arguments, tmp_path, environment, limit=100)

    return _trellis


def test_a_system_of_a_package_is_listed_with_where_it_comes_from(install, trellis):
    install("acme", "[trellis.systems]\nthing = acme:THING\n")
    listed = trellis("systems")
    assert listed.returncode == 0
    told = " ".join(listed.stdout.split())
    assert "thing: A thing (serves subscriptions by topic, from the package acme 1.2)" in told
    assert "vitis: " in listed.stdout
    assert trellis("validate", "small.yaml", system="thing").returncode == 0


@pytest.mark.parametrize(
    ("entry", "module", "why"),
    [
        ("thing = acme:THING", "import nowhere", "(acme:THING) in trellis.systems, but importing it"),
        ("thing = acme:THING", "raise SystemExit(3)", "importing it failed: SystemExit: 3"),
        ("thing = acme:MISSING", GOOD, "(acme:MISSING) in trellis.systems, but importing it failed: Attr"),
        ("thing = acme:Nothing", GOOD, "it is of type ModelMetaclass, not System"),
        ("thing = acme:OTHER", GOOD, 'it calls itself "other"'),
        ("loose = acme:LOOSE", GOOD, "its parameters accept unknown keys"),
    ],
)
def test_a_system_that_cannot_be_used_is_told_with_its_package_and_line(install, trellis, entry, module, why):
    install("acme", f"[trellis.systems]\n{entry}\n", module)
    name = entry.partition(" ")[0]
    told = trellis("validate", "small.yaml", system=name)
    assert told.returncode == 2
    assert f'small.yaml:2: system.name: is "{name}", but the package acme 1.2 offers' in told.stderr
    assert why in told.stderr


def test_all_systems_that_cannot_be_used_are_told_with_the_list_of_the_others(install, trellis):
    install("acme", "[trellis.systems]\nlost = acme:LOST\nwrong = acme:Nothing\nthing = acme:THING\n")
    listed = trellis("systems")
    assert listed.returncode == 2
    for why in ("(acme:LOST) in trellis.systems, but importing it failed", "it is of type ModelMetaclass"):
        assert why in listed.stderr
    assert "rvr: " in listed.stdout
    assert "thing: A thing" in listed.stdout


def test_a_broken_package_does_not_disturb_other_experiments(install, trellis):
    entries = "[trellis.systems]\nthing = acme:THING\n[trellis.subscriptions]\nodd = acme:X\n"
    install("acme", f"{entries}[trellis.workloads]\nodder = acme:X\n", "import nowhere")
    assert trellis("validate", "small.yaml", system="vitis").returncode == 0
    told = trellis("validate", "small.yaml", system="small-world")
    assert "choose one of vitis, rvr" in told.stderr


OWN_NAMES = {
    "systems": ("vitis", "scribe-pastry", "small-world"),
    "overlays": ("pastry", "vitis", "scribe-pastry", "random-graph"),
    "memberships": ("random-graph", "pastry"),
    "workloads": ("topics", "content", "lookups", "subscriptions", "roles"),
    "subscriptions": ("random", "ranges"),
    "churn": ("static",),
    "latency": ("king",),
    "jitter": ("normal",),
    "loss": ("bursts",),
    "attacks": ("black-hole",),
    "claims": ("V1",),
}
"""Names that each group may not take from Trellis."""


def test_names_of_trellis_own_are_its_own_and_who_wants_them_is_told(install, trellis):
    """The module cannot be imported: whatever took a name would fail."""
    entries = (
        f"[trellis.{group}]\n" + "".join(f"{name} = acme:X\n" for name in OWN_NAMES[group])
        for group in OWN_NAMES
    )
    install("acme", "".join(entries), "import nowhere")
    lookups = ("--set", "workload={lookups: {rate: 1}}", "--set", "churn={model: static}")
    network = ("--set", "network={latency: king, loss: {kind: bursts, mean: 0.01, burst: 2}}")
    attackers = ("--set", "attackers={share: 0.1, behaviour: black-hole}", "--set", "claims=[V1]")
    told = trellis("validate", "small.yaml", *network, *attackers)
    assert told.returncode == 0, told.stderr
    assert trellis("validate", "small.yaml", *lookups, system="pastry").returncode == 0
    every = [(group, name) for group, names in OWN_NAMES.items() for name in names]
    for group, name in every:
        where = f'the package acme 1.2 offers "{name}" (acme:X) in trellis.{group}'
        mend = "Trellis uses its own. Rename the entry point, or uninstall the package"
        assert f"{where}, but Trellis itself has that name. {mend}" in told.stderr
    assert told.stderr.count("Trellis uses its own") == len(every)
    listed = trellis("systems")
    assert listed.returncode == 2 and listed.stderr.count("Trellis uses its own") == len(every)
    assert "vitis: Vitis" in listed.stdout and "from the package" not in listed.stdout


def test_a_plan_has_the_tables_of_trellis_own_kinds_though_a_package_has_their_names(
    install, trellis, tmp_path
):
    install("acme", "[trellis.workloads]\nlookups = acme:X\n", "import nowhere")
    change = ("--set", "workload={lookups: {rate: 1}}", "--out", "drawn")
    assert trellis("plan", "small.yaml", *change, system="pastry").returncode == 0
    (planned,) = tmp_path.glob("drawn/**/plan")
    assert (planned / "lookups.parquet").exists()
    resumed = trellis("plan", str(planned.parent.parent.parent))
    assert resumed.returncode == 0 and "lookups.parquet" not in resumed.stderr


def test_two_packages_with_one_name_are_both_named(install, trellis):
    for name in ("acme", "bolt"):
        install(name, f"[trellis.systems]\nthing = {name}:THING\n")
    told = trellis("validate", "small.yaml", system="thing").stderr
    assert "the package bolt 1.2 offers" in told
    assert "the package acme 1.2 has that name" in told


def test_a_claim_of_a_package_is_known_without_importing_it(install, trellis):
    install("acme", "[trellis.claims]\nA1 = acme:A1\n", "import nowhere")
    assert trellis("validate", "small.yaml", "--set", "claims=[A1, V1]").returncode == 0
    told = trellis("validate", "small.yaml", "--set", "claims=[A2]")
    assert told.returncode == 2 and "A1" in told.stderr


SOURCE = """\
from typing import Literal
from emulator.workload.subscription_sources import TopicSource

class One(TopicSource):
    kind: Literal["one"]
    topics: int = 3

    def problems(self):
        return [("topics", "too many")] if self.topics > 9 else []

    def draw(self, peers, trial_end, random):
        import numpy as np
        from emulator.workload.subscriptions import each_holds
        return each_holds(self.topics, np.full((peers, 1), BAD, dtype=np.int32), trial_end)

class Wrong(TopicSource):
    kind: Literal["right"]

class Empty(TopicSource):
    kind: Literal["empty"]
"""


def test_a_kind_of_subscriptions_of_a_package_is_checked_and_drawn_as_others_are(install, trellis):
    install("acme", "[trellis.subscriptions]\none = acme:One\n", SOURCE.replace("BAD", "1"))
    change = "workload.subscriptions={kind: one, topics: %s}"
    assert trellis("plan", "small.yaml", "--set", change % "5").returncode == 0
    told = trellis("validate", "small.yaml", "--set", change % "10").stderr
    assert "workload.subscriptions.topics: too many" in told
    told = trellis("validate", "small.yaml", "--set", change % "five").stderr
    assert "workload.subscriptions.topics: is" in told
    told = trellis("validate", "small.yaml", "--set", "workload.subscriptions={kind: two}").stderr
    assert "one" in told.partition("Known: ")[2] or 'Did you mean "one"' in told


CONTENT = """\
from typing import Literal
from emulator.workload.subscription_sources import ContentSource

class Shops(ContentSource):
    kind: Literal["shops"]
    shops: int = 3

    def domains(self):
        return {"price": (0.0, 9.0), "shop": (0.0, self.shops - 1.0)}

    def draw_interests(self, count, random):
        shops = [float(shop) for shop in range(0, self.shops, 2)]
        cheap = {"attribute": "price", "low": 0.0, "high": 5.0}
        return [[cheap, {"attribute": "shop", "values": shops}] for _ in range(count)]

    def draw_events(self, count, random):
        prices = random.uniform(0, 9, count)
        return [[{"attribute": WHAT, "value": float(price)}] for price in prices]
"""
CHANGE = "workload.subscriptions={kind: shops, per_peer: 2}"


def test_a_kind_of_subscriptions_by_content_of_a_package_is_drawn_with_its_sets(install, trellis, tmp_path):
    install("acme", "[trellis.subscriptions]\nshops = acme:Shops\n", CONTENT.replace("WHAT", '"price"'))
    told = trellis("validate", "small.yaml", "--set", CHANGE, system="vitis").stderr
    assert "choose one of li" in told
    told = trellis("validate", "small.yaml", "--set", CHANGE, system="li").stderr
    assert "put shop: [0, 2] into system.parameters.attributes" in told
    known = "system.parameters.attributes={price: [0, 9], shop: [0, 2]}"
    out = ("--out", "drawn")
    assert trellis("plan", "small.yaml", "--set", CHANGE, "--set", known, *out, system="li").returncode == 0
    (planned,) = tmp_path.glob("drawn/**/plan")
    script = script_of(Plan.read(planned), WORKLOADS["content"], 1e9)
    interests = [held.what.interest for held in script.all_held()]
    assert interests == [RangeInterest({"price": (0.0, 5.0)}, {"shop": frozenset([0.0, 2.0])})] * 20


def test_events_that_a_package_draws_with_an_unknown_attribute_are_refused(install, trellis):
    install("acme", "[trellis.subscriptions]\nshops = acme:Shops\n", CONTENT.replace("WHAT", '"weight"'))
    known = "system.parameters.attributes={price: [0, 9], shop: [0, 2]}"
    told = trellis("plan", "small.yaml", "--set", CHANGE, "--set", known, system="li")
    assert told.returncode == 2
    assert "subscriptions of kind shops: events need attributes, each once, of price, shop" in told.stderr


def test_topics_that_a_package_draws_out_of_range_are_refused(install, trellis):
    install("acme", "[trellis.subscriptions]\none = acme:One\n", SOURCE.replace("BAD", "7"))
    told = trellis("plan", "small.yaml", "--set", "workload.subscriptions={kind: one}")
    assert told.returncode == 2
    assert "subscriptions of kind one have a topic that is not from 0 to 2" in told.stderr


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("one = acme:Wrong", 'its field "kind" has to be of type Literal["one"]'),
        ("one = acme:Literal", "it is no subclass of TopicSource"),
        ("empty = acme:Empty", "it does not define draw"),
    ],
)
def test_a_kind_of_subscriptions_that_cannot_be_used_is_told_with_its_package(install, trellis, entry, why):
    install("acme", f"[trellis.subscriptions]\n{entry}\n", SOURCE)
    name = entry.partition(" ")[0]
    told = trellis("validate", "small.yaml", "--set", f"workload.subscriptions={{kind: {name}}}")
    assert told.returncode == 2
    assert "workload.subscriptions" in told.stderr
    assert "the package acme 1.2 offers" in told.stderr
    assert why in told.stderr


KIND = """\
from pydantic import BaseModel, ConfigDict
from emulator.contract.workload import Operation, WorkloadKind

class Keys(BaseModel):
    model_config = ConfigDict(extra="forbid")

class Nameless(Operation):
    def perform(self, protocol): ...

class Walks(WorkloadKind):
    name = "walks"
    title = "walks"
    parameters = Keys

class Loose(Walks):
    parameters = BaseModel

class Bare(WorkloadKind):
    name = "walks"
    title = "walks"

class Untitled(WorkloadKind):
    name = "walks"
    parameters = Keys

class Elsewhere(Walks):
    key = "subscriptions"

class Odd(Walks):
    operations = (Nameless,)

class Other(Walks):
    protocol = dict

class Sharing(Walks):
    shared = ("role",)
"""


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("walks = acme:Walks", "it is of type type, not WorkloadKind"),
        ("walks = acme:Loose()", "(acme:Loose()) in trellis.workloads, but importing it failed"),
        ("walks = acme:LOOSE", "its parameters accept unknown keys. Set extra='forbid'"),
        ("walks = acme:BARE", "it has no parameters. Give it a pydantic model"),
        ("walks = acme:UNTITLED", "it has no title. Give it a text"),
        ("walks = acme:ELSEWHERE", 'its key is "subscriptions". The key of a package\'s kind is its name'),
        ("walks = acme:ODD", "its operation Nameless has no NAME"),
        ("walks = acme:OTHER", "its protocol is no subclass of Application"),
        ("walks = acme:SHARING", 'it shares "role". Known: changes, clients'),
        ("stroll = acme:WALKS", 'it calls itself "walks". Use one name'),
    ],
)
def test_a_kind_of_workload_that_cannot_be_used_is_told_with_its_package(install, trellis, entry, why):
    classes = ("Walks", "Loose", "Bare", "Untitled", "Elsewhere", "Odd", "Other", "Sharing")
    made = "".join(f"{name.upper()} = {name}()\n" for name in classes)
    install("acme", f"[trellis.workloads]\n{entry}\n", KIND + made)
    name = entry.partition(" ")[0]
    told = trellis("validate", "small.yaml", "--set", f"workload={{{name}: {{}}}}")
    assert (told.returncode, "Traceback" in told.stderr) == (2, False), told.stderr
    assert f"workload.{name}: " in told.stderr
    assert "the package acme 1.2 offers" in told.stderr
    assert why in told.stderr


def test_a_kind_of_subscriptions_in_the_group_of_workloads_is_told_where_it_belongs(install, trellis):
    install("acme", "[trellis.workloads]\none = acme:One\n", SOURCE.replace("BAD", "1"))
    told = trellis("validate", "small.yaml", "--set", "workload.subscriptions={kind: one}")
    assert told.returncode == 2
    assert "Kinds of subscriptions belong into the group trellis.subscriptions" in told.stderr


def test_a_system_that_serves_no_known_kind_of_workload_is_refused(install, trellis):
    odd = GOOD.replace(
        "lambda environment, parameters: None)\nOTHER", 'lambda e, p: None, serves="tea")\nOTHER'
    )
    install("acme", "[trellis.systems]\nthing = acme:THING\n", odd)
    told = trellis("validate", "small.yaml", system="thing")
    assert told.returncode == 2
    known = "Known: broadcast, content, lookups, membership, topics, values"
    assert f'it serves "tea", which is no kind of workload. {known}' in told.stderr


def test_experiments_of_a_package_are_listed_and_found_by_name(install, trellis, tmp_path):
    install("acme", "[trellis.experiments]\nacme = acme_experiments\n")
    folder = tmp_path / "acme_experiments"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "first.yaml").write_text(EXPERIMENT.replace("NAME", "vitis") + "title: The first one\n")
    assert "acme:first.yaml  The first one  (acme 1.2)" in trellis("experiments").stdout
    first, *_, last = json.loads(trellis("experiments", "--json").stdout)
    assert (first["name"], first["package"]) == ("trellis:broadcast.yaml", "trellis")
    assert last == {
        "name": "acme:first.yaml",
        "title": "The first one",
        "package": "acme 1.2",
        "file": str(folder / "first.yaml"),
    }
    assert trellis("validate", "acme:first.yaml").returncode == 0
    assert 'Did you mean "first.yaml"' in trellis("validate", "acme:frist.yaml").stderr
    assert 'Did you mean "acme"' in trellis("validate", "acne:first.yaml").stderr


def test_a_run_of_a_system_that_is_not_installed_here_can_still_be_opened(install, trellis, tmp_path):
    from emulator.experiment.run.runs import open_run

    (tmp_path / "run").mkdir()
    text = EXPERIMENT.replace("{name: NAME}", "{name: elsewhere, parameters: {depth: 3}}")
    (tmp_path / "run" / "experiment.yaml").write_text(text)
    _, spec = open_run(tmp_path / "run")
    assert spec.system.parameters == {"depth": 3}
    told = trellis("run", str(tmp_path / "run"))
    assert told.returncode == 2
    assert "elsewhere" in told.stderr
