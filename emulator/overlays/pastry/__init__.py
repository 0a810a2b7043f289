"""Pastry: `overlay.py` is one peer; each other file holds one part of it."""

from emulator.overlays.pastry.overlay import Pastry
from emulator.overlays.pastry.parameters import PastryParameters

__all__ = ["Pastry", "PastryParameters"]
