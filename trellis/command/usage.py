"""The answer to a wrong call of the command: an example of a right one."""

from __future__ import annotations

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
    "fetch": "fetch my-release",
    "open": f"open {_RUN}",
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
_WRONG_CALL: Any = typer.BadParameter.__base__
"""The class of the errors of a call, to which Typer gives no name of its own."""


class Commands(TyperGroup):
    """All commands; what is said of a wrong call of one ends with an example of it."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except _WRONG_CALL as error:
            named = error.ctx.command.name if error.ctx is not None else None
            if named in EXAMPLES and not getattr(error, "possibilities", None):
                said = f"{error.message.rstrip('.')}. " if error.message else ""
                error.message = f"{said}For example: trellis {EXAMPLES[named]}"
            raise
