"""The executors that Spark is to start as pods, and what it has to know for that."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_MEMORY = re.compile(r"(\d+)(Mi|Gi)")
_LEAST_MEMORY_MIB = 768
_NEEDED = {
    "POD_IP": "status.podIP",
    "POD_NAME": "metadata.name",
    "POD_NAMESPACE": "metadata.namespace",
    "KUBERNETES_SERVICE_HOST": "Kubernetes itself",
    "KUBERNETES_SERVICE_PORT": "Kubernetes itself",
    "TRELLIS_EXECUTOR_IMAGE": "the image of executors",
    "TRELLIS_EXECUTOR_TEMPLATE": "the path of the pod template of executors",
}


class ClusterError(Exception):
    """Spark cannot have the executors."""


@dataclass(frozen=True, slots=True)
class Executors:
    """The executors that are wanted, and the place of this driver."""

    count: int
    cores: int
    """The number of tasks that an executor runs at once."""
    memory_mib: int
    """The memory of a whole pod: half is the JVM's heap, the rest for Python and the JVM itself."""
    environment: Mapping[str, str]

    @classmethod
    def wanted(cls, count: int, cores: int, memory: str, environment: Mapping[str, str]) -> Executors:
        """Return these executors; `memory` is as Kubernetes writes it, such as 1Gi.

        Raises ClusterError for what the cluster cannot give.
        """
        missing = [f"{name} ({source})" for name, source in _NEEDED.items() if not environment.get(name)]
        if missing:
            raise ClusterError(
                f"executors are started from a pod; its environment lacks {', '.join(missing)}. "
                "Without a cluster: --executors 0"
            )
        match = _MEMORY.fullmatch(memory)
        if match is None:
            raise ClusterError(f'"{memory}" is no memory of an executor. Write a number with Mi or Gi: 1Gi')
        mib = int(match[1]) * (1024 if match[2] == "Gi" else 1)
        if mib < _LEAST_MEMORY_MIB:
            raise ClusterError(f"{memory} is too little for an executor. Give {_LEAST_MEMORY_MIB}Mi or more")
        if cores < 1:
            raise ClusterError(f"{cores} cores are too few for an executor. Give 1 or more")
        return cls(count, cores, mib, environment)

    @property
    def master(self) -> str:
        host = self.environment["KUBERNETES_SERVICE_HOST"]
        host = f"[{host}]" if ":" in host else host
        return f"k8s://https://{host}:{self.environment['KUBERNETES_SERVICE_PORT']}"

    def settings(self) -> dict[str, str]:
        """Return Spark's settings. With them the driver needs a Role on pods alone."""
        heap = self.memory_mib // 2
        given = self.environment
        most = given.get("TRELLIS_EXECUTOR_CPU_LIMIT")
        limits = {"spark.kubernetes.executor.limit.cores": most} if most else {}
        return limits | {
            "spark.executor.cores": str(self.cores),
            "spark.executor.extraJavaOptions": "-XX:+UseSerialGC",
            "spark.executor.instances": str(self.count),
            "spark.executor.memory": f"{heap}m",
            "spark.executor.memoryOverhead": f"{self.memory_mib - heap}m",
            "spark.kubernetes.container.image": given["TRELLIS_EXECUTOR_IMAGE"],
            "spark.kubernetes.container.image.pullPolicy": given.get(
                "TRELLIS_EXECUTOR_PULL_POLICY", "IfNotPresent"
            ),
            # Executors end with the driver's pod, however it ends.
            "spark.kubernetes.driver.pod.name": given["POD_NAME"],
            "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
            "spark.kubernetes.driver.service.deleteOnTermination": "false",
            "spark.kubernetes.executor.disableConfigMap": "true",
            "spark.kubernetes.executor.podTemplateContainerName": "executor",
            "spark.kubernetes.executor.podTemplateFile": given["TRELLIS_EXECUTOR_TEMPLATE"],
            "spark.kubernetes.executor.request.cores": given.get("TRELLIS_EXECUTOR_CPU", str(self.cores)),
            "spark.kubernetes.namespace": given["POD_NAMESPACE"],
        }
