"""Pastry: `overlay` is one peer, and each other file holds one part of it."""

from emulator.protocols.overlays.pastry.overlay import Pastry
from emulator.protocols.overlays.pastry.parameters import PastryParameters

__all__ = ["Pastry", "PastryParameters"]
