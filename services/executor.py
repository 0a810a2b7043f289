"""An executor of Spark: Spark starts it with the argument `executor` and an environment."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from analysis.engine.java import JAVA, LEFT_OUT, LOG, spark_home
from services.endings import in_words

_BACKEND = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_OPTION = "SPARK_JAVA_OPT_"
_ARGUMENTS = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}


def command(environment: Mapping[str, str], settings: Path) -> list[str]:
    """Return the command line of the executor's JVM; `settings` is a folder with `log4j2.properties`.

    Raises KeyError if a variable of the environment is missing.
    """
    numbers = sorted(int(name.removeprefix(_OPTION)) for name in environment if name.startswith(_OPTION))
    options = [environment[f"{_OPTION}{number}"] for number in numbers]
    memory = environment["SPARK_EXECUTOR_MEMORY"]
    return [
        JAVA,
        *(option for option in options if option not in LEFT_OUT),
        f"-Xms{memory}",
        f"-Xmx{memory}",
        "-cp",
        f"{settings}:{spark_home() / 'jars'}/*",
        _BACKEND,
        *(part for option, name in _ARGUMENTS.items() for part in (option, environment[name])),
    ]


@in_words
def main() -> NoReturn:
    """Become the JVM."""
    settings = Path(tempfile.mkdtemp(prefix="trellis-executor-"))
    (settings / "log4j2.properties").write_text(LOG)
    try:
        line = command(os.environ, settings)
    except KeyError as missing:
        sys.exit(f"this is for Spark to start: the environment lacks {missing.args[0]}")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.execv(line[0], line)


if __name__ == "__main__":
    sys.exit(main())
