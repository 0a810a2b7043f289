"""The parameters of Chord."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from emulator.files.quantities import Duration


class ChordParameters(BaseModel):
    """The parameters of Chord.

    docs/systems/chord.md says which of them the papers name, and with which values.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    successors: int = Field(20, ge=1, le=256, description="r: length of the successor list")
    stabilization: Duration = Field(
        5.0, gt=0, description="time between two stabilisations, each of which also fixes fingers"
    )
    eager: bool = Field(
        True,
        description="whether a peer stabilises at once when its successor has a nearer predecessor, and goes "
        "on while better successors are named; if not, it finds one of them a period, as in the papers",
    )
    fix_fingers: Literal["random", "round-robin", "all"] = Field(
        "random",
        description="fingers that a stabilisation looks up: a random one of those beyond the successor, the "
        "next of all, or each one beyond the successor",
    )
    predecessor: Literal["rectify", "check", "notify"] = Field(
        "rectify",
        description="when a silent predecessor is given up: when another peer notifies (Zave), at each "
        "stabilisation (check_predecessor), or only for a nearer one",
    )
    lookups: Literal["recursive", "iterative"] = Field(
        "recursive",
        description="whether peers pass a message on, or its origin asks each of them for the next one",
    )
    search: Literal["fingers and successors", "fingers"] = Field(
        "fingers and successors", description="peers among which a search finds the closest preceding one"
    )
    merge: bool = Field(
        False,
        description="whether a peer looks for its place by peers that it once found silent, so that rings "
        "that a partition made become one",
    )
    drop_silent: bool = Field(
        True,
        description="whether a peer that leaves a search or a message unanswered is dropped at once; the "
        "successor is asked first",
    )
    timeout: Duration = Field(2.0, gt=0, description="time that a peer has to answer")
    retries: int = Field(
        2,
        ge=0,
        description="repetitions of a question of the ring's maintenance, and of a message to its key's "
        "successor, before a peer has failed",
    )
    join_timeout: Duration = Field(
        1.0, gt=0, description="time after which a peer that found no ring asks again for contacts"
    )


class ChordLookupParameters(ChordParameters):
    """The parameters of the system that looks keys up in Chord."""

    virtual_nodes: int = Field(
        1, ge=1, le=64, description="nodes of the ring that each peer is, each with an identifier of its own"
    )
