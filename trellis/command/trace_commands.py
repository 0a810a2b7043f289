"""The command that sends the traces of a run to a backend, and the address of a trace there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from trellis.command.exits import INVALID, VALID, UserError, endings, err
from trellis.command.outcome import out

commands = typer.Typer(rich_markup_mode=None)
_TRACE_PAGE = re.compile(r"https?://\S*\{trace\}\S*")


def check_trace_page(address: str) -> None:
    """Raise UserError unless this is the address of a page with `{trace}` where the trace's id is to be."""
    if not _TRACE_PAGE.fullmatch(address):
        raise UserError(
            f'--traces-at is "{address}", but has to be the address of a page with {{trace}} in the place of '
            "the trace's id, such as http://localhost:16686/trace/{trace}"
        )


def share_in(text: str) -> float:
    """Return the share that a text such as `0.1` or `10 %` is.

    Raises UserError unless it is above 0 and at most 1.
    """
    from emulator.files.quantities import parse_share

    try:
        share = float(parse_share(text) if "%" in text else text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise UserError(f'--sample is "{text}", but has to be a share of all traces, such as 0.1 or "10 %"')
    return share


@commands.command()
def traces(
    target: Annotated[Path, typer.Argument(metavar="RUNDIR", help="A run directory.")],
    endpoint: Annotated[str, typer.Option("--to", metavar="ENDPOINT", help="Such as http://localhost:4317.")],
    trial: Annotated[
        str | None, typer.Option("--trial", metavar="NAME", help="Default: the only one.")
    ] = None,
    sample: Annotated[
        str, typer.Option("--sample", metavar="SHARE", help="Send whole traces of this share, such as 0.1.")
    ] = "1",
    keep_times: Annotated[
        bool,
        typer.Option(
            "--keep-times",
            help="Do not move spans to when a virtual trial ran, nor to one clock.",
        ),
    ] = False,
) -> None:
    """Send a trial's traces to an OTLP/gRPC backend such as Jaeger or Tempo."""
    with endings():
        from emulator.experiment.run.runs import open_run
        from emulator.telemetry.endpoint import BadEndpoint
        from emulator.telemetry.replay import ReplayError, replay, traces_of
        from trellis.command.terminal import Screen

        share = share_in(sample)
        directory = open_run(target)[0]
        names = [found.name for found in directory.trials() if traces_of(found)]
        chosen = trial or (names[0] if len(names) == 1 else None)
        if chosen not in names:
            what = f"there is no trial {trial} with traces" if trial else "choose one with --trial"
            raise UserError(f"{what}: {', '.join(names) or 'this run has none'}")
        screen = Screen(err)
        try:
            with screen.step(f"sending the traces of {chosen} to {endpoint}", 0) as step:
                sent = replay(directory.trial(chosen), endpoint, step.note, shift=not keep_times, share=share)
        except BadEndpoint as error:
            raise UserError(str(error)) from None
        except ReplayError as error:
            err.print(str(error), style="red", markup=False, soft_wrap=True)
            raise typer.Exit(INVALID) from None
        for line in sent.lines():
            out.print(line, markup=False, soft_wrap=True)
        raise typer.Exit(VALID if sent.whole else INVALID)
