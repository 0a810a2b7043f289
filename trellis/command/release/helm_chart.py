"""The Helm chart that a release is made from."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from trellis.command.release.errors import ReleaseError

_BESIDE_SOURCE = Path(__file__).resolve().parents[3] / "charts" / "trellis"


def find_chart(given: Path | None) -> Path:
    """Return the folder or archive that was given, by default the chart beside the source.

    Raises ReleaseError.
    """
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


def image_settings(prefix: str | None, tag: str | None) -> list[str]:
    """Return the chart's values that name Trellis' own images at another place, or in another version."""
    if prefix is None and tag is None:
        return []
    tag = tag or version("trellis")
    return [f"images.{part}={prefix or ''}trellis-{part}:{tag}" for part in ("emulator", "analysis")]
