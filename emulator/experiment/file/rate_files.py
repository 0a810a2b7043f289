"""The files of `network.bandwidth.table` and `nodes`, from which the rates of links are read."""

from __future__ import annotations

import filecmp
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from emulator.experiment.file.explain import Finding
from emulator.experiment.file.spec import ExperimentSpec, TrialSpec
from emulator.experiment.file.variants import (
    chosen_values,
    combinations,
    sources_of_rates,
    variant_values,
    varied_keys,
)
from emulator.network.bandwidth_spec import Bandwidth
from emulator.network.latencies import MatrixFile

_KEY = "network.bandwidth."
_TOGETHER = "network.latency.file, network.bandwidth.nodes.file"


def with_varied_rates(spec: ExperimentSpec, values: Mapping[str, Any]) -> ExperimentSpec:
    """Return the experiment with the file of the rates instead of its classes, if other keys of how the file
    is read are varied or drawn: each variant reads the file with its own keys.

    `values` are those that the experiment was made of.
    """
    bandwidth = spec.network.bandwidth
    changed = varied_keys(spec.vary) | spec.draw.keys()
    for name in ("table", "nodes"):
        source, above = getattr(bandwidth, name, None), f"network.bandwidth.{name}."
        if bandwidth is None or source is None or source.file is not None:
            continue
        if not any(key.startswith(above) and key != f"{above}file" for key in changed):
            continue
        if file := values["network"]["bandwidth"][name].get("file"):
            unread = {"classes": [], name: source.model_copy(update={"file": Path(file)})}
            network = spec.network.model_copy(update={"bandwidth": bandwidth.model_copy(update=unread)})
            spec = spec.model_copy(update={"network": network})
    return spec


def with_rates_read(spec: ExperimentSpec) -> ExperimentSpec:
    """Return the experiment with the classes of each varied file of rates, so that a run needs no file.

    A file that is not there any more is left out.
    """
    varied = varied_keys(spec.vary)
    if spec.rates_read or not any(f"{key}.".startswith(_KEY) or key == "network" for key in varied):
        return spec
    base, read = spec.model_dump(mode="json"), list[dict[str, Any]]()
    for which in combinations(spec.vary):
        values = variant_values(base, chosen_values(spec.vary, which))
        for word, source in sources_of_rates(values):
            if all(each.get(word) != source for each in read) and Path(source["file"]).is_file():
                given = json.dumps(values["network"]["bandwidth"])
                classes = Bandwidth.model_validate_json(given).model_dump(mode="json")["classes"]
                read.append({word: source, "classes": classes})
    return spec.model_copy(update={"rates_read": read})


def graph_problems(spec: TrialSpec, values: Mapping[str, Any]) -> list[Finding]:
    """Return a problem if the rates are those of the nodes of another graph than the latencies.

    `values` are those that the spec was made of, as the spec has no name of a file that was read.
    """
    bandwidth = (values.get("network") or {}).get("bandwidth") or {}
    file, latency = (bandwidth.get("nodes") or {}).get("file"), spec.network.latency
    if file is None:
        return []
    key = ("network", "bandwidth", "nodes")
    if not isinstance(latency, MatrixFile) or latency.kind != "graph":
        text = (
            f"needs `network.latency: {{kind: graph, file: {Path(file).name}}}`, at whose nodes peers stand"
        )
        return [(key, f"{text}, but it is another latency")]
    if _are_alike(Path(file), latency.file):
        return []
    text = f"is another file than {latency.file} of `network.latency`, at whose nodes the peers stand"
    return [((*key, "file"), f'{text}. Name that file. To vary it, vary "{_TOGETHER}", as one entry')]


def _are_alike(one: Path, other: Path) -> bool:
    """Return whether the files have the same contents; a file that is not there is told of elsewhere."""
    return one == other or not (one.is_file() and other.is_file()) or filecmp.cmp(one, other, shallow=False)
