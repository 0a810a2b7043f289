"""The options of the command line for runs in pods."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

START_LIMIT = 600.0
"""The seconds until the first trial must run."""
PATIENCE = 25.0
"""The seconds for which pods may be held up before that is a problem."""

Where = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="WHERE",
        help="Where peers run: virtual, processes or kubernetes (default: runtime.kind of the file); "
        "or spark://HOST:PORT, where trials on the virtual clock run.",
    ),
]
Release = Annotated[
    str | None,
    typer.Option("--release", metavar="NAME", help="Pods: the release. Default: made from the time."),
]
Namespace = Annotated[
    str | None, typer.Option("--namespace", "-n", metavar="NAME", help="Default: that of the context.")
]
Chart = Annotated[
    Path | None, typer.Option("--chart", metavar="PATH", help="Pods: the Helm chart, if not the one at hand.")
]
Values = Annotated[
    list[Path] | None,
    typer.Option("--values", metavar="FILE", help="Pods: values of the chart. Repeatable."),
]
ChartSettings = Annotated[
    list[str] | None,
    typer.Option("--chart-set", metavar="KEY=VALUE", help="Pods: one value of the chart. Repeatable."),
]
ImagePrefix = Annotated[
    str | None,
    typer.Option("--image-prefix", metavar="PREFIX", help="Pods: of the images, such as registry.org/me/."),
]
ImageTag = Annotated[str | None, typer.Option("--image-tag", metavar="TAG", help="Pods: of the images.")]
Keep = Annotated[bool, typer.Option("--keep", help="Pods: do not remove the release.")]
Queued = Annotated[
    bool, typer.Option("--queue", help="Pods: only put the release into the queue of the namespace.")
]
StartLimit = Annotated[
    float, typer.Option("--start-limit", min=1, metavar="SECONDS", help="Pods: until the first trial runs.")
]
Patience = Annotated[
    float, typer.Option("--patience", min=1, metavar="SECONDS", help="Pods: how long they may be held up.")
]


@dataclass(frozen=True, slots=True)
class PodOptions:
    """The options above, as they were given."""

    release: str | None = None
    namespace: str | None = None
    chart: Path | None = None
    values: tuple[Path, ...] = ()
    settings: tuple[str, ...] = ()
    image_prefix: str | None = None
    image_tag: str | None = None
    keep: bool = False
    start_limit: float = START_LIMIT
    patience: float = PATIENCE
    queued: bool = False
    """This is true if the release is to wait for its turn, and the command does not wait with it."""
