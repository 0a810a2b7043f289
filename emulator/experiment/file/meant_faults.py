"""Advice for faults that say by a value, and not by a key, what they do."""

from __future__ import annotations

from typing import Any, Final

from emulator.experiment.file.keys import fields, types_at
from emulator.experiment.file.meant_words import FAULTS
from emulator.experiment.file.wrong import Wrong, at, written
from emulator.faults.groups import WHO
from emulator.faults.spec import KINDS

_KIND: Final = ("kind", "type", "what", "action")
_TELLING: Final = ("share", "number", "peers", "role", "region", "delay", "loss")
"""The keys below a fault's own key that are most often written beside it."""


def meant_fault(wrong: Wrong) -> str:
    """Return what to write where the kind of a fault is a value, or whom it hits stands beside its kind."""
    fault, last = at(wrong.values, wrong.key[:-1]), str(wrong.key[-1])
    if not isinstance(fault, dict) or last not in (*_KIND, *_TELLING):
        return ""
    if (kind := _kind(fault)) is None:
        one = "A fault does one of" if last in _KIND else "It belongs below what the fault does, one of"
        return f"{one} {', '.join(KINDS)}, such as crash: {{share: 0.1}}"
    below = fields(types_at(wrong.model, (*wrong.key[:-1], kind)))
    told = {
        name: value for name, value in fault.items() if name in below and name not in ("at", "for", "name")
    }
    if isinstance(fault.get(kind), dict):
        told = fault[kind] | told
    told = told if set(WHO) & told.keys() or not set(WHO) <= below.keys() else {"share": 0.5, **told}
    whole: dict[str, Any] = {
        name: value for name, value in fault.items() if name not in told and name not in _KIND
    }
    mended = {**whole, kind: told}
    return f"Write {kind}: {written(told)}" if wrong.is_mended_by(mended, wrong.key[:-1]) else ""


def _kind(fault: dict[str, Any]) -> str | None:
    """Return the key that says what a fault does, if it is there or is meant by a value."""
    for name in _KIND:
        word = str(fault.get(name, "")).strip().lower().replace("_", "-")
        if (kind := FAULTS.get(word, word)) in KINDS:
            return kind
    return next((kind for kind in KINDS if kind in fault), None)
