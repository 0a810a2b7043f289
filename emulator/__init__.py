"""The emulator, which runs a trial of a peer-to-peer system on a virtual clock, in processes or in pods.

Read `contract` first, then a system in `protocols`. `experiment` checks the file of a run, draws plans and
keeps the results; `workload`, `churn`, `network` and `faults` have the parts of that file, and `layouts` what
is set up before a trial. `runtime` drives the peers of a trial, `fleet` its hosts and `trials` whole trials,
and `telemetry` records them. By `tracing` programs tell operators what they do themselves. `messages`,
`compact`, `kernels`, `files`, `compiler` and `trust` serve all of these, and `testing` is for tests of
protocols.

Whatever imports a part of this package finds the compiled protocols first, where there are any.
"""

from emulator.compiler import finder as finder
