"""The moving picture of the README: what a terminal shows, as one SVG that moves without scripts."""

from __future__ import annotations

from xml.etree import ElementTree

from docs.making.moving_picture import PICTURE, frames, picture
from docs.making.recording import Screen, record

PROGRESS = "\x1b[32m⠼\x1b[0m trial \x1b[33m0:00:01\x1b[0m 10 %\r\n"
GO_UP = "\x1b[1A\x1b[2K\r"


def texts(svg: str) -> list[str]:
    return [part.text or "" for part in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_a_screen_shows_what_is_left_of_lines_that_were_written_over() -> None:
    screen = Screen()
    screen.write(f"begin\r\n{PROGRESS}{GO_UP}\x1b[32mvalid\x1b[0m\r\n")
    assert ["".join(cell for cell, _ in line) for line in screen.lines] == ["begin", "valid", ""]
    assert screen.lines[1][0] == ("v", "32")


def test_waits_are_cut_and_a_spinner_is_no_frame_of_its_own() -> None:
    again = GO_UP + PROGRESS.replace("⠼", "⠙").replace("0:00:01", "0:00:09")
    shown = frames([(1.0, PROGRESS), (9.0, again), (30.0, f"{GO_UP}valid\r\n")], "trellis run x.yaml")
    assert [wait for wait, _ in shown] == [1.0, 1.0, 4.0]


def test_the_picture_moves_by_style_alone_and_says_its_content() -> None:
    svg = picture(frames([(0.5, "a < b\r\n"), (2.0, "valid\r\n")], "trellis"), "It says: valid")
    assert "<title" in svg and "It says: valid" in svg
    assert "prefers-reduced-motion:reduce" in svg
    assert "<script" not in svg and "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    assert texts(svg)[-2:] == ["a < b", "valid"]


def test_a_command_is_recorded_with_its_times() -> None:
    pieces = list(record(["sh", "-c", "echo one; sleep 0.3; echo two"]))
    assert "".join(text for _, text in pieces) == "one\r\ntwo\r\n"
    assert pieces[-1][0] - pieces[0][0] > 0.2


def test_the_picture_of_the_readme_is_small() -> None:
    svg = PICTURE.read_text()
    assert len(svg.encode()) < 150_000
    assert any("report: runs/quickstart-" in text for text in texts(svg))
