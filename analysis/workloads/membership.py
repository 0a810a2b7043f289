"""The analysis of a membership."""

from __future__ import annotations

from typing import Final

from analysis.contract.workload_analysis import WorkloadAnalysis

MEMBERSHIP: Final = WorkloadAnalysis()
