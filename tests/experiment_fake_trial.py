"""A trial's process with a runtime that does what TRELLIS_FAKE_TRIAL says: trial's name -> behaviour."""

import errno
import json
import os
import signal
import subprocess
import sys
import time

from emulator.experiment.run.fidelity import Check, Fidelity
from emulator.runtime.progress import Progress
from emulator.trials import trial


def run_fake(spec, plan, directory, report):
    what = json.loads(os.environ.get("TRELLIS_FAKE_TRIAL", "{}")).get(directory.name, "valid")
    with (directory.path / "attempts").open("a") as attempts:
        attempts.write(f"{what}\n")
    for second in range(3):
        report(Progress("measure", float(second), spec.phases.end, spec.peers, second, 0, 0))
    if what == "crash":
        raise RuntimeError("the protocol is broken")
    if what == "disk":
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "telemetry/a.otlp")
    if what == "kill":
        print("nearly there", flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if what in ("hang", "deaf"):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"])
        if what == "deaf":
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        (directory.path / "hanging").touch()
        try:
            time.sleep(120)
        finally:
            (directory.path / "ended-itself").touch()
    checks = [Check("lateness", 200.0 if what == "invalid" else 1.0, 100.0, "ms")]
    return Fidelity("virtual", "virtual clock", checks)


trial._runtime = lambda spec: run_fake
trial.plan_trial = lambda spec, directory: None
trial._read_plan = lambda directory, kind: None

main = trial.main

if __name__ == "__main__":
    sys.exit(main())
