"""The outcome of a run, and the last step of an experiment, as JUnit XML for continuous integration."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from analysis.charts.numerals import in_words
from emulator.experiment.run.directory import write_whole

if TYPE_CHECKING:
    from analysis.report.history import History

_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(summary: Mapping[str, Any], path: Path) -> None:
    """Write the file: each trial has a case that it is valid, and one for each expectation of the experiment.

    An invalid trial is an error, and a broken expectation is a failure. Raises OSError.
    """
    name = str(summary.get("experiment", ""))
    suite = ElementTree.Element("testsuite", name=name)
    failures = errors = 0
    for trial in summary["trials"]:
        case = _case(suite, trial["trial"], "is valid")
        if not trial["valid"]:
            errors += 1
            text = "; ".join(trial["reasons"])
            ElementTree.SubElement(case, "error", message=_text(f"invalid: {text}"))
    for expectation in summary.get("expectations", []):
        broken = {each["trial"]: each for each in expectation["broken"]}
        for trial in summary["trials"]:
            case = _case(suite, trial["trial"], expectation["text"])
            if trial["trial"] in broken:
                failures += 1
                each = broken[trial["trial"]]
                told = each.get("told") or f"it is {in_words(each['measured'], expectation['unit'])}"
                ElementTree.SubElement(case, "failure", message=_text(told))
    _write(suite, failures, errors, path)


def write_steps(experiment: str, found: Sequence[History], path: Path) -> None:
    """Write the file: each measure of each variant has a case, which fails if the last run is worse than the
    one before. Raises OSError."""
    suite = ElementTree.Element("testsuite", name=_text(experiment))
    failures = 0
    for each in found:
        case = _case(suite, each.variant, each.measure)
        if each.past[-1].step == "worse":
            failures += 1
            before, now = (in_words(past.value.mean, each.unit) for past in each.past[-2:])
            ElementTree.SubElement(case, "failure", message=_text(f"it was {before} and is {now}"))
    _write(suite, failures, 0, path)


def _write(suite: ElementTree.Element, failures: int, errors: int, path: Path) -> None:
    suite.attrib |= {"tests": str(len(suite)), "failures": str(failures), "errors": str(errors)}
    ElementTree.indent(suite)
    write_whole(path, ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n")


def _case(suite: ElementTree.Element, trial: str, name: str) -> ElementTree.Element:
    return ElementTree.SubElement(suite, "testcase", classname=_text(trial), name=_text(name))


def _text(text: str) -> str:
    """Return the text without what XML cannot have."""
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
