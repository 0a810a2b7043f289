"""A fixed piece of work in plain Python, so that figures from two machines can be compared."""

from __future__ import annotations

import time

_STEPS = 2_000_000


def main() -> None:
    """Print the processor time of the loop, the least of three."""
    print(f"calibration: {min(_seconds() for _ in range(3)):.2f} s for {_STEPS:,} steps", flush=True)


def _seconds() -> float:
    began = time.process_time()
    table: dict[int, list[int]] = {}
    state = 1
    for step in range(_STEPS):
        state = (state * 1_103_515_245 + 12_345) & 0x7FFFFFFF
        entry = table.get(state & 0xFFFF)
        if entry is None:
            table[state & 0xFFFF] = [step]
        else:
            entry[0] = step
    return time.process_time() - began


if __name__ == "__main__":
    main()
