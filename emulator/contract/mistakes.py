"""This module tells who made an error in the code of a package, where and when, with the author's own lines.

The worlds call `placed` where an error ends them, so nothing is paid before there is one. What asks a package
outside of a trial does so in a block of `code_of`.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Any, Final

from emulator.contract.packages import BadPackage, installed_packages

_PLACED: Final = "in the system "
"""The beginning of the note that `placed` adds."""
_ENGINE = frozenset({"emulator", "analysis", "services", "trellis", "librt"})
_OWN_PROTOCOLS = "emulator.protocols."
_LINES = 3
"""The most lines of the author that are told."""
_LONGEST = 160
"""The most characters of each."""


def placed(error: BaseException, system: str, peer: int | None, at: float, doing: str) -> Exception:
    """Return the error with a note of who made it, when (s of trial time) and `doing` what, and of the last
    lines in the author's own files.

    The note of the innermost place stays; a second call adds none. An attempt to end the process becomes a
    RuntimeError.
    """
    if not isinstance(error, Exception):
        found = RuntimeError(f"it tried to end the process, by {type(error).__name__}({error})")
        error = found.with_traceback(error.__traceback__)
    if not any(note.startswith(_PLACED) for note in getattr(error, "__notes__", ())):
        who = "" if peer is None else f" at peer {peer}"
        lines = _lines(error.__traceback__)
        where = f": {'; '.join(lines)}" if lines else ""
        error.add_note(f"{_PLACED}{system}{who}, at {at:.3f} s of the trial, {doing}{where}")
    return error


@contextmanager
def code_of(thing: object, doing: str, *may_raise: type[Exception]) -> Iterator[None]:
    """Ask something of `thing`, which may come from a package, and take the answer apart, in a block.

    `doing` says what is asked, such as "drew its sessions". Raises BadPackage for an error in the block if
    `thing` comes from a package and the error is none that it `may_raise`; other errors go on.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        if isinstance(error, (BadPackage, *may_raise)):
            raise
        owner = thing if isinstance(thing, type) or callable(thing) else type(thing)
        module = str(getattr(owner, "__module__", ""))
        package = _package_of(module)
        if not package:
            raise
        name = getattr(owner, "__qualname__", module)
        raise BadPackage(f"the package {package}: {name} {doing}: {with_lines(error)}") from error


def _package_of(module: str) -> str:
    """Return the package that brings a module, with its version; "" if none does."""
    top = module.partition(".")[0]
    return next((f"{each.name} {each.version}" for each in installed_packages() if top in each.modules), "")


def blamed_package(error: BaseException) -> bool:
    """Return whether the code of a package raised an error, or called what did."""
    return any(_package_of(module) for module, _ in _frames(error.__traceback__))


def with_lines(error: BaseException) -> str:
    """Return the error in one line, with the last lines in files of packages."""
    lines = _lines(error.__traceback__)
    return "; ".join([in_words(error), *lines])


def in_words(error: BaseException) -> str:
    """Return the error with all that was noted of it, in one line."""
    text = " ".join(str(error).split())
    told = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return "; ".join([told, *(" ".join(note.split()) for note in getattr(error, "__notes__", ()))])


def called(call: Any) -> str:
    """Return the name of a function or method for messages, such as "Breaker.tick"."""
    while isinstance(call, partial):
        call = call.func
    owner = getattr(call, "__self__", None)
    name = getattr(call, "__name__", "")
    if owner is not None and name and not isinstance(owner, type):
        return f"{type(owner).__name__}.{name}"
    return str(getattr(call, "__qualname__", "") or name or repr(call))


def handled(what: str, kind: str, sender: int, channel: str, by: Callable[..., Any] | None) -> str:
    """Return what a peer did with a message of this kind from `sender`, for `placed`."""
    on = f" on channel {channel!r}" if channel else ""
    handler = "" if by is None else f" by {called(by)}"
    return f"when it handled the {what} {kind} of peer {sender}{on}{handler}"


def _lines(traceback: TracebackType | None) -> list[str]:
    """Return the last lines that the traceback has in files of packages, or else of anybody but Trellis."""
    frames = list(_frames(traceback))
    packages = {module for package in installed_packages() for module in package.modules}
    mine = [
        line
        for module, line in frames
        if module.partition(".")[0] in packages or module.startswith(_OWN_PROTOCOLS)
    ]
    others = [
        line for module, line in frames if module.partition(".")[0] not in _ENGINE | sys.stdlib_module_names
    ]
    return list(dict.fromkeys(mine or others))[-_LINES:]


def _frames(traceback: TracebackType | None) -> Iterator[tuple[str, str]]:
    """Yield the module of each frame from the outermost in, and its line in words."""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        line = linecache.getline(code.co_filename, traceback.tb_lineno).strip()
        file = "/".join(code.co_filename.replace("\\", "/").split("/")[-2:])
        said = f": {line}" if line else ""
        text = f"{file}, line {traceback.tb_lineno}, in {code.co_name}{said}"
        module = str(traceback.tb_frame.f_globals.get("__name__", ""))
        yield module, text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
        traceback = traceback.tb_next
