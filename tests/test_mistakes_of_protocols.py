"""An error in a protocol's code names the system, the call, the peer, the time and the author's line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from mistaken_toy import Mistaken, MistakenParameters
from realtime_world import World
from small_trial import make_plan, run, trial_spec

from emulator.compiler.finder import WHY_INTERPRETED
from emulator.contract.mistakes import in_words
from emulator.contract.protocol import Event
from emulator.experiment.file.spec import SystemSpec
from emulator.trials.trial import describe

AT_PUBLISH = r"in the system mistaken at peer 0, at 5\.000 s of the trial, when it was asked to publish"
LINE = r": .*mistaken_toy\.py, line \d+, in "
INTERPRETED = {
    "text sent": "Mistaken of peer 0 sends 'text', which is no message",
    "text as peer": "Mistaken of peer 0 sends Goodbye to '1', which is no number of a peer",
    "text replied": "Mistaken of peer 1 sends 'a text', which is no message",
    "unit": "Mistaken of peer 0 recorded 'seen': its unit is 5, which is no text",
    "subject": r"Mistaken of peer 0 recorded 'seen': its subject is 1\.5\. Give it the whole number",
    "value": "Mistaken of peer 0 recorded 'seen': its value is '5', which is no number",
}
"""What is told besides where the runtime is interpreted; compiled code refuses these types itself."""
MISTAKES = {
    "made": r"^LookupError: a mistake; in the system mistaken at peer 0, at 0\.000 s .* its protocol was made"
    + LINE
    + "__init__",
    "handler": "^TypeError: Mistaken of peer 0 handles EventData by 'no function', which is no function",
    "start": "peer 0, at 0.000 s of the trial, when it was asked to join" + LINE + "start",
    "subscribe": "peer 0, at 0.000 s of the trial, when its protocol was made" + LINE + "subscribe",
    "publish": AT_PUBLISH + LINE + "publish: self.err",
    "message": r"peer 1, at 5\.\d+ s of the trial, when it handled the message Goodbye of peer 0 by "
    "Mistaken.on_goodbye" + LINE + "on_goodbye",
    "request": r"peer 1, at 5\.\d+ s of the trial, when it handled the request Pull of peer 0 by .*on_pull"
    + LINE
    + "on_pull",
    "text replied": r"^TypeError: .*; in the system mistaken at peer 1, at 5\.\d+ s .*, when it handled the "
    "request Pull of peer 0 by Mistaken.on_pull",
    "reply": r"peer 0, at 5\.\d+ s of the trial, when it handled the reply EventData of peer 1"
    + LINE
    + "on_reply",
    "timer": r"peer 0, at 5\.500 s of the trial, in a timer's call" + LINE + "on_timer",
    "gauges": r"gauges\(\) of Mistaken of peer 0 was called; in the system mistaken, at .* state was recorded"
    + LINE
    + "gauges",
    "gauges as list": r"^TypeError: gauges\(\) of Mistaken of peer 0 returned \[1\], which is no mapping",
    "gauge of text": "^TypeError: the gauge 'known' of Mistaken of peer 0 is '5', which is no number",
    "gauge of None": "^TypeError: the gauge 'known' of Mistaken of peer 0 is None, which is no number",
    "gauge too large": "^TypeError: the gauge 'known' of Mistaken of peer 0 is 10+, which is no number",
    "neighbours": r"^TypeError: the neighbours 'friend' of Mistaken of peer 0 are \['x'\], which are no",
    "text sent": "^TypeError: .*" + AT_PUBLISH + LINE + r'publish: .*; .*world\.send\(1, "text"\)',
    "text as peer": "^TypeError: .*" + AT_PUBLISH + LINE + r'publish: .*; .*world\.send\("1", Goodbye\(\)\)',
    "text as field": AT_PUBLISH + LINE + r'publish: .*; .*EventData\("x"\)',
    "exit": r"^RuntimeError: it tried to end the process, by SystemExit\(3\); " + AT_PUBLISH,
    "recursion": "^RecursionError: .*"
    + AT_PUBLISH
    + LINE
    + r".*; .*in endless: return endless\(count \+ 1\)$",
    "no timer": "^TypeError: peer 0 set a timer for None, which is no function.*" + AT_PUBLISH,
    "unit": "^TypeError: .*" + AT_PUBLISH,
    "units": r"^ValueError: Mistaken of peer 0 recorded 'seen': "
    + 'its unit is "ms", and was "s" before.*'
    + AT_PUBLISH,
    "subject": "^TypeError: .*" + AT_PUBLISH,
    "value": "^TypeError: .*" + AT_PUBLISH,
}


def virtual(way: str, folder: Path) -> str:
    """Return the reason of a trial whose protocol makes the mistake."""
    peers = range(2)
    plan = make_plan(2, [(p, 0.0, 20.0) for p in peers], [(p, 1, 0.0, 20.0) for p in peers], [(5.0, 0, 1)])
    spec = trial_spec("mistaken", 2, 25.0, runtime={"kind": "virtual", "check": True})
    system = SystemSpec(name="mistaken", parameters={"way": way})
    with pytest.raises(Exception) as raised:
        run(spec.model_copy(update={"system": system}), plan, folder)
    return describe(raised.value)


@pytest.mark.parametrize("way", MISTAKES)
def test_a_mistake_on_the_virtual_clock_is_told_with_who_where_and_when(way: str, tmp_path: Path) -> None:
    told = virtual(way, tmp_path)
    assert re.search(MISTAKES[way], told), told
    if WHY_INTERPRETED and way in INTERPRETED:
        assert re.search(INTERPRETED[way], told), told
    assert told.count("in the system mistaken") == 1
    assert str(Path(__file__).parent) not in told


def real_time(way: str, folder: Path) -> str:
    """Return the error with which a host in real time ends."""
    world = World(folder)
    world.host.watch("mistaken")
    try:
        for peer in (1, 0):
            protocol = world.add(peer, lambda e: Mistaken(e, MistakenParameters(way=way)))
        session = world.host.sessions[0]

        def publish() -> None:
            session.operate("publish", {}, lambda: protocol.publish(Event(0, 0, 1)))

        world.host.agenda.add(world.host.clock.now(), publish)
        world.run(lambda: bool(world.failures))
        return in_words(world.failures[0])
    finally:
        world.close()


HERE = r"in the system mistaken at peer 0, at \d\.\d+ s of the trial, "
IN_REAL_TIME = {
    "publish": HERE + "in the call of .*" + LINE + "publish: self.err",
    "message": r"peer 1, at .* s of the trial, when it handled the message Goodbye of peer 0 by .*on_goodbye",
    "text replied": r"peer 1, at .*, when it handled the request Pull of peer 0 by Mistaken.on_pull",
    "reply": HERE + "when it handled the reply EventData of peer 1" + LINE + "on_reply",
    "timer": HERE + "in the call of Mistaken.on_timer" + LINE + "on_timer",
    "text sent": HERE + ".*" + LINE + r'publish: .*; .*world\.send\(1, "text"\)',
    "text as peer": HERE + ".*" + LINE + r'publish: .*; .*world\.send\("1", Goodbye\(\)\)',
    "exit": r"^RuntimeError: it tried to end the process, by SystemExit\(3\); " + HERE,
    "no timer": "^TypeError: peer 0 set a timer for None, which is no function.*" + HERE,
    "recursion": "^RecursionError: .*" + HERE + ".*in endless: return endless",
    "unit": "^TypeError: .*" + HERE,
}


@pytest.mark.parametrize("way", IN_REAL_TIME)
def test_a_mistake_in_real_time_is_told_with_who_where_and_when(way: str, tmp_path: Path) -> None:
    told = real_time(way, tmp_path)
    assert re.search(IN_REAL_TIME[way], told), told
    assert told.count("in the system mistaken") == 1
