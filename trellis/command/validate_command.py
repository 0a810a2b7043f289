"""The command that checks an experiment and says what it would do."""

from __future__ import annotations

from typing import Annotated

import typer

from emulator.files.input_facts import counted
from trellis.checked_expectations import check_expectations
from trellis.command.arguments import Options, Target
from trellis.command.as_json import Json, say_json
from trellis.command.exits import endings
from trellis.command.inputs import check_drawing, checked_fields, say_checked
from trellis.command.labels import labels_of
from trellis.command.outcome import out
from trellis.command.package_commands import say_displaced
from trellis.command.prospect import prospect, say_prospect

commands = typer.Typer(add_completion=False, rich_markup_mode=None)

_LOOKED_AT = 20
"""The draws of a campaign that are checked when its file is."""
_NAMED = 10
"""The most variants that are named."""


@commands.command()
def validate(
    target: Target,
    options: Options = None,
    as_json: Json = False,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure", help="Try trials with 40 and 160 of their peers, to say what they would take."
        ),
    ] = False,
) -> None:
    """Check an experiment file whole, draw its plans, and say what it would run."""
    with endings():
        from emulator.experiment.file.load import load
        from emulator.experiment.file.package_experiments import locate
        from emulator.experiment.file.variants import count_variants, trials

        say_displaced()
        file = target / "experiment.yaml" if target.is_dir() else locate(target)
        spec = load(file, options or [], is_written=target.is_dir())
        if spec.draw:
            from trellis.campaign.drawing import campaign_of

            spec = campaign_of(spec, file, _LOOKED_AT)
        every, made = trials(spec), count_variants(spec.vary)
        check_expectations(spec, file, options or [])
        checked = check_drawing(spec, file, options or [])
        if as_json:
            runs = {"trials": len(every), "variants": made, "seeds": spec.repeat, "labels": labels_of(every)}
            say_json({"valid": True, **runs, **checked_fields(checked), **prospect(every, checked, measure)})
            return
        say_checked(checked)
        labels = labels_of(every)
        each = f"{counted(made, 'variant')}, {counted(spec.repeat, 'seed')}"
        out.print(f"valid: {counted(len(every), 'trial')} ({each})", markup=False)
        if labels:
            more = f"; and {len(labels) - _NAMED:,} more" if len(labels) > _NAMED else ""
            named = "; ".join(list(labels.values())[:_NAMED])
            out.print(f"variants: {named}{more}", markup=False, soft_wrap=True)
        say_prospect(every, checked, measure)
