"""The notebooks of the documentation, which run from nothing to their last cell."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parent.parent / "docs" / "notebooks"
ORDER = ["which-is-better", "figure-for-a-paper", "where-events-are-lost"]
"""The first one makes the run that the others take."""
LIMIT_S = 280
"""The seconds that a cell may take."""


def executed(name: str, folder: Path) -> list[str]:
    """Execute a notebook in this folder and return what each of its cells of code gives, as text."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs stay out of the repository"
    client = NotebookClient(
        notebook,
        timeout=LIMIT_S,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    return [
        "".join(output.get("data", {}).get("text/plain", "") for output in cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@pytest.mark.timeout(600)  # six trials, an analysis by Spark, and three kernels
def test_each_notebook_gives_an_answer(tmp_path: Path) -> None:
    """A notebook that fails in a cell raises that cell's error."""
    assert sorted(ORDER) == sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))
    better, figure, lost = (executed(name, tmp_path) for name in ORDER)
    assert "valid" in better[1] and "INVALID" not in better[1]
    assert all(measure in better[-1] for measure in ("hit_ratio", "overhead", "delay_ms", "reading"))
    assert (tmp_path / "hit-ratio.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "delays.pdf").read_bytes().startswith(b"%PDF")
    assert "Figure time-hit" in figure[1] and "series" in figure[2]
    assert "vitis" in lost[0] and "depth" in lost[2] and "False" in lost[3]
