"""Pastry: `overlay.py` is one peer; each other file holds one part of it."""

from emulator.protocols.overlays.pastry.overlay import Pastry
from emulator.protocols.overlays.pastry.parameters import PastryParameters

__all__ = ["Pastry", "PastryParameters"]
