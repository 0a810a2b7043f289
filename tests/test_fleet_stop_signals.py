"""A process that a signal stopped is seen."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

from emulator.fleet.host.stop_signals import is_stopped


def test_a_process_that_is_stopped_is_seen_and_one_that_went_on_knows_it() -> None:
    program = (
        "import time; from emulator.fleet.host import stop_signals as stops\n"
        "stops.watch(); print('up', flush=True)\n"
        "while not stops.continued(): time.sleep(0.01)\n"
        "print(stops.continued())"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        assert not is_stopped(process.pid)
        process.send_signal(signal.SIGSTOP)
        deadline = time.monotonic() + 20
        while not is_stopped(process.pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert is_stopped(process.pid)
        process.send_signal(signal.SIGCONT)
        assert process.stdout.read() == "1\n"
    assert not is_stopped(process.pid)
