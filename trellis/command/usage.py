"""The answer to a wrong call of the command: an example of a right one."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import typer
from typer.core import TyperGroup

_RUN: Final = "runs/quickstart-20260131-120000"
EXAMPLES: Final = {
    "run": "run experiments/quickstart.yaml --set peers=100",
    "plan": "plan experiments/quickstart.yaml",
    "analyze": f"analyze {_RUN}",
    "report": f"report {_RUN} --event 12",
    "validate": "validate experiments/quickstart.yaml",
    "status": f"status {_RUN}",
    "logs": "logs my-release",
    "stop": "stop my-release",
    "upload": f"upload {_RUN} s3://bucket/prefix",
    "fetch": "fetch my-release",
    "open": f"open {_RUN}",
    "claims": "claims",
    "queue": "queue",
    "pause": "pause my-release",
    "resume": "resume my-release",
    "systems": "systems vitis",
    "experiments": "experiments",
    "messages": "messages protos/mine/v1/talk.proto",
    "compile": "compile my_package",
    "traces": f"traces {_RUN} --to http://localhost:4317",
    "campaign": "campaign experiments/campaign.yaml",
    "compare": f"compare {_RUN} --between system.name",
    "export": f"export {_RUN} --figure delay-ms --width 3.33in",
    "runs": "runs",
    "clean": 'clean --failed --older-than "30 d"',
    "schema": "schema",
    "init": "init my-experiment.yaml",
    "history": "history quickstart",
    "figures": "figures vitis",
}
"""A call of each command."""
_VALUES: Final = {
    "--at": "s3://bucket/prefix",
    "--base": "vitis",
    "--between": "system.name",
    "--budget": "100",
    "--chart": "charts/trellis",
    "--chart-set": "netem.enabled=true",
    "--churn": "poisson",
    "--component": "coordinator",
    "--event": "12",
    "--figure": "delay-ms",
    "--image-prefix": "registry.org/me/",
    "--image-tag": "0.2.0",
    "--in": "runs",
    "--include": "protos",
    "--jobs": "2",
    "--junit": "report.xml",
    "--measure": "delay_ms",
    "--namespace": "experiments",
    "--older-than": '"30 d"',
    "--on": "kubernetes",
    "--out": "runs",
    "--patience": "600",
    "--peers": "100",
    "--pod": "my-release-peers-0-0",
    "--release": "my-release",
    "--resume": _RUN,
    "--run": "20260131-120000",
    "--sample": "0.1",
    "--seeds": "5",
    "--set": "peers=100",
    "--shrink": "1",
    "--start-limit": "300",
    "--system": "vitis",
    "--tail": "100",
    "--to": "figures",
    "--traces-at": "http://localhost:16686/trace/{trace}",
    "--trial": "vitis-1",
    "--trials": "20",
    "--values": "values.yaml",
    "--width": "84mm",
}
"""A value of each option that needs one."""
_VALUES_OF: Final = {
    ("campaign", "--on"): "spark://localhost:7077",
    ("compare", "--out"): "page.html",
    ("figures", "--out"): "page.html",
    ("traces", "--to"): "http://localhost:4317",
}
"""The values of options that mean something else at a command."""
_MEANT: Final = {
    **dict.fromkeys(("--seeds", "--repeat", "--repeats"), "repeat=3"),
    "--seed": "seed=1",
    "--peers": "peers=100",
    "--nodes": "peers=100",
    "--system": "system.name=vitis",
}
"""The options that a user may try for keys of an experiment, with what `--set` takes instead."""
_WRONG_CALL: Any = typer.BadParameter.__base__
"""The class of the errors of a call, to which Typer gives no name of its own."""


class Commands(TyperGroup):
    """All commands; what is said of a wrong call of one ends with an example of it."""

    def invoke(self, ctx: Any) -> Any:
        given = [*ctx._protected_args, *ctx.args]
        try:
            return super().invoke(ctx)
        except _WRONG_CALL as error:
            # The parser of options raises before the command's own context is there.
            named = error.ctx.command.name if error.ctx is not None else ctx.invoked_subcommand
            if meant := _meant(error, self.commands.get(named), given):
                error.message, error.possibilities = f"{error.message.rstrip('.')}. Write {meant}", None
            elif named in EXAMPLES and not getattr(error, "possibilities", None):
                said = f"{error.message.rstrip('.')}. " if error.message else ""
                error.message = (
                    f"{said}For example: trellis {example(named, _option(error, self.commands[named]))}"
                )
            raise


def example(command: str, option: str = "") -> str:
    """Return a call of a command, with this option if it has a value."""
    call = EXAMPLES[command]
    value = _VALUES_OF.get((command, option), _VALUES.get(option))
    return call if value is None or f" {option} " in call else f"{call} {option} {value}"


def _option(error: Any, command: Any) -> str:
    """Return the command's option whose value is missing or wrong, "" if the error is of something else."""
    param = getattr(error, "param", None)
    names = [getattr(error, "option_name", ""), *(getattr(param, "opts", None) or ())]
    taken = {name for each in command.params for name in each.opts}
    return next((name for name in names if name in _VALUES and name in taken), "")


def _meant(error: Any, command: Any, given: Sequence[str]) -> str:
    """Return what to write for an option that is a key of an experiment, if the command has `--set`."""
    option = getattr(error, "option_name", "")
    taken = {name for each in getattr(command, "params", ()) for name in each.opts}
    if option not in _MEANT or option in taken or "--set" not in taken:
        return ""
    key, _, value = _MEANT[option].partition("=")
    values = [text.partition("=")[2] for text in given if text.startswith(f"{option}=")]
    values += [after for text, after in pairwise(given) if text == option and not after.startswith("-")]
    return f"--set {shlex.quote(f'{key}={values[0] if values else value}')}"
