"""Kinds that installed packages add to a part of the experiment file, such as models of churn."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel

from emulator.contract.packages import BadPackage, Group, Offer, offers

K = TypeVar("K", bound=BaseModel)


def kinds_of_packages(group: Group, base: type[K], own: Iterable[str]) -> tuple[type[K], ...]:
    """Return the subclasses of `base` that packages offer in `group`, in the order of their names.

    `own` are the kinds that Trellis has. A kind that cannot be used is left out; `broken_kinds` tells why.
    """
    return tuple(_load(group, base, tuple(own))[0].values())


def broken_kinds(group: Group, base: type[BaseModel], own: Iterable[str]) -> dict[str, str]:
    """Return, by name, what is wrong with the kinds in `group` that packages offer and that cannot
    be used."""
    return _load(group, base, tuple(own))[1]


@cache
def _load(group: Group, base: type[K], own: tuple[str, ...]) -> tuple[dict[str, type[K]], dict[str, str]]:
    found: dict[str, type[K]] = {}
    broken: dict[str, str] = {}
    for offer in offers(group, own).values():
        try:
            found[offer.name] = _checked(offer, base)
        except BadPackage as error:
            broken[offer.name] = str(error)
    return found, broken


def _checked(offer: Offer, base: type[K]) -> type[K]:
    """Return the class that a package offers, after a check of it. Raises BadPackage."""
    found = offer.load()
    if not (isinstance(found, type) and issubclass(found, base)):
        raise offer.refusal(f"it is no subclass of {base.__name__}")
    kind = found.model_fields.get("kind")
    literal = kind is not None and get_origin(kind.annotation) is Literal
    if kind is None or not literal or get_args(kind.annotation) != (offer.name,):
        raise offer.refusal(f'its field "kind" has to be of type Literal["{offer.name}"]')
    if abstract := sorted(getattr(found, "__abstractmethods__", ())):
        raise offer.refusal(f"it does not define {', '.join(abstract)}")
    return found
