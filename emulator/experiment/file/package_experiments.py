"""Ready experiments that installed packages bring: the YAML files of one of their folders.

The entry points of the group `trellis.experiments` name a package folder each, such as `push-gossip =
"push_gossip.experiments"`; its file `fanout.yaml` is then `push-gossip:fanout.yaml`. Those of Trellis
itself are `trellis:quickstart.yaml` and the like.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from emulator.contract.packages import BadPackage, Offer, offers
from emulator.experiment.file.keys import suggestion
from emulator.experiment.file.shipped import OWN, meant_experiments, shipped_files


def locate(name: Path) -> Path:
    """Return the file of `package:file.yaml`; every other name is a path already.

    Raises BadPackage if there is no such package or file.
    """
    folder, colon, file = str(name).partition(":")
    if not colon or name.exists() or "/" in folder:
        return name
    if folder == OWN:
        own = shipped_files()
        if file not in own:
            meant = " or ".join(f'"{name}"' for name in meant_experiments(Path(file)))
            mend = f"Did you mean {meant}? " if meant else ""
            raise BadPackage(f"Trellis has no experiment {file}. {mend}`trellis experiments` lists all")
        return own[file]
    known = offers("experiments", (OWN,))
    if folder not in known:
        raise BadPackage(
            f'there is no file {name}, and no installed package has experiments called "{folder}". '
            f"`trellis experiments` lists all. {suggestion(folder, [OWN, *known])}"
        )
    files = {path.name: path for path in _files(known[folder])}
    if file not in files:
        raise BadPackage(f"{known[folder].package} has no experiment {file}. {suggestion(file, files)}")
    return files[file]


def ready_experiments(broken: list[str]) -> Iterator[tuple[str, str, Path]]:
    """Yield (name for `trellis run`, package, file) of each ready experiment, those of Trellis first.

    What is wrong with the folders of packages that cannot be used is added to `broken`.
    """
    for own, path in shipped_files().items():
        yield f"{OWN}:{own}", OWN, path
    for offer in offers("experiments", (OWN,)).values():
        try:
            files = _files(offer)
        except BadPackage as error:
            broken.append(str(error))
            continue
        for path in files:
            yield f"{offer.name}:{path.name}", offer.package, path


def _files(offer: Offer) -> list[Path]:
    module = offer.load()
    if not isinstance(module, ModuleType) or not hasattr(module, "__path__"):
        raise offer.refusal("it is no package with a folder of experiment files")
    return sorted(path for folder in module.__path__ for path in Path(folder).glob("*.yaml"))
