"""Publish/subscribe systems, a folder for each paper.

By topic: `vitis` (with its baseline RVR), `opt`, `scribe`, `magnet`, `quasar`. By content: `li`, `kyra`,
and Kyra's baselines `siena` and `groups`, which share `content`. `shared` has what several systems do
alike.
"""
