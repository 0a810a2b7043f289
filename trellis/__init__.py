"""Trellis for Python programs: load an experiment, change it, run it, and look at data frames.

    import trellis

    experiment = trellis.load("experiments/quickstart.yaml").with_(peers=200)
    run = experiment.run()
    run.summary                  # every measure of every variant, with its confidence interval
    run.tables["deliveries"]     # one row for each event and peer

`trellis.v1` are the messages of peers; importing those imports none of this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# This has the compiled `trellis.v1` found: messages of an interpreted one do not fit compiled protocols.
from emulator.compiler import finder as _compiled  # noqa: F401

if TYPE_CHECKING:
    from trellis.experiment import Experiment, load
    from trellis.run import Run, open_run

__all__ = ["Experiment", "Run", "load", "open_run"]

_PLACES = {
    "Experiment": "trellis.experiment",
    "load": "trellis.experiment",
    "Run": "trellis.run",
    "open_run": "trellis.run",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for."""
    if name not in _PLACES:
        raise AttributeError(f"module 'trellis' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
