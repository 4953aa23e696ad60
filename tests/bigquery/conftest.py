"""A table of a bill that tests of doctor ask about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.bigquery.doctor_of_tables import Asked


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    from tests.bigquery.doctor_of_tables import DIVIDED, TABLE_PERMISSIONS, Asked, day_of  # where Google's client is installed
    from tests.bigquery.exported import Exported

    june = [f"2026-06-{day:02}" for day in range(1, 31)]
    bill = Exported({day: day_of(day) for day in [*june, "2026-07-03"]}, more=DIVIDED)
    bill.rest.permissions = TABLE_PERMISSIONS
    with bill.serving(monkeypatch) as url:
        yield Asked(tmp_path, url, bill, monkeypatch)
