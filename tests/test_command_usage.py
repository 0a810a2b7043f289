"""A wrong call of the command is answered by an example of a right one."""

from __future__ import annotations

import shlex
from collections.abc import Callable

import pytest
import typer.main
from typer.testing import Result

from trellis.command.cli import app
from trellis.command.usage import EXAMPLES, example

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def test_every_command_has_an_example() -> None:
    assert EXAMPLES.keys() == COMMANDS.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_a_call_that_the_command_takes(name: str) -> None:
    first, *rest = shlex.split(EXAMPLES[name])
    assert first == name
    COMMANDS[name].make_context(name, rest)


OPTIONS = [
    (name, option.opts[0])
    for name, command in COMMANDS.items()
    for option in command.params
    if option.param_type_name == "option" and not option.is_flag
]


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_an_option_without_its_value_is_told_a_call_that_has_one(
    trellis: Callable[..., Result], name: str, option: str
) -> None:
    said = trellis(name, option)
    call = example(name, option)
    assert said.exit_code == 2
    assert f"requires an argument. For example: trellis {call}" in " ".join(said.output.split())
    _, *rest = shlex.split(call)
    assert option in rest
    COMMANDS[name].make_context(name, rest)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (["report"], "Missing argument 'RUNDIR'. For example: trellis report runs/"),
        (["traces", "runs/a"], "Missing option '--to'. For example: trellis traces runs/"),
        (["export", "runs/a", "hits"], "extra argument(s) (hits). For example: trellis export runs/"),
        (["export", "runs/a", "--format", "png"], "No such option: --format. For example: trellis export"),
        (["report", "runs/a", "--event", "x"], "For example: trellis report runs/"),
        (["run", "a.yaml", "--sets", "peers=2"], "No such option: --sets (Possible options: --set)"),
        (["run", "a.yaml", "--seeds", "4"], "No such option: --seeds. Write --set repeat=4"),
        (["validate", "a.yaml", "--peers=30"], "No such option: --peers. Write --set peers=30"),
        (["run", "a.yaml", "--seed"], "No such option: --seed. Write --set seed=1"),
        (["rnu"], "No such command 'rnu'. Did you mean 'run'?"),
    ],
)
def test_a_wrong_call_is_told_a_right_one(trellis: Callable[..., Result], call: list[str], told: str) -> None:
    said = trellis(*call)
    assert said.exit_code == 2
    assert told in " ".join(said.output.split())


def test_an_option_that_a_command_does_not_have_is_not_in_its_example(trellis: Callable[..., Result]) -> None:
    said = trellis("figures", "vitis", "--width", "84mm").output
    assert " ".join(said.split()).endswith("For example: trellis figures vitis")
