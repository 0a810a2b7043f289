"""The observer of a host, which measures the host while it runs, and reports."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict
from random import Random

import psutil

from emulator.compact.durations import Distribution
from emulator.contract.mistakes import placed
from emulator.experiment.file.spec import TrialSpec
from emulator.experiment.run.telemetry_totals import Written
from emulator.faults.crossings import Crossing
from emulator.network.link_use import LinkUse
from emulator.runtime.live_histograms import histogram_of
from emulator.runtime.realtime.host import Host
from emulator.runtime.realtime.script_follower import ScriptFollower
from trellis.v1 import control_pb2

_PROBE_PERIOD = 0.05
"""The least trial seconds between probes from one host."""
_PROBES_PER_S = 100
"""The most probes of all hosts together a second of trial time: like messages, they are fewer where time is
stretched."""
_RECORD_PERIOD = 0.05
"""The wall seconds between the records of a snapshot."""


class Observer:
    """Sends probes and writes metrics, by the host's agenda."""

    def __init__(self, host: Host, spec: TrialSpec, random: Random, probing: bool = True) -> None:
        """Probes are not sent without `probing`, because they would wait in links that the kernel limits."""
        self._host = host
        self._spec = spec
        self._random = random
        self._cpu_before = 0.0
        self._probe_period = max(_PROBE_PERIOD, (max(host.host_of) + 1) / _PROBES_PER_S)
        own = [peer for peer, index in enumerate(host.host_of) if index == host.index]
        self._probing_peers = own if probing else []

    def follow(self) -> None:
        """Put the measurements of the whole trial on the agenda."""
        self._cpu_before = time.process_time()
        agenda, phases = self._host.agenda, self._spec.phases
        agenda.add(phases.measure_start, self._write_snapshot)
        agenda.add(phases.measure_end, self._write_snapshot)
        agenda.add(phases.measure_start, self._host.network.count_links, True, phases.measure_start)
        if self._host.network.link_use():
            for begin, _ in self._spec.intervals()[1:]:
                agenda.add(begin, self._host.network.begin_link_interval, begin)
        agenda.add(phases.measure_end, self._host.network.count_links, False, phases.measure_end)
        agenda.add(self._spec.telemetry.metrics_interval, self._write_interval)
        if self._probing_peers:
            agenda.add(self._random.random() * self._probe_period, self._probe)

    def observe_end(self) -> None:
        """Write the metrics of the whole trial."""
        host = self._host
        host.recorder.write_interval(host.clock.now_ns(), len(host.sessions), host.dropped.total())

    def fidelity(self, controller: ScriptFollower) -> control_pb2.HostFidelity:
        """Sum up what the emulation did at this host, at the end of the trial."""
        host = self._host
        rates = {change.fault: map(encode_use, change.use) for change in host.network.changes}
        processing = [] if host.turns is None else host.turns.achieved.of_class
        return control_pb2.HostFidelity(
            timer_lateness=_encode(host.agenda.lateness),
            session_error=_encode(controller.session_error),
            loop_stall_s=host.agenda.longest_stall,
            dropped=dict(host.dropped),
            lost_spans=host.recorder.lost_spans,
            sent=host.sent,
            sent_to_other_hosts=host.sent_to_other_hosts,
            bounced=host.bounced,
            given_up=host.given_up,
            breaches=host.breaches.told(),
            protocol_drops=host.drops.told(),
            operations_missed=controller.operations_missed,
            probes=host.probes.kept,
            cpu_s=time.process_time() - self._cpu_before,
            memory_bytes=psutil.Process().memory_info().rss,
            written=told_of(host.recorder.written()),
            links=[encode_use(use) for use in host.network.link_use()],
            processing=[
                control_pb2.BusyTime(messages=time.messages, busy_s=time.busy_ns * 1e-9)
                for time in processing
            ],
            faults=[
                control_pb2.FaultTimes(
                    fault=acted.index,
                    begun_s=acted.begun,
                    ended_s=acted.ended,
                    peers=acted.hit,
                    waited=acted.waited,
                    messages=acted.messages,
                    crossing=_encode_crossing(acted.crossing),
                    rates=rates.get(acted.spec.name, ()),
                )
                for acted in controller.faults.acted
            ],
        )

    def _probe(self) -> None:
        host = self._host
        sender, receiver = self._random.choice(self._probing_peers), self._random.randrange(len(host.host_of))
        if sender != receiver:
            host.probe(sender, receiver)
        host.agenda.add(host.clock.now() + self._probe_period, self._probe)

    def _write_interval(self) -> None:
        """Write the metrics so far, so that they are not lost if the host is killed."""
        self._host.recorder.flush()
        self.observe_end()
        host = self._host
        up = [(peer, host.sessions[peer]) for peer in sorted(host.sessions)]
        peers = [(peer, session.sampled_components()) for peer, session in up if session.sampled]
        if peers:
            self._write_records(host.recorder.write_samples(host.clock.now_ns(), peers))
        # Readings are at multiples of the interval, so that they do not move away from the begins of faults.
        interval = self._spec.telemetry.metrics_interval
        host.agenda.add((host.clock.now() // interval + 1) * interval, self._write_interval)

    def _write_snapshot(self) -> None:
        host = self._host
        up = sorted(host.sessions)
        peers = ((peer, host.sessions[peer].components()) for peer in up if peer in host.sessions)
        self._write_records(host.recorder.write_snapshot(host.clock.now_ns(), peers))

    def _write_records(self, records: Iterator[None]) -> None:
        """Write one record now, and the next one after the messages that fall due meanwhile."""
        agenda, clock = self._host.agenda, self._host.clock
        try:
            written = next(records, self)
        except (Exception, SystemExit) as error:
            doing = "when its state was recorded"
            raise placed(error, self._spec.system.name, None, clock.now(), doing) from error.__cause__
        if written is None:
            agenda.add(clock.now() + _RECORD_PERIOD / clock.scale, self._write_records, records)


def progress_of(host: Host) -> control_pb2.HostProgress:
    """Return the progress of the host; the traces of its outcomes are told once."""
    return control_pb2.HostProgress(
        peers_up=len(host.sessions),
        asked=host.asked,
        delivered=host.outcomes.number,
        sent=host.sent,
        dropped=host.dropped.total(),
        lost_spans=host.recorder.lost_spans,
        joined=host.joined,
        timer_lateness_max_s=host.agenda.lateness.maximum,
        written=told_of(host.recorder.written()),
        cpu_s=time.process_time(),
        timer_lateness=histogram_of(host.agenda.lateness),
        delay_error=histogram_of(host.probes.errors),
        delivery_delay=host.outcomes.told_delays(),
        hops=host.outcomes.told_hops(),
        sent_of_kind=host.recorder.tallies.by_kind(),
        delivered_in_region=host.outcomes.in_region,
        up_in_region=host.outcomes.up_in_region(host.sessions),
    )


def told_of(written: Written) -> control_pb2.Written:
    """Return what was written, as the coordinator is told."""
    return control_pb2.Written(
        start=written.start,
        spans=written.spans,
        points=written.points,
        lost_spans=written.lost_spans,
        lost_points=written.lost_points,
        last_word=written.last_word,
    )


def _encode_crossing(crossing: Crossing | None) -> control_pb2.Crossing | None:
    return None if crossing is None else control_pb2.Crossing(**asdict(crossing))


def encode_use(use: LinkUse) -> control_pb2.LinkUse:
    """Return the use of links, as the coordinator is told."""
    return control_pb2.LinkUse(
        bytes=use.bytes,
        packets=use.packets,
        waited_ns=use.waited_ns,
        waits=_encode(use.waits),
        busy_bits=use.busy_bits,
        busy_s=use.busy_s,
        drops=use.drops,
        past=[encode_use(past) for past in use.past],
    )


def _encode(distribution: Distribution) -> control_pb2.Distribution:
    pairs = list(distribution.counts())
    return control_pb2.Distribution(
        buckets=[bucket for bucket, _ in pairs],
        counts=[count for _, count in pairs],
        maximum_s=distribution.maximum,
    )
