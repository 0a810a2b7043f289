"""The Helm chart that a release is made from."""

from __future__ import annotations

from pathlib import Path

from emulator.release.errors import ReleaseError

_BESIDE_SOURCE = Path(__file__).resolve().parents[2] / "charts" / "trellis"


def find_chart(given: Path | None) -> Path:
    """The folder or archive that was given, else the chart beside the source. Raises ReleaseError."""
    if given is not None:
        if not given.is_file() and not (given / "Chart.yaml").is_file():
            raise ReleaseError(f"{given} is not a Helm chart: there is no {given / 'Chart.yaml'}")
        return given.resolve()
    if not (_BESIDE_SOURCE / "Chart.yaml").is_file():
        raise ReleaseError(
            "the Helm chart is not where this trellis was installed from. "
            "Name it: --chart PATH (charts/trellis of the repository)"
        )
    return _BESIDE_SOURCE
