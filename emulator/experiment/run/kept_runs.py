"""Run directories in an object store: each file is an object, and a manifest says when a run is there whole.

`<prefix>/<run>/trellis-run.json` is written last. It has the size and the SHA-256 of each file, and how the
run stands. An upload that was broken off goes on: an object that has the size and, read back, the digest of
its file is not sent again.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from emulator.experiment.run.archive import finished
from emulator.experiment.run.directory import RunDirectory
from emulator.experiment.run.object_store import BadPlace, Place, told

MANIFEST = "trellis-run.json"
_VERSION = 1
_CHUNK = 1 << 20
_AT_ONCE = 8
"""The objects that are sent or read at once; most are small, so that the way there takes the time."""
_LARGEST_MANIFEST = 1 << 26
_MOST_FILES = 1_000_000

Watch = Callable[[int], None]
"""A function that is told how many bytes have been dealt with."""


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A run in an object store."""

    place: Place
    name: str
    about: Mapping[str, Any]
    """The manifest's words about the run; none if the upload did not come to its end."""
    files: Mapping[str, tuple[int, str]]
    """Size and SHA-256 by path."""

    @property
    def bytes(self) -> int:
        return sum(size for size, _ in self.files.values())


def upload(run: RunDirectory, place: Place, name: str, about: Mapping[str, Any], watch: Watch) -> KeptRun:
    """Send a run to `place` as `name`. Raises BadPlace and OSError; what was sent then stays.

    `about` is kept in the manifest, beside the time of the upload. Files that were removed since an earlier
    upload stay in the store, and are no longer part of the run.
    """
    there = place.below(name)
    listed = [path for path in finished(run.path) if path.is_file() and not path.is_symlink()]
    files = {path.relative_to(run.path).as_posix(): _measure(path) for path in listed}
    done = 0

    def send(item: tuple[str, tuple[int, str]]) -> int:
        path, (size, digest) = item
        with told(f"{there.address}/{path}"):
            if not _is_there(there, path, size, digest):
                _send(run.path / path, there, path)
                if not _is_there(there, path, size, digest):
                    raise BadPlace(
                        f"{there.address}/{path} is not what was sent: size or digest differ. Upload it again"
                    )
        return size

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for size in pool.map(send, files.items()):
            done += size
            watch(done)
    said = dict(about) | {"uploaded": datetime.now(UTC).isoformat(timespec="seconds")}
    text = json.dumps({"version": _VERSION, "run": said, "files": files}, indent=1)
    with told(there.address), there.files.open_output_stream(f"{there.path}/{MANIFEST}") as stream:
        stream.write(text.encode())
    return KeptRun(there, name, said, files)


def kept_runs(place: Place) -> list[KeptRun]:
    """Return the runs in a place, by name; also those whose upload was broken off. Raises BadPlace."""
    from pyarrow import fs

    with told(place.address):
        found = place.files.get_file_info(fs.FileSelector(place.path, allow_not_found=True))
    names = sorted(info.base_name for info in found if info.type == fs.FileType.Directory)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(lambda name: kept_run(place.below(name)), names))


def kept_run(place: Place) -> KeptRun:
    """Return the run in a place. Raises BadPlace if its manifest is damaged."""
    name = place.path.rpartition("/")[2]
    try:
        with place.files.open_input_stream(f"{place.path}/{MANIFEST}") as stream:
            text = stream.read(_LARGEST_MANIFEST)
    except FileNotFoundError:
        return KeptRun(place, name, {}, {})
    except OSError:
        with told(place.address):
            raise
    try:
        manifest = json.loads(text)
        files = {str(path): (int(size), str(digest)) for path, (size, digest) in manifest["files"].items()}
        if manifest["version"] != _VERSION or len(files) > _MOST_FILES:
            raise ValueError(f"version {manifest['version']!r}")
        return KeptRun(place, name, dict(manifest["run"]), files)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadPlace(f"{place.address}/{MANIFEST} is damaged: {error}. Upload the run again") from None


def download(
    kept: KeptRun, out: Path, watch: Watch, wanted: Callable[[str], bool] = lambda path: True
) -> RunDirectory:
    """Copy a run, or the files of it that are `wanted`, to `<out>/<name>`, whole or not at all.

    Raises BadPlace if it is incomplete, or an object is not what was uploaded, and OSError.
    """
    if not kept.files:
        raise BadPlace(f"{kept.place.address} has no whole run: its upload has not come to its end")
    home = out / kept.name
    if home.exists():
        raise BadPlace(f"{home} is there already. Choose another folder with --out, or remove it")
    files = {path: expected for path, expected in kept.files.items() if wanted(path)}
    for path in files:
        _refuse_outside(kept, path)
    if (size := sum(size for size, _ in files.values())) > (free := shutil.disk_usage(_existing(out)).free):
        raise BadPlace(
            f"{kept.place.address} has {size / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free in {out}"
        )
    out.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{kept.name}-", suffix=".new", dir=out))
    done = 0
    try:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for count in pool.map(lambda item: _bring(kept, draft, *item), files.items()):
                done += count
                watch(done)
        draft.chmod(0o755)
        draft.replace(home)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return RunDirectory(home)


def _bring(kept: KeptRun, draft: Path, path: str, expected: tuple[int, str]) -> int:
    target = draft / path
    target.parent.mkdir(parents=True, exist_ok=True)
    size, digest = 0, hashlib.sha256()
    with target.open("xb") as file:
        for chunk in _read(kept.place, path):
            size += len(chunk)
            if size > expected[0]:
                break
            digest.update(chunk)
            file.write(chunk)
    if (size, digest.hexdigest()) != expected:
        raise BadPlace(
            f"{kept.place.address}/{path} is not what was uploaded: size or digest differ. "
            "Upload the run again"
        )
    return size


def _measure(path: Path) -> tuple[int, str]:
    size, digest = 0, hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            size += len(chunk)
            digest.update(chunk)
    return size, digest.hexdigest()


def _send(source: Path, there: Place, path: str) -> None:
    with source.open("rb") as file, there.files.open_output_stream(f"{there.path}/{path}") as stream:
        shutil.copyfileobj(file, stream, _CHUNK)


def _is_there(there: Place, path: str, size: int, digest: str) -> bool:
    """Return whether the object has this size and this digest, which is read back only for the right size."""
    from pyarrow import fs

    info = there.files.get_file_info(f"{there.path}/{path}")
    if info.type != fs.FileType.File or info.size != size:
        return False
    found = hashlib.sha256()
    for chunk in _read(there, path):
        found.update(chunk)
    return found.hexdigest() == digest


def _read(place: Place, path: str) -> Iterator[bytes]:
    with told(f"{place.address}/{path}"), place.files.open_input_stream(f"{place.path}/{path}") as stream:
        while chunk := stream.read(_CHUNK):
            yield chunk


def _refuse_outside(kept: KeptRun, path: str) -> None:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path:
        raise BadPlace(f"{kept.place.address}/{MANIFEST} names a file outside of the run: {path!r}")


def _existing(folder: Path) -> Path:
    return next(path for path in (folder, *folder.resolve().parents) if path.exists())
