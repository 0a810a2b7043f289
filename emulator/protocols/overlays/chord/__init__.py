"""Chord (Stoica et al., SIGCOMM 2001, ToN 2003), with the ring maintenance that Zave proved correct.

Read `overlay` first, which is one peer, and `state`, which has its predecessor, its `successor_list`, its
`finger_table` and the `preceding_nodes` of a key; `intervals` says what lies between two identifiers. `join`
brings the peer in, `stabilization` keeps the ring, and `fix_fingers` the fingers. `find_successor` asks other
peers for the successor of a key, and `forwarding` brings messages of applications there.
"""

from emulator.protocols.overlays.chord.overlay import Chord
from emulator.protocols.overlays.chord.parameters import ChordParameters

__all__ = ["Chord", "ChordParameters"]
