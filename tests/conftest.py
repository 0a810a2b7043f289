"""What tests of several rooms share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One session for the whole test process: its start takes seconds."""
    from analysis.session import spark_session

    with spark_session(2) as session:
        yield session
