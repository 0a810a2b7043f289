"""Writes the pages of `docs/reference` anew."""

from __future__ import annotations

from docs.making.pages import FOLDER, PAGES

for name, make in PAGES.items():
    (FOLDER / name).write_text(make())
