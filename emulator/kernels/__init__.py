"""Kernels: loops over packed numbers that a large trial spends much of its time in, written in C.

Each kernel is in a short C file, which is documented by the rule that it serves. The Python file of the same
name has its plain twin: tests hold the kernel against it, and it serves where nothing was compiled. Kernels
keep nothing between calls but the room that they work in. They read columns of numbers through Python's
buffers (`columns.h`), and raise ValueError or IndexError for numbers that do not fit together. `native.pyi`
lists them, and `native.c` makes them a module.

`use_huge_pages` is no loop: it has the objects of a large trial lie where a processor finds them sooner.
"""

try:
    from emulator.kernels.native import best, elect, near, next_hops, rate, unite, use_huge_pages
except ImportError:
    from emulator.kernels.arenas import use_huge_pages
    from emulator.kernels.election import elect
    from emulator.kernels.routes import next_hops
    from emulator.kernels.selection import best, near
    from emulator.kernels.topic_sets import unite
    from emulator.kernels.utility import rate

__all__ = ["best", "elect", "near", "next_hops", "rate", "unite", "use_huge_pages"]
