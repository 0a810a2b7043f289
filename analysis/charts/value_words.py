"""Words for varied values that have the same names, such as two lists of faults that are called "cut"."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, TypeGuard


class Worded(list[Any]):
    """A list of what has names, with words that tell it from the other values of its key."""

    def __init__(self, value: Sequence[Any], words: str) -> None:
        super().__init__(value)
        self.words = words


class WordedMapping(dict[str, Any]):
    """A mapping, with words for what tells it from the other values of its key."""

    def __init__(self, value: Mapping[str, Any], words: str) -> None:
        super().__init__(value)
        self.words = words


def has_names(value: Any) -> TypeGuard[list[Mapping[str, Any]]]:
    """Return whether a value is a list of what has names, such as faults."""
    return isinstance(value, list) and all(isinstance(each, Mapping) and "name" in each for each in value)


def with_words(
    variants: Sequence[Mapping[str, Any]], label: Callable[[str, Any], str]
) -> list[Mapping[str, Any]]:
    """Return variants, in which lists that `label` would give the same text have words of their own.

    The words add to each name what it is, "cut (partition)" and "cut (links)", or in what it differs,
    "cut (share 20 %)" and "cut (share 50 %)". The words of a mapping leave out what all values of its key
    have.
    """
    words: dict[tuple[str, str], str] = {}
    for key in dict.fromkeys(key for variant in variants for key in variant["values"]):
        given = [variant["values"].get(key) for variant in variants]
        lists = {repr(list(value)): list(value) for value in given if has_names(value)}
        mappings = {repr(value): value for value in given if isinstance(value, Mapping)}
        if len(mappings) > 1:
            words |= {(key, told): text for told, text in _shortened(key, given, mappings, label).items()}
        by_label: dict[str, dict[str, list[Any]]] = {}
        for told, value in lists.items():
            by_label.setdefault(label(key, value), {})[told] = value
        for same in by_label.values():
            if len(same) > 1:
                found = zip(same, _apart(list(same.values()), label), strict=True)
                words |= {(key, told): text for told, text in found}
    if not words:
        return list(variants)
    return [
        {**variant, "values": {key: _worded(key, value, words) for key, value in variant["values"].items()}}
        for variant in variants
    ]


def _worded(key: str, value: Any, words: Mapping[tuple[str, str], str]) -> Any:
    if isinstance(value, Mapping):
        text = words.get((key, repr(value)))
        return value if text is None else WordedMapping(value, text)
    text = words.get((key, repr(list(value)))) if has_names(value) else None
    return value if text is None else Worded(value, text)


def _shortened(
    key: str,
    given: Sequence[Any],
    mappings: Mapping[str, Mapping[str, Any]],
    label: Callable[[str, Any], str],
) -> dict[str, str]:
    """Return words for mappings without equal parts, and without what stands beside a `kind` that no other
    value has; none if these words do not tell them apart."""
    flat = {told: dict(_parts(value)) for told, value in mappings.items()}
    lacking = [dict[str, Any]() for value in given if not isinstance(value, Mapping)]
    same = _equal_parts([*flat.values(), *lacking])
    names_key = any(label(key, value) for value in given if not value)
    words = {}
    for told, value in mappings.items():
        beside = set[str]()
        for part, kind in flat[told].items():
            if part.rpartition(".")[2] == "kind" and sum(o.get(part) == kind for o in flat.values()) == 1:
                above = part.removesuffix("kind")
                beside |= {each for each in flat[told] if each.startswith(above) and each != part}
        kept = _kept(value, same | beside)
        is_whole = len(dict(_parts(kept))) == len(flat[told])
        text = label(key, kept) if kept else ""
        if names_key and kept and not is_whole and not any(isinstance(of, Mapping) for of in kept.values()):
            text = label(key, {key: kept})
        words[told] = text or label(key, dict(value))
    return words if len(set(words.values())) == len(words) else {}


def _equal_parts(flat: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the dotted keys of parts that are equal wherever the mapping around them is.

    Where some lack that mapping, these parts count only if each of the others has a further part in it, by
    which it is told.
    """
    found = set[str]()
    for above in {part.rpartition(".")[0] for of in flat for part in of}:
        begun = f"{above}." if above else ""
        having = [of for of in flat if any(part.startswith(begun) for part in of)]
        equal = {
            part
            for part, value in having[0].items()
            if part.startswith(begun) and all(part in of and of[part] == value for of in having)
        }
        further = (any(part.startswith(begun) and part not in equal for part in of) for of in having)
        if len(having) == len(flat) or all(further):
            found |= equal
    return found


def _kept(value: Mapping[str, Any], left_out: Set[str], above: str = "") -> dict[str, Any]:
    """Return a mapping without the parts at these dotted keys."""
    kept = {}
    for key, of in value.items():
        if isinstance(of, Mapping):
            if below := _kept(of, left_out, f"{above}{key}."):
                kept[key] = below
        elif f"{above}{key}" not in left_out:
            kept[key] = of
    return kept


def _apart(lists: Sequence[list[Any]], label: Callable[[str, Any], str]) -> list[str]:
    """Return words for lists of the same names: with the kinds of their entries if these tell them apart,
    else with all that differs."""
    by_kind = [
        _joined(value, [[key for key, of in each.items() if isinstance(of, Mapping)] for each in value])
        for value in lists
    ]
    if len(set(by_kind)) == len(lists):
        return by_kind
    flat = [[dict(_parts(each)) for each in value] for value in lists]
    details = [
        [
            [
                label(key.rpartition(".")[2], " and ".join(map(str, of)) if isinstance(of, list) else of)
                for key, of in each.items()
                if any(other[at].get(key) != of for other in flat)
            ]
            for at, each in enumerate(value)
        ]
        for value in flat
    ]
    return [_joined(value, of) for value, of in zip(lists, details, strict=True)]


def _joined(value: Sequence[Mapping[str, Any]], details: Sequence[Sequence[str]]) -> str:
    return " and ".join(
        f"{each['name']} ({', '.join(of)})" if of else str(each["name"])
        for each, of in zip(value, details, strict=True)
    )


def _parts(each: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted keys with their values."""
    for key, value in each.items():
        if isinstance(value, Mapping):
            yield from _parts(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value
