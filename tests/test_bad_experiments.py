"""Experiment files and options that no trial can be made of: a message with file and line, at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refused_experiments import GOOD, refused, write

from analysis.claims.papers import CLAIMS
from emulator.experiment.file.document import ExperimentError
from emulator.experiment.file.known_claims import KNOWN_CLAIMS
from emulator.experiment.file.load import load


def aliases(kind: str) -> str:
    """Return a text in which each line has what the line before it has, several times."""
    if kind == "lists":
        lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    elif kind == "merged":
        lines = ["a0: &a0 {k: 1}"]
        lines += [f"a{i}: &a{i} {{<<: *a{i - 1}, x{i}: *a{i - 1}, y: *a{i - 1}}}" for i in range(1, 40)]
    else:
        lines = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 200)]
    return "\n".join(lines) + "\n"


TEXTS = {
    "empty": ("", "an experiment is a mapping"),
    "only a comment": ("# nothing\n", "an experiment is a mapping"),
    "a list": ("- 1\n- 2\n", "an experiment is a mapping"),
    "a word": ("name", "an experiment is a mapping"),
    "two documents": (GOOD + "---\n" + GOOD, "is not YAML"),
    "not UTF-8": (b"name: \xff\xfe\n", "not UTF-8"),
    "UTF-16": ("name: small\n".encode("utf-16"), "not UTF-8"),
    "binary": (bytes(range(256)) * 100, "not UTF-8"),
    "NUL": (GOOD + "\0", "has the character '\\x00', which YAML does"),
    "escape characters": (GOOD + "title: \x1b[31m\n", "has the character '\\x1b', which YAML does"),
    "a tab": (GOOD + "\ttitle: x\n", "has a tab in its indentation. Write spaces"),
    "a tab after spaces": (GOOD + "title:\n  \tx: y\n", "has a tab in its indentation. Write spaces"),
    "an open bracket": (GOOD + "title: [\n", "is not YAML"),
    "an open quote": (GOOD + 'title: "x\n', "is not YAML"),
    "a colon in a text": (
        GOOD + "title: Vitis: once more\n",
        "a colon in the text of title. Write the text in quotes",
    ),
    "an unknown alias": (GOOD + "title: *nobody\n", "is not YAML"),
    "a loop": (GOOD + "claims: &c [*c]\n", "contains itself"),
    "aliases that multiply": (aliases("lists") + GOOD, "more than 20,000 keys and values"),
    "merges that multiply": (aliases("merged") + GOOD, "more than 20,000 keys and values"),
    "aliases in each other": (aliases("deep") + GOOD, "deeper than 50 levels"),
    "3,000 lists": ("a: " + "[" * 3000 + "]" * 3000 + "\n" + GOOD, "deeper than 50 levels"),
    "3,000 mappings": ("a: " + "{a: " * 3000 + "1" + "}" * 3000 + "\n" + GOOD, "deeper than 50 levels"),
    "1,000 indented keys": ("".join(" " * i + "a:\n" for i in range(1000)), "deeper than 50 levels"),
    "100,000 open brackets": ("[" * 100_000, "deeper than 50 levels"),
    "30,000 values": (GOOD + "claims: [" + "V1," * 30_000 + "]\n", "more than 20,000 keys and values"),
    "a megabyte and more": (GOOD + "#" * 1_000_001, "more than the 1,000,000 bytes"),
    "code": (GOOD + "title: !!python/object/apply:os.system [echo]\n", "has the tag !!python"),
    "an own tag": (GOOD + "title: !mine x\n", "experiment.yaml:11: has the tag !mine, and"),
    "a set": (GOOD.replace("peers: 20", "peers: !!set {a}"), "has the tag !!set"),
    "binary data": (GOOD.replace("peers: 20", "peers: !!binary abc"), "has the tag !!binary"),
    "binary text": (GOOD + "title: !!binary aGVsbG8=\n", "has the tag !!binary"),
    "null as a key": (GOOD + "~: 1\n", "experiment.yaml:11: ~: is not a known key"),
    "a number as a key": (GOOD + "0x5: 1\n", "experiment.yaml:11: 0x5: is not a known key"),
    "no truth": (GOOD.replace("peers: 20", "peers: !!bool 7"), "no bool"),
    "no number": (GOOD.replace("peers: 20", 'peers: !!int ""'), "no int"),
    "no date": (GOOD.replace("peers: 20", "peers: 2001-99-99"), "no timestamp"),
    "5,000 digits": (GOOD.replace("peers: 20", "peers: " + "9" * 5000), "5,000 characters"),
    "5,000 hexadecimal digits": (GOOD.replace("peers: 20", "peers: 0x" + "f" * 5000), "characters"),
    "a long fraction": (GOOD.replace("0.1]", "0." + "1" * 5000 + "]"), "characters"),
    "a number of another notation": (GOOD.replace("peers: 20", "peers: " + "59:" * 2000 + "1"), "peers"),
    "not a number": (GOOD.replace("jitter: 1 ms", "loss: .nan"), "Write a finite number"),
    "infinity": (GOOD.replace("peers: 20", "peers: -.inf"), "Write a finite number"),
    "half a pair": (GOOD + 'title: "\\ud800"\n', "invalid Unicode character"),
    "half a pair as a key": (GOOD + '"\\ud800": 1\n', "invalid Unicode character"),
    "NUL as a value": (GOOD + 'title: "\\0"\n', "which no text has"),
    "NUL as a key": (GOOD + '"\\0": 1\n', "which no text has"),
    "a list as a key": (GOOD + "[1, 2]: x\n", "a key has to be a word"),
    "a mapping as a key": (GOOD + "? {a: b}\n: x\n", ""),
    "lists in a key": (GOOD + "? [[1], [2]]\n: x\n", "experiment.yaml:11: a key has to be a word"),
    "a key twice": (GOOD + "peers: 30\n", "is there twice"),
    "10,000 unknown keys": ("".join(f"k{i}: 1\n" for i in range(9000)) + GOOD, "8,980 more of the kind"),
    "many keys twice": (GOOD + "peers: 1\n" * 300, "280 more of the kind"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_that_is_no_experiment_is_refused(tmp_path: Path, name: str) -> None:
    content, told = TEXTS[name]
    assert told in refused(["validate", str(write(tmp_path, content))])


CONTENT = """\
name: small
system: {name: li}
peers: 20
workload:
  subscriptions:
    kind: ranges
    attributes: [{name: Attr1, low: 0, high: 100, sub_range: 10}]
