"""Landing without Great Expectations, which takes seconds to load: what it finds is asked in test_landing_judging.py.

And without a worker for small tables: that they are read in one is asked in test_landing_limits.py.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from dagster_project.landing import worker
from dagster_project.landing.judging.rules import RULES

VALIDATE = "dagster_project.landing.judging.expectations.validate"


@pytest.fixture(scope="module", autouse=True)
def nothing_is_found() -> Iterator[None]:
    """Every delivery is as it should be."""

    def validate(rows: Sequence[Any]) -> list[dict[str, Any]]:
        return [{"results": [{"rule": rule.name, "success": True} for rule in RULES]} for _ in rows]

    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(VALIDATE, validate)
        yield


@pytest.fixture(scope="module", autouse=True)
def small_tables_are_read_here() -> Iterator[None]:
    """All that is small is read in the process of the test."""
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(worker, "is_read_here", lambda _, size: size <= worker.SMALL)
        yield
