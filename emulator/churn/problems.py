"""What cannot be drawn of the `churn:` part of an experiment, without reading a file."""

from __future__ import annotations

from emulator.churn.spec import Model, Pareto, Poisson, Skype, TraceFile

MOST_SESSIONS = 5_000_000


def model_problems(model: Model, peers: int, trial_end: float) -> list[tuple[str, str]]:
    """Key below `churn.model` and problem, for each combination that cannot be drawn. Reads no file."""
    match model:
        case TraceFile():
            return _window_problems(model, trial_end)
        case Skype():
            from emulator.churn.skype import mean_cycle

            expected, key = peers * trial_end * model.compress / mean_cycle(), "compress"
        case Poisson() | Pareto():
            expected, key = peers * trial_end / (model.mean_session + model.mean_gap), "mean_session"
        case _:
            return []
    if expected > MOST_SESSIONS:
        return [(key, f"about {expected:.2g} sessions, more than the {MOST_SESSIONS:,} that a plan may have")]
    return []


def _window_problems(model: TraceFile, trial_end: float) -> list[tuple[str, str]]:
    usable, needed = model.until - model.start, trial_end * model.compress
    if usable <= 0:
        return [("start", f"{model.start:g} s is not before `until`, {model.until:g} s")]
    if needed > usable:
        window = f"a trial of {trial_end:g} s replays {needed:g} s of the trace, but from `start` to `until`"
        cure = f"lower compress to {int(usable / trial_end * 1000) / 1000:g}, or shorten the phases"
        return [("compress", f"{window} are {usable:g} s: {cure}")]
    return []
