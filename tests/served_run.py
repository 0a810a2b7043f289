"""A run directory that the results service shows, and the service."""

import threading
from contextlib import contextmanager

from services.results import ResultsServer

EXPERIMENT = """\
name: small
system: {name: vitis}
peers: 10
repeat: 3
workload:
  subscriptions: {kind: random, topics: 20, per_peer: 2, buckets: 1}
"""


PROGRESS = {
    "phase": "measure",
    "trial_time": 12.0,
    "trial_end": 80.0,
    "peers_up": 10,
    "asked": 3,
    "delivered": 5,
    "messages": 900,
}


def begin(run):
    """Make what is there when the first trial has ended and the second one runs."""
    run.path.mkdir()
    run.experiment.write_text(EXPERIMENT)
    for number, fields in enumerate([{"state": "invalid", "reasons": ["<late>"]}, {"state": "running"}], 1):
        trial = run.trial(f"vitis-{number}")
        trial.path.mkdir(parents=True)
        trial.write_status(progress=PROGRESS, **fields)


@contextmanager
def serving(run, token=""):
    """Serve the run on a free port until the block ends."""
    server = ResultsServer("127.0.0.1", 0, run, token)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()
