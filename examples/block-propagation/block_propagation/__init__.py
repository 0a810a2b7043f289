"""Block propagation: a broadcast of blocks of different sizes, with a workload and measures of its own."""
