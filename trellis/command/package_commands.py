"""The commands about systems and packages: `systems`, `experiments`, `messages` and `compile`."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from emulator.files.input_facts import counted
from trellis.command.as_json import Json, say_json
from trellis.command.exits import UserError, endings, err
from trellis.command.outcome import out

if TYPE_CHECKING:
    from emulator.messages.generate import Made

commands = typer.Typer(add_completion=False, rich_markup_mode=None)


def say_displaced() -> None:
    """Print which entry points of installed packages are left out, because Trellis has their names."""
    from emulator.experiment.file.package_kinds import displaced_names

    for text in displaced_names():
        err.print(f"warning: {text}", style="yellow", markup=False, soft_wrap=True)


def _system_names(begun: str) -> list[str]:
    """Return the names of systems that begin so, for a shell that completes one."""
    from emulator.contract.registry import SYSTEMS

    return [name for name in SYSTEMS if name.startswith(begun)]


@commands.command()
def systems(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Show the parameters and the paper of these.",
            autocompletion=_system_names,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the systems that can be run, those of packages too, or show some with parameters and paper."""
    with endings():
        from emulator.contract.registry import SYSTEMS
        from emulator.experiment.file.keys import suggestion
        from emulator.experiment.file.package_kinds import displaced_names
        from trellis.command.systems_table import fields_of, headline, table_of, usable_systems

        chosen = names or []
        for name in chosen:
            if name not in SYSTEMS:
                raise UserError(f'no system is called "{name}". {suggestion(name, SYSTEMS)}')
        if chosen and as_json:
            say_json([fields_of(SYSTEMS[name], SYSTEMS.package_of(name)) for name in chosen])
        elif chosen:
            for name in chosen:
                out.print(table_of(SYSTEMS[name], SYSTEMS.package_of(name)))
        if chosen:
            return
        broken: list[str] = []
        found = list(usable_systems(broken))
        if as_json:
            say_json([fields_of(system, package) for system, package in found])
        else:
            for system, package in found:
                out.print(headline(system, package), markup=False, soft_wrap=True)
            out.print("parameters and paper: trellis systems NAME", markup=False)
        if refused := dict.fromkeys([*broken, *displaced_names()]):
            raise UserError("\n".join(refused))


@commands.command()
def experiments(as_json: Json = False) -> None:
    """List the ready experiments that come with Trellis, and those of installed packages."""
    with endings():
        from emulator.experiment.file.document import ExperimentError, read_document
        from emulator.experiment.file.package_experiments import ready_experiments
        from emulator.experiment.file.shipped import OWN

        broken: list[str] = []
        found: list[dict[str, str]] = []
        for name, package, file in ready_experiments(broken):
            try:
                title = str(read_document(file).values.get("title") or "")
            except ExperimentError as error:
                broken.append(f"{name} of the package {package}: {error}")
                continue
            found.append({"name": name, "title": title, "package": package, "file": str(file)})
        if as_json:
            say_json(found)
        else:
            for each in found:
                package = "" if each["package"] == OWN else f"  ({each['package']})"
                out.print(f"{each['name']}  {each['title']}{package}", markup=False, soft_wrap=True)
        if broken:
            raise UserError("\n".join(broken))


@commands.command()
def messages(
    files: Annotated[list[Path], typer.Argument(metavar="FILE.proto", help="Files with messages of peers.")],
    folder: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Default: that of --include.")
    ] = None,
    include: Annotated[
        Path, typer.Option("--include", metavar="FOLDER", help="What imports are relative to.")
    ] = Path(),
    as_json: Json = False,
) -> None:
    """Write the Python classes of messages: `a/b.proto` becomes `a/b.py`. Says their names and kinds."""
    with endings():
        from emulator.messages.building import write_messages

        try:
            written = write_messages(files, include, folder)
        except ValueError as error:
            raise UserError(str(error)) from None
        if as_json:
            say_json([_fields(made) for made in written])
            return
        for made in written:
            out.print(str(made.path), markup=False, soft_wrap=True)
            for name, told, kind in made.types:
                named = f"{told} ({kind})" if told else "a part of messages"
                out.print(f"  {name}: {named}", markup=False, soft_wrap=True)


def _fields(made: Made) -> dict[str, Any]:
    """Return a module that was written, for JSON; a part of messages has no name."""
    kinds = [{"class": name, "name": told, "kind": kind} for name, told, kind in made.types]
    return {"file": str(made.path), "messages": kinds}


@commands.command("compile")
def compile_packages(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PACKAGE]...",
            help="As they are imported. Default: all installed ones that add something.",
        ),
    ] = None,
) -> None:
    """Compile packages to native code, together with Trellis."""
    with endings():
        from emulator.compiler.build import build, missing_tools
        from emulator.compiler.finder import FOLDER, package_modules
        from emulator.contract.packages import installed_packages

        chosen = names or [module for package in installed_packages() for module in package.modules]
        if not chosen:
            raise UserError("no installed package adds anything to Trellis. Name one as it is imported")
        if (missing := missing_tools()) is not None:
            raise UserError(f"{missing} not found, and compiling needs it. Packages run without, slower")
        folders = {name: _folder_of(name) for name in chosen}
        build(FOLDER, list(folders.values()))
        for name, folder in folders.items():
            count = len(package_modules(folder))
            out.print(
                f"{name}: {counted(count, 'module is', 'modules are')} compiled", markup=False, soft_wrap=True
            )


def _folder_of(name: str) -> Path:
    """Return the folder of an installed package. Raises UserError if there is none of that name."""
    found = find_spec(name) if name.isidentifier() else None
    if found is None or found.origin is None:
        raise UserError(f'there is no package "{name}" here. Name it as it is imported, and install it first')
    origin = Path(found.origin)
    if origin.name != "__init__.py":
        raise UserError(f"{name} is a single file, {origin}. Only packages with a folder are compiled")
    return origin.parent
