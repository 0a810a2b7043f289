"""Classes of links from a table of measured rates."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.experiment.file.document import ExperimentError
from emulator.experiment.file.load import load
from emulator.experiment.file.spec import ExperimentSpec
from emulator.experiment.plan.draw_plan import draw_plan
from emulator.experiment.run.runs import make_run
from emulator.network.bandwidth_spec import Bandwidth

TABLE = """\
# Measured in the spring.
provider,households,upload,download,comment
Old Copper,600,1.25,16,"slow, and many"
fibre,300,500,1000,
backbone,100,,,no limit
"""
COLUMNS = "up: upload, down: download, weight: households, name: provider"


def experiment(folder: Path, table: str, columns: str = COLUMNS, file: str = "access.csv") -> Path:
    (folder / "access.csv").write_text(table)
    path = folder / "links.yaml"
    path.write_text(
        "name: links\nsystem: {name: vitis}\npeers: 20\n"
        "workload: {subscriptions: {kind: random, topics: 5, per_peer: 2}}\n"
        f"network: {{bandwidth: {{queue: 200 ms, table: {{file: {file}, {columns}}}}}}}\n"
    )
    return path


def bandwidth(spec: ExperimentSpec) -> Bandwidth:
    assert spec.network.bandwidth is not None
    return spec.network.bandwidth


def test_each_line_is_a_class_with_its_share_of_the_peers(tmp_path: Path) -> None:
    spec = load(experiment(tmp_path, TABLE))
    classes = bandwidth(spec).classes
    assert [(each.name, each.share, each.up, each.down) for each in classes] == [
        ("old-copper", 0.6, 1_250_000, 16_000_000),
        ("fibre", 0.3, 500_000_000, 1_000_000_000),
        ("backbone", 0.1, None, None),
    ]
    drawn = draw_plan(spec).peers["link_class"].to_pylist()
    assert [drawn.count(index) for index in range(3)] == [12, 6, 2]


def test_classes_are_all_alike_and_have_the_names_of_their_lines_if_no_column_says_else(
    tmp_path: Path,
) -> None:
    table = "up;rest\n1000;a\n\n2000.4;b\n"
    found = bandwidth(load(experiment(tmp_path, table, "up: up, unit: kbit/s"))).classes
    assert [(each.name, each.share, each.up, each.down) for each in found] == [
        ("line-2", 0.5, 1_000_000, None),
        ("line-4", 0.5, 2_000_400, None),
    ]


def test_a_run_needs_the_table_no_more(tmp_path: Path) -> None:
    path = experiment(tmp_path, TABLE)
    spec = load(path)
    run = make_run(spec, tmp_path / "run")
    (tmp_path / "access.csv").unlink()
    assert bandwidth(load(run.experiment)) == bandwidth(spec)


def test_a_class_of_a_table_may_have_no_peer(tmp_path: Path) -> None:
    table = TABLE + "satellite,1,2,20,\n"
    assert len(bandwidth(load(experiment(tmp_path, table))).classes) == 4


@pytest.mark.parametrize(
    ("table", "columns", "told"),
    [
        (TABLE, "up: uplaod", "access.csv:2: there is no column 'uplaod'. There are: provider, households, "),
        (TABLE.replace("500", "fast"), COLUMNS, "access.csv:4: 'fast' is no number from 0 on"),
        (TABLE.replace("1.25", "-3"), COLUMNS, "access.csv:3: '-3' is no number from 0 on"),
        (TABLE.replace("1.25", "0"), COLUMNS, "access.csv:3: a rate is a whole number of bits per second"),
        (TABLE.replace("300", ""), COLUMNS, "access.csv:4: has no weight above 0"),
        (TABLE.replace("fibre", "backbone"), COLUMNS, 'the name "backbone" is there twice'),
        (TABLE[: TABLE.index("Old")], COLUMNS, "has 0 classes, and 1 to 100 can be"),
        ("up\n" + "5\n" * 101, "up: up", "has 101 classes, and 1 to 100 can be"),
        (TABLE, "weight: households", "no class has `up`, `down` or `loss`, so nothing is limited"),
        ("", "up: up", "there is no column 'up'. There are: none"),
        (TABLE.replace("comment", "upload"), COLUMNS, "access.csv:2: the column 'upload' is there twice"),
        (TABLE + "satellite,1\n", COLUMNS, "access.csv:6: has 2 values, but there are 5 columns"),
    ],
)
def test_a_table_that_cannot_be_is_refused_with_its_line(
    table: str, columns: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises(ExperimentError) as error:
        load(experiment(tmp_path, table, columns))
    assert told in str(error.value)


def test_a_table_that_is_not_there_is_told_once(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError) as error:
        load(experiment(tmp_path, TABLE, file="acess.csv"))
    assert len(error.value.problems) == 1 and "there is no such file" in str(error.value)


def test_a_table_without_a_file_is_refused(tmp_path: Path) -> None:
    path = experiment(tmp_path, TABLE)
    path.write_text(path.read_text().replace("file: access.csv, ", ""))
    with pytest.raises(ExperimentError, match=r"bandwidth\.table.*Name the file that has the columns"):
        load(path)


def test_classes_and_a_table_are_not_given_both(tmp_path: Path) -> None:
    path = experiment(tmp_path, TABLE)
    path.write_text(path.read_text().replace("queue: 200 ms", "classes: [{name: a, share: 1, up: 1 Mbit/s}]"))
    with pytest.raises(ExperimentError, match="both `classes` and `table` are given"):
        load(path)
