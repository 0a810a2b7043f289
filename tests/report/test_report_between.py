"""Variants of one run beside each other, seed by seed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from io import StringIO

import pytest
from rich.console import Console
from typer.testing import CliRunner

from analysis.charts.results import Results, ResultsError
from analysis.report.between import Difference, pairings
from analysis.report.measures_section import measure_groups
from analysis.report.outcome import outcome
from analysis.report.pairing_table import pairing_tables
from analysis.report.report import write_report
from emulator.experiment.run.directory import RunDirectory
from trellis.command import compare_command
from trellis.command.cli import app

MakeRun = Callable[..., RunDirectory]


def with_values(run: RunDirectory, variant: str, measure: str, values: Sequence[float | None]) -> None:
    """Give the trials of a variant these values, by seed from 1 on; there are as many trials as values."""
    summary = json.loads(run.summary.read_text())
    trials = [trial for trial in summary["trials"] if trial["variant"] == variant]
    others = [trial for trial in summary["trials"] if trial["variant"] != variant]
    made = [
        trials[0]
        | {"trial": f"{variant}-{seed}", "seed": seed, "measures": trials[0]["measures"] | {measure: value}}
        for seed, value in enumerate(values, 1)
    ]
    run.summary.write_text(json.dumps(summary | {"trials": [*others, *made]}))


def change(run: RunDirectory, trial: str, **fields: object) -> None:
    summary = json.loads(run.summary.read_text())
    for each in summary["trials"]:
        if each["trial"] == trial:
            each |= fields
    run.summary.write_text(json.dumps(summary))


def difference(run: RunDirectory, measure: str = "delay_ms") -> Difference:
    """Return how a measure differs between Vitis and RVR with 4 friends."""
    pair = pairings(Results.read(run), "system.name")[0]
    assert (pair.base, pair.other, pair.setting) == ("vitis", "rvr", "friends 4")
    return next(each for each in pair.differences if each.measure == measure)


def test_each_variant_is_compared_with_the_first_value_in_its_own_setting(make_run: MakeRun) -> None:
    results = Results.read(make_run())
    by_system = [(pair.base, pair.other, pair.setting) for pair in pairings(results, "system.name")]
    assert by_system == [("vitis", "rvr", f"friends {friends}") for friends in (4, 8, 12)]
    by_friends = pairings(results, "system.parameters.friends", "8")
    assert {(pair.base, pair.other, pair.setting) for pair in by_friends} == {
        ("8", other, system) for other in ("4", "12") for system in ("vitis", "rvr")
    }


@pytest.mark.parametrize(
    ("seeds", "reading"),
    [
        (2, "higher by the same at each of 2 seeds; 6 seeds would show it"),
        (5, "higher by the same"),
        (6, "worse"),
    ],
)
def test_a_difference_without_spread_is_shown_by_six_seeds_as_fewer_may_agree_by_chance(
    make_run: MakeRun, seeds: int, reading: str
) -> None:
    run = make_run()
    with_values(run, "vitis.friends=4", "delay_ms", [10.0] * seeds)
    with_values(run, "rvr.friends=4", "delay_ms", [12.0] * seeds)
    assert difference(run).reading.startswith(reading)


def test_systems_with_parameters_of_their_own_are_compared_all_the_same(make_run: MakeRun) -> None:
    run = make_run()
    text = run.summary.read_text()
    for friends in (8, 12):
        text = text.replace(
            f'"rvr", "system.parameters.friends": {friends}', f'"none{friends}", "x": {friends}'
        )
    text = text.replace('"rvr", "system.parameters.friends": 4', '"rvr", "system.parameters.degree": 3')
    run.summary.write_text(text)
    found = [(pair.base, pair.other) for pair in pairings(Results.read(run), "system.name")]
    assert found[0][0].startswith("vitis") and found[0][1].startswith("rvr")


def test_the_interval_is_that_of_pairs_so_what_seeds_have_in_common_does_not_widen_it(
    make_run: MakeRun,
) -> None:
    run = make_run()
    with_values(run, "vitis.friends=4", "delay_ms", [100.0, 200.0, 300.0])
    with_values(run, "rvr.friends=4", "delay_ms", [111.0, 210.0, 309.0])
    found = difference(run)
    assert (found.base, found.other, found.by.mean, found.by.n) == (200.0, 210.0, 10.0, 3)
    # The standard deviation of 11, 10 and 9 is 1, and the quantile of Student's t for 2 degrees is 4.3027.
    assert found.by.ci95 == pytest.approx(4.3027 / 3**0.5, rel=1e-4)
    assert (found.reading, found.needed, found.is_shown) == ("worse", None, True)
    assert found.relative == pytest.approx(0.05)


def test_what_is_better_is_the_measure_s_own_word(make_run: MakeRun) -> None:
    run = make_run()
    for variant, values in (("vitis.friends=4", [0.5, 0.6]), ("rvr.friends=4", [0.7, 0.81])):
        with_values(run, variant, "hit_ratio", values)
    assert difference(run, "hit_ratio").reading == "better"
    text = run.summary.read_text()
    run.summary.write_text(text.replace('"better": "higher"', '"better": null'))
    assert difference(run, "hit_ratio").reading == "differs"


def test_a_difference_that_does_not_show_comes_with_the_seeds_that_would_do(make_run: MakeRun) -> None:
    run = make_run()
    with_values(run, "vitis.friends=4", "delay_ms", [100.0, 100.0, 100.0, 100.0])
    with_values(run, "rvr.friends=4", "delay_ms", [90.0, 110.0, 95.0, 113.0])
    found = difference(run)
    # The mean is 2 and the standard deviation 11.23: 1.98 x 11.23 / sqrt(124) is the first below 2.
    assert (found.is_shown, found.needed) == (False, 124)
    assert found.reading == "no difference shown; about 124 seeds would show one of this size"
    assert found.brief == "not shown; about 124 seeds"
    with_values(run, "rvr.friends=4", "delay_ms", [90.0, 110.0, 90.0, 110.1])
    assert difference(run).reading == "no difference shown; more than 1,000 seeds would show one of this size"


def test_one_seed_says_nothing_and_equal_seeds_are_equal(make_run: MakeRun) -> None:
    run = make_run()
    with_values(run, "vitis.friends=4", "delay_ms", [100.0, 90.0])
    with_values(run, "rvr.friends=4", "delay_ms", [50.0])
    assert difference(run).reading == "one seed says nothing of chance: set repeat"
    with_values(run, "rvr.friends=4", "delay_ms", [100.0, 90.0])
    assert difference(run).reading == "equal at each seed"


def test_a_measure_that_one_seed_of_several_has_is_not_blamed_on_too_few_seeds(make_run: MakeRun) -> None:
    run = make_run()
    with_values(run, "vitis.friends=4", "delay_ms", [10.0, None, 11.0])
    with_values(run, "rvr.friends=4", "delay_ms", [8.0, 9.0, None])
    found = difference(run)
    told = "at 1 of 3 seeds, vitis has no value at 1 and rvr has no value at 1"
    assert (found.reading, found.verdict) == (f"not decided: lower {told}", "not decided")
    with_values(run, "rvr.friends=4", "delay_ms", [10.0, 9.0, None])
    assert difference(run).reading == f"not decided: the same {told}"


def test_a_side_that_lacks_a_measure_at_a_seed_is_neither_better_nor_equal(make_run: MakeRun) -> None:
    run = make_run()
    with_values(run, "vitis.friends=4", "delay_ms", [100.0, 101.0, 102.0, 103.0])
    with_values(run, "rvr.friends=4", "delay_ms", [10.0, 11.1, 12.0, None])
    found = difference(run)
    assert found.reading == "not decided: lower at 3 of 4 seeds, rvr has no value at 1"
    assert not found.is_shown
    assert found.texts[:2] == ("101 (3 of 4 seeds)", "11 (3 of 4 seeds)")
    page = write_report(run).read_text()
    assert "rvr has no value at 1" in page and "Not decided: the measure has no value at some seeds" in page
    assert "rvr has no value at 1" in " ".join(compared(run, "--measure", "delay_ms").split())
    with_values(run, "rvr.friends=4", "delay_ms", [100.0, 101.0, 102.0, None])
    assert not difference(run).reading.startswith("equal")


def test_a_measure_of_one_side_alone_is_named(make_run: MakeRun) -> None:
    run = make_run()
    with_values(run, "vitis.friends=4", "delay_ms", [100.0, 101.0])
    with_values(run, "rvr.friends=4", "delay_ms", [None, None])
    assert pairings(Results.read(run), "system.name")[0].only == ["Measured of vitis only: delay."]
    assert "Measured of vitis only: delay." in compared(run)


def test_a_mean_says_of_how_many_seeds_it_is(make_run: MakeRun) -> None:
    run = make_run()
    with_values(run, "vitis.friends=4", "delay_ms", [900.0, None, 910.0])
    summary = json.loads(run.summary.read_text())
    summary["variants"][0]["measures"]["delay_ms"] |= {"mean": 905.0, "n": 2}
    run.summary.write_text(json.dumps(summary))
    results = Results.read(run)
    groups = measure_groups(results)
    cells = {name: cells for group in groups for name, _, _, cells in group.rows}
    assert cells["delay_ms"][0].endswith("(2 of 3 seeds)") and "seeds" not in cells["delay_ms"][1]
    found = outcome(results, [group.rows for group in groups])
    assert "(vitis, friends 4, 2 of 3 seeds)" in found.ranges["delay_ms"]
    assert "such as of 2 of 3 seeds, the others have no value" in write_report(run).read_text()


def test_trials_that_are_not_valid_are_left_out_with_their_counterparts_and_counted(
    make_run: MakeRun,
) -> None:
    run = make_run()
    with_values(run, "vitis.friends=4", "delay_ms", [1.0, 2.0, 3.0])
    with_values(run, "rvr.friends=4", "delay_ms", [1.0, 5.0, 7.0])
    change(run, "rvr.friends=4-2", valid=False)
    with_values_at = pairings(Results.read(run), "system.name")[0]
    assert (with_values_at.seeds, with_values_at.left_out) == (2, 2)
    assert difference(run).by.mean == 2.0


def test_the_head_of_the_report_compares_systems_by_the_first_measures(make_run: MakeRun) -> None:
    run = make_run()
    results = Results.read(run)
    found = outcome(results, [group.rows for group in measure_groups(results)])
    assert (found.key, len(found.pairs), found.more) == ("system.name", 3, 0)
    assert len(found.pairs[0][1]) == 5  # the sixth measure was measured in no trial
    page = write_report(run).read_text()
    assert page.index("What came out") < page.index("What was run")
    assert "rvr beside vitis, friends 4; 2 seeds" in page
    assert f"trellis compare {run.path} --between system.name" in page


def test_the_head_of_a_report_on_one_variant_has_its_measures(make_run: MakeRun) -> None:
    run = make_run()
    summary = json.loads(run.summary.read_text())

    def kept(each: Mapping[str, object]) -> bool:
        return each["variant"] == "vitis.friends=4"

    for part in ("variants", "trials"):
        summary[part] = [each for each in summary[part] if kept(each)]
    run.summary.write_text(json.dumps(summary))
    results = Results.read(run)
    found = outcome(results, [group.rows for group in measure_groups(results)])
    assert found.pairs == [] and ("hit ratio", "%", "99.5 ± 6.0") in [
        (title, unit, text.replace("\u2009", " ")) for title, unit, text in found.figures
    ]


def test_equal_measures_are_counted_and_not_listed(make_run: MakeRun) -> None:
    console = Console(file=StringIO(), width=160)
    for part in pairing_tables(pairings(Results.read(make_run()), "system.name")):
        console.print(part)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "1 measure is equal" in text and "maintenance traffic" not in text


@pytest.mark.parametrize(
    ("key", "base", "told"),
    [
        ("peers", None, "peers is not varied in .*. What is varied: system.name, system.parameters.friends"),
        ("system.name", "scribe", "no variant has scribe at system.name. There are: vitis, rvr"),
    ],
)
def test_what_was_not_varied_cannot_be_compared(
    make_run: MakeRun, key: str, base: str | None, told: str
) -> None:
    with pytest.raises(ResultsError, match=told):
        pairings(Results.read(make_run()), key, base)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["RUN"], "name two or more run directories, or compare the variants of one run by --between"),
        (["RUN", "RUN", "--between", "system.name"], "Name one run directory"),
        (["RUN", "RUN", "--base", "vitis"], "Give --between, too"),
        (["RUN", "--between", "system.name", "--out", "page.html"], "Name two run directories"),
    ],
)
def test_the_command_says_what_it_needs(make_run: MakeRun, options: list[str], told: str) -> None:
    run = str(make_run().path)
    ended = CliRunner().invoke(app, ["compare", *(run if word == "RUN" else word for word in options)])
    assert ended.exit_code == 2
    assert told in " ".join(ended.output.split())


def test_the_command_compares_variants_and_several_runs(make_run: MakeRun) -> None:
    made = [make_run(name, factor=factor) for name, factor in (("a", 1.0), ("b", 0.5), ("c", 2.0))]
    for run in made:  # RVR has no friends, and the command looks at the experiment
        run.experiment.write_text(
            run.experiment.read_text().replace("friends: [4, 8, 12]", "view: [4, 8, 12]")
        )
    runs = [str(run.path) for run in made]
    ended = CliRunner().invoke(app, ["compare", runs[0], "--between", "system.name", "--base", "rvr"])
    assert ended.exit_code == 0, ended.output
    assert "vitis beside rvr, friends 12" in ended.output
    ended = CliRunner().invoke(app, ["compare", *runs])
    assert ended.exit_code == 0
    assert ended.output.count("B is better") == ended.output.count("B is worse") == 6


def with_a_valid_file(run: RunDirectory) -> None:
    """Let RVR have the parameter that is varied, as the command looks at the experiment."""
    run.experiment.write_text(run.experiment.read_text().replace("friends: [4, 8, 12]", "view: [4, 8, 12]"))


def compared(run: RunDirectory, *options: str) -> str:
    """Return what the command says of the systems of a run."""
    with_a_valid_file(run)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compare_command, "out", Console(width=160, highlight=False))
        ended = CliRunner().invoke(app, ["compare", str(run.path), "--between", "system.name", *options])
    assert ended.exit_code == 0, ended.output
    return ended.output


def test_a_chosen_measure_is_listed_also_where_it_is_equal(make_run: MakeRun) -> None:
    run = make_run()
    text = compared(run, "--measure", "maintenance_bytes_per_s", "--measure", "delay_ms")
    assert text.count("maintenance traffic") == 3 and "hit ratio" not in text and "--all" not in text
    told = json.loads(compared(run, "--measure", "delay_ms", "--json"))
    assert [[each["measure"] for each in pair["differences"]] for pair in told] == [["delay_ms"]] * 3


def test_an_unknown_measure_is_refused_with_the_one_that_was_meant(make_run: MakeRun) -> None:
    made = make_run()
    with_a_valid_file(made)
    run = str(made.path)
    for arguments in ([run, "--between", "system.name"], [run, run]):
        ended = CliRunner().invoke(app, ["compare", *arguments, "--measure", "delay"])
        assert ended.exit_code == 2
        assert 'no measure is called "delay". Did you mean "delay_ms"?' in " ".join(ended.output.split())


def test_what_is_equal_is_counted_and_everything_can_be_asked_for(make_run: MakeRun) -> None:
    run = make_run()
    text = compared(run)
    assert "1 measure is equal" in text and "maintenance traffic" not in text
    assert text.rstrip().endswith("--measure NAME a measure of your choice.")
    everything = compared(run, "--all")
    assert everything.count("maintenance traffic") == 3 and "is equal" not in everything


def test_many_settings_do_not_list_what_cannot_be_said(make_run: MakeRun) -> None:
    run = make_run()
    with_values(run, "vitis.friends=4", "delay_ms", [100.0, 200.0, 300.0])
    with_values(run, "rvr.friends=4", "delay_ms", [111.0, 210.0, 309.0])
    results = Results.read(run)
    (pair, *_) = pairings(results, "system.name")
    unsaid = [each for each in pair.differences if not each.is_shown]

    def printed(settings: int) -> str:
        console = Console(file=StringIO(), width=160)
        for part in pairing_tables([pair] * settings):
            console.print(part)
        return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]

    equal = [each for each in unsaid if each.reading.startswith("equal")]
    assert len(unsaid) > len(equal) == 1
    assert "it cannot be said" not in printed(4)
    count = len(unsaid) - 1
    word = "it differs" if count == 1 else "they differ"
    assert printed(5).count(f"1 measure is equal; of {count} it cannot be said whether {word}") == 5
    shown = next(each for each in pair.differences if each.is_shown)
    assert shown.reading == "worse" and printed(5).count(shown.reading) == 5


def test_the_command_says_that_there_is_nothing_to_compare_and_who_has_no_counterpart(
    make_run: MakeRun,
) -> None:
    run = make_run()
    summary = json.loads(run.summary.read_text())
    for number, variant in enumerate(summary["variants"]):
        variant["values"] = {"system.name": "rvr" if number else "vitis", "peers": min(number, 2)}
    run.summary.write_text(json.dumps(summary))
    assert "Nothing is compared: no two variants differ in system.name alone" in compared(run)
    for variant in summary["variants"][:2]:
        variant["values"]["peers"] = 0
    run.summary.write_text(json.dumps(summary))
    assert "Without a counterpart that differs in system alone: " in compared(run)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (
            [0.91, 0.90, 0.92],
            "(3 seeds, ± is the 95 % interval): hit ratio worse, \N{MINUS SIGN}9.0 ± 2.5 points.",
        ),
        (
            [0.91],
            "(one seed): hit ratio lower, \N{MINUS SIGN}9 points. One seed says nothing of chance.",
        ),
    ],
)
def test_the_head_says_how_much_worse_and_how_sure_that_is(
    make_run: MakeRun, values: list[float], told: str
) -> None:
    run = make_run()
    for friends in (8, 12):
        for system in ("vitis", "rvr"):
            with_values(run, f"{system}.friends={friends}", "hit_ratio", [])
    with_values(run, "vitis.friends=4", "hit_ratio", [1.0] * len(values))
    with_values(run, "rvr.friends=4", "hit_ratio", values)
    rows = [[("hit_ratio", "hit ratio", "share", [""] * 6)]]
    (sentence,) = outcome(Results.read(run), rows).comparisons
    assert (
        sentence.replace("\N{THIN SPACE}", " ").replace("\N{NO-BREAK SPACE}", " ")
        == f"rvr beside vitis {told}"
    )
