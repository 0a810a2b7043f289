"""The plain twin of `arenas.c`: without it Python's objects lie where they always do."""

from __future__ import annotations


def use_huge_pages() -> None:
    """Change nothing."""
