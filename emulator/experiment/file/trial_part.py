"""Parts of a trial, by times and by its faults and its attack, such as "from 10 s after split"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from emulator.experiment.file.keys import suggestion
from emulator.faults.spec import ATTACK, Window
from emulator.files.quantities import parse_duration

_TIME = r"[0-9]+(?:\.[0-9]+)?\s*[a-z]+"
_FORM = re.compile(
    r"(?P<side>before|during|after)\s+(?P<fault>[a-z0-9][a-z0-9-]*)"
    rf"|from\s+(?P<later>{_TIME})\s+after\s+(?P<healed>[a-z0-9][a-z0-9-]*)"
    rf"|from\s+(?P<begin>{_TIME})(?:\s+until\s+(?P<end>{_TIME}))?"
    rf"|until\s+(?P<until>{_TIME})"
)
FORMS = (
    "before, during or after a fault, from 10 s after a fault, from 60 s, until 80 s, or from 60 s until 80 s"
)


@dataclass(frozen=True, slots=True)
class TrialPart:
    """A part of the measure phase of a trial."""

    text: str
    side: str
    """"before", "during" or "after" the fault; empty for times alone."""
    fault: str
    """The name of the fault, or `ATTACK`."""
    begins: float
    """The first trial time (s); for a part after a fault, the seconds from the fault's end."""
    ends: float | None
    """The trial time (s) at which it is over; None: with the measure phase, or as the fault says."""

    @classmethod
    def parse(cls, text: str) -> TrialPart:
        """Return the part that a text says. Raises ValueError for any other text."""
        form = _FORM.fullmatch(text)
        if form is None:
            raise ValueError(f'"{text}" is no part of a trial. Write {FORMS}')
        given = {name: found for name, found in form.groupdict().items() if found is not None}
        if "side" in given:
            return cls(text, given["side"], given["fault"], 0.0, None)
        if "later" in given:
            return cls(text, "after", given["healed"], parse_duration(given["later"]), None)
        ends = given.get("end") or given.get("until")
        begins = parse_duration(given["begin"]) if "begin" in given else 0.0
        return cls(text, "", "", begins, None if ends is None else parse_duration(ends))

    def window(self, measured: tuple[float, float], windows: Mapping[str, Window]) -> tuple[float, float]:
        """Return the trial times (s) from which and before which an operation belongs to the part.

        `measured` is the measure phase of the trial, `windows` are its faults and its attack by name. Raises
        ValueError if it has no such fault, or nothing of the measure phase belongs to the part.
        """
        begins, ends = self.begins, measured[1] if self.ends is None else self.ends
        if self.fault:
            found = windows.get(self.fault)
            if found is None and self.fault == ATTACK:
                raise ValueError("the trial has no attackers")
            if found is None:
                known = suggestion(self.fault, windows) if windows else "The trial has no faults at all"
                raise ValueError(f'there is no fault "{self.fault}". {known}'.rstrip())
            if self.side == "before":
                begins, ends = 0.0, found.begins
            elif self.side == "during":
                begins, ends = found.begins, found.ends
            else:
                begins += found.ends
        begins, ends = max(begins, measured[0]), min(ends, measured[1])
        if begins >= ends:
            phase = f"{measured[0]:g} to {measured[1]:g} s"
            mend = "Move the fault, or change `phases`" if self.fault else "Name times within it"
            raise ValueError(f'nothing of the measure phase ({phase}) is "{self.text}". {mend}')
        return begins, ends
