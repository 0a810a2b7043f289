"""Times of spans in trial time of the coordinator's clock.

A message was sent by the clock of the sender's host and handled by that of the receiver's. Hosts start on the
coordinator's time, whatever their clocks say; the drift of each clock since then is interpolated between the
two measurements of its offset, at the start and the end of the trial.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

TIMES = pa.schema([("sent_s", pa.float64()), ("handled_s", pa.float64()), ("delay_ms", pa.float64())])
"""The columns that `with_times` adds."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clocks of a trial's hosts."""

    end_s: float
    """The end of the trial."""
    drifts: Mapping[str, float]
    """The trial ns by which each host's clock gained on the coordinator's from the start to the end."""
    homes: Mapping[int, str]
    """The host of each peer."""


def with_times(spans: pa.Table, clocks: Clocks | None = None) -> pa.Table:
    """Return a table of `SPANS` with the columns of `TIMES`; without `clocks` all hosts have one clock."""
    sent, handled = spans["sent_ns"], spans["handled_ns"]
    if clocks is not None:
        own = _each(spans["host"], lambda host: clocks.drifts.get(host, 0.0))
        others = _each(spans["sender"], lambda peer: clocks.drifts.get(clocks.homes.get(peer, ""), 0.0))
        at_sender = np.where(spans["sender"].is_null().to_numpy(), own, others)
        sent, handled = _corrected(sent, at_sender, clocks), _corrected(handled, own, clocks)
    times = {
        "sent_s": pc.divide(_float(sent), 1e9),
        "handled_s": pc.divide(_float(handled), 1e9),
        "delay_ms": pc.divide(_float(pc.subtract(handled, sent)), 1e6),
    }
    for name, values in times.items():
        spans = spans.append_column(name, values)
    return spans


def _float(ns: pa.ChunkedArray) -> pa.ChunkedArray:
    return ns.cast(pa.float64(), safe=False)


def _each(column: pa.ChunkedArray, drift: Callable[[Any], float]) -> Floats:
    """Return the drift for each value of a column, 0 where it is null."""
    codes = column.combine_chunks().dictionary_encode()
    drifts = np.array([*map(drift, codes.dictionary.to_pylist()), 0.0], np.float64)
    taken: Floats = drifts[codes.indices.fill_null(len(drifts) - 1).to_numpy()]
    return taken


def _corrected(ns: pa.ChunkedArray, drifts: Floats, clocks: Clocks) -> pa.ChunkedArray:
    there = ns.fill_null(0).to_numpy()
    share = np.clip(there / (clocks.end_s * 1e9), 0.0, 1.0)
    drift = drifts * share
    whole = np.sign(drift) * np.floor(np.abs(drift) + 0.5)
    return pa.chunked_array([pa.array(there - whole.astype(np.int64), mask=ns.is_null().to_numpy())])
