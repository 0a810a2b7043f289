"""YAML as values and values as YAML. What is refused is in test_bad_experiments."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.files.yaml_text import BadYaml, read_yaml, write_yaml

WORDS = st.one_of(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Cn"], include_characters="\n\t")),
    st.sampled_from(
        ["", "~", "yes", "on", "null", "1e3", "010", "0x1F", "1_0", "1:30", ".5", "<<", "=", "- a", "a: b"]
    ),
    st.from_regex(r"[-+.0-9eExob_:]{1,8}", fullmatch=True),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


def value(text: str) -> Any:
    return read_yaml(text, 1000)[1]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("yes", "yes"),
        ("off", "off"),
        ("true", True),
        ("~", None),
        ("", None),
        ("010", 10),
        ("0o10", 8),
        ("-0x1F", -31),
        ("0b11", 3),
        ("1_000", 1000),
        ("1:30", "1:30"),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-.inf", float("-inf")),
        ("2001-01-31", datetime.date(2001, 1, 31)),
        ("=", "="),
        ("'1'", "1"),
        ("[package:file.csv, http://a:1]", ["package:file.csv", "http://a:1"]),
    ],
)
def test_words_mean_what_yaml_1_2_says(text: str, meant: object) -> None:
    assert value(f"key: {text}\n") == {"key": meant}
    assert type(value(f"key: {text}\n")["key"]) is type(meant)


def test_a_key_beside_a_merged_mapping_overrides_it() -> None:
    assert value("a: &a {k: 1, l: 2}\nb: {<<: *a, k: 3}\n")["b"] == {"k": 3, "l": 2}


def test_nodes_do_not_hold_what_was_merged() -> None:
    node, _ = read_yaml("a: &a {k: 1}\nb: {<<: *a, k: 3}\n", 1000)
    assert node is not None
    assert [key.value for key, _ in node.value[1][1].value] == ["<<", "k"]


def test_of_a_key_that_is_there_twice_the_first_counts() -> None:
    assert value("a: 1\nb: 2\na: 3\n") == {"a": 1, "b": 2}


def test_an_error_names_the_last_line_and_where_the_list_begins() -> None:
    with pytest.raises(BadYaml, match=r"\(line 2\), did not find expected") as caught:
        value("a: 1\nb: [1,\n2,\n3\n")
    assert caught.value.line == 4


@given(VALUES)
def test_what_is_written_is_read_again(values: object) -> None:
    assert value(write_yaml(values)) == values
