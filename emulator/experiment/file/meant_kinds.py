"""Advice for kinds of parts of an experiment that there are not, and the keys that a kind needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from emulator.experiment.file.document import Key
from emulator.experiment.file.keys import fields, models, types_at
from emulator.experiment.file.meant_words import EXAMPLES, KINDS, NEEDED
from emulator.experiment.file.wrong import Wrong, written
from emulator.files.quantities import parse_duration


def meant_kind(wrong: Wrong, given: Any, known: Sequence[str]) -> str:
    """Return what to write for a kind of a part of the experiment, or an empty text."""
    if given == "file":
        having = [kind for kind in known if "file" in fields(types_at(wrong.model, wrong.key), kind)]
        return f"Kinds that are read from a `file` are {', '.join(having)}" if having else ""
    if wrong.named == ("network", "latency"):
        try:
            parse_duration(given)
        except ValueError:
            pass
        else:
            return f"Write {{kind: constant, rtt: {given}}} if it is the RTT of all peers"
    word = str(given).strip().lower().replace("_", "-").replace(" ", "-")
    for kind in (word, *KINDS.get(word, ())):
        if kind in known:
            whole = whole_kind(
                wrong, wrong.key, kind, wrong.value if isinstance(wrong.value, Mapping) else {}
            )
            return f"Write {written(whole) if wrong.is_mended_by(whole) else f'kind: {kind} beside its keys'}"
    return ""


def whole_kind(wrong: Wrong, key: Key, kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part at a key of this kind, with what is given of it, and with all that it needs."""
    named = tuple(part for part in key if isinstance(part, str))
    (model, *_) = models(types_at(wrong.model, key), kind)
    known = model.model_fields
    whole = {"kind": kind} | {
        name: value for name, value in given.items() if name in known and name != "kind"
    }
    for name, info in known.items():
        is_needed = info.is_required() or (name, kind) in NEEDED
        if is_needed and name not in whole and (*named, name) in EXAMPLES:
            whole[name] = EXAMPLES[*named, name]
    return whole
