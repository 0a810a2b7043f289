"""All benchmarks of speed and memory, one after the other: `make bench`."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

from benchmarks import calibration, control, matching, netem, realtime, spark, virtual
from emulator.trials.nursery import VARIABLES

if __name__ == "__main__":
    argparse.ArgumentParser("python -m benchmarks", description=__doc__).parse_args()
    calibration.main()
    matching.main()
    for system in virtual.TRIALS:
        command = [sys.executable, "-m", "benchmarks.virtual", system]
        subprocess.run(command, env=os.environ | VARIABLES, check=True)
    realtime.main()
    spark.main()
    netem.main()
    control.main()