"""


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("high: 100", "high: 1e308"), "at most"),
        (("low: 0", "low: -1e308"), "at least"),
        (("sub_range: 10", "sub_range: 1e-300"), "sub-ranges"),
        (("sub_range: 10", "sub_range: 1e300"), "only 100 wide"),
        (("high: 100", "high: 0"), "above"),
        (("kind: ranges", "kind: ranges\n    per_peer: 1e300"), "at most"),
        (("peers: 20", "peers: 200000\nseed: 1"), "put Attr1"),
        (("{name: li}", "{name: li, parameters: {attributes: {Attr1: [-1e300, 1e300]}}}"), "between"),
        (("{name: li}", "{name: li, parameters: {capacity: [5, 1]}}"), "capacity"),
        (("{name: li}", "{name: vitis}"), "takes subscriptions by topic"),
    ],
)
def test_content_that_cannot_be_drawn_is_refused(tmp_path: Path, change: tuple[str, str], told: str) -> None:
    assert told in refused(["validate", str(write(tmp_path, CONTENT.replace(*change)))])


@pytest.mark.parametrize("command", ["validate", "run", "plan"])
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("pipe", "it is a pipe"),
        ("/dev/zero", "it is a device"),
        ("/dev/full", "it is a device"),
        ("missing.yaml", "no such file"),
        ("x" * 300, "too long"),
        ("/".join(["x" * 200] * 50), "too long"),
        ("~nobody/x", "no such file"),
        ("no-package:x.yaml", "no installed package"),
        ("experiment.yaml/x", ""),
    ],
)
def test_what_is_no_file_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    name: str,
    told: str,
) -> None:
    write(tmp_path, GOOD)
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    assert told in refused([command, name])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["experiment.yaml", "pipe"]


def test_100_megabytes_are_refused_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(100_000_000)
    assert "more than the 1,000,000 bytes" in refused(["validate", str(path)])


def test_the_claims_that_are_known_are_those_that_are_judged() -> None:
    assert set(KNOWN_CLAIMS) == set(CLAIMS)


WORDS = st.sampled_from(
    [
        "0",
        "-1",
        "1e308",
        ".nan",
        "null",
        "true",
        "[]",
        "{}",
        "x",
        '""',
        "1 s",
        "~",
        "*a",
        "&a",
        "!!int",
        "|",
        ":",
    ]
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_a_mutated_experiment_is_taken_or_refused_but_never_breaks(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    text = GOOD
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        end = data.draw(st.integers(at, min(at + 12, len(text))))
        text = text[:at] + data.draw(WORDS | st.text(max_size=4)) + text[end:]
    path = tmp_path_factory.mktemp("mutated") / "experiment.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        load(path)
    except ExperimentError as error:
        assert error.problems
