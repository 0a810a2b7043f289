"""The page that shows how far the run is, until there is a report. It loads itself again."""

from __future__ import annotations

from html import escape

from emulator.trials.run_progress import ENDED, Standing, TrialStanding

PERIOD = 3
"""The seconds between two loads."""
_MAX_ROWS = 200

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<link rel="icon" href="data:,">
<title>{title}</title>
<script>setTimeout(() => location.reload(), {period} * 1000);</script>
<noscript><meta http-equiv="refresh" content="{period}"></noscript>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }}
table {{ border-collapse: collapse; width: 100%; }}
tr {{ border-bottom: 1px solid #8886; }}
th, td {{ text-align: left; padding: .3rem .6rem; vertical-align: top; overflow-wrap: anywhere; }}
td:nth-child(2) {{ overflow-wrap: normal; }}
progress {{ width: 100%; }}
@media (max-width: 40rem) {{
  tr {{ display: block; padding: .4rem 0; }}
  th {{ display: none; }}
  td {{ display: block; padding: 0; }}
}}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p>{now}</p>
{table}
</main>
</body>
</html>
"""


def waiting_page(standing: Standing, now: str = "") -> str:
    """Return the page as HTML, whatever the state of the run.

    `now` says how far it is, if that is more than its standing tells.
    """
    title = f"Trellis: {standing.experiment or 'a run'}"
    return _PAGE.format(
        period=PERIOD, title=escape(title), now=escape(now or _now(standing)), table=_table(standing.trials)
    )


def _now(standing: Standing) -> str:
    if standing.problem:
        return f"There is nothing to show: {standing.problem}"
    if not standing.trials:
        return "The coordinator has not begun yet."
    if standing.analyzed:
        return "All trials have ended and are analysed; the report is being written."
    if standing.ended:
        return "All trials have ended; the analysis has not finished yet."
    ended = sum(trial.state in ENDED for trial in standing.trials)
    trials = "trial has" if len(standing.trials) == 1 else "trials have"
    return f"{ended} of {len(standing.trials)} {trials} ended. The report will be here."


def _table(trials: tuple[TrialStanding, ...]) -> str:
    if not trials:
        return ""
    order = {"running": 0, "failed": 1, "invalid": 2, "planned": 4}
    shown = sorted(trials, key=lambda trial: order.get(trial.state, 3))[:_MAX_ROWS]
    rows = "\n".join(_row(trial) for trial in shown)
    more = len(trials) - len(shown)
    rest = f"<p>and {more} more</p>" if more else ""
    return f"<table>\n<tr><th>trial</th><th>state</th><th></th></tr>\n{rows}\n</table>\n{rest}"


def _row(trial: TrialStanding) -> str:
    progress, told = trial.progress, escape("; ".join(trial.reasons))
    if trial.state == "running" and progress is not None:
        told = (
            f'<progress max="{progress.trial_end:g}" value="{progress.trial_time:g}"></progress> '
            f"{escape(progress.told())}{'<br>' if progress.held_up else ''}{escape(progress.held_up)}"
        )
    return (
        f"<tr><td>{escape(trial.label or trial.trial)}</td><td>{escape(trial.state)}</td><td>{told}</td></tr>"
    )
