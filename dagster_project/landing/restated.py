"""`reports/restatements.jsonl`: how figures of issued reports are known today, by cause, found by `trainledger restatements`.

An input of the next build, like a delivery: the build reads it, and what it says is in the fingerprint. Working it out is not
done here.
"""

import json
from collections.abc import Collection, Mapping
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from dagster_project.base import durable
from dagster_project.base.failures import SourceError

RECORD = "restatements.jsonl"


class Restated(NamedTuple):
    """One step of one figure or text: what it was before and after a cause was substituted, null where it is unknown."""

    report_id: str
    datapoint_id: str
    cause: str
    before: str | None
    after: str | None
    delta: str | None = None
    is_text: bool = False  # a text or a verdict that is printed: it has no delta

    @classmethod
    def step(cls, report_id: str, datapoint_id: str, cause: str, before: Decimal | None, after: Decimal | None) -> "Restated":
        """A step from one value to the next; the difference of two of which one is unknown is unknown."""
        delta = None if before is None or after is None else after - before
        was, now, moved = (None if value is None else f"{value:f}" for value in (before, after, delta))
        return cls(report_id, datapoint_id, cause, was, now, moved)


def read_restated(home: Path) -> tuple[Restated, ...]:
    """Every recorded step; none where nobody has asked yet."""
    path = home / "reports" / RECORD
    if not path.exists():
        return ()
    try:
        return tuple(Restated(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines())
    except (ValueError, TypeError) as error:
        remedy = "Remove the file and run `trainledger restatements` again."
        raise SourceError("the record of restatements is damaged", where=str(path), remedy=remedy) from error


def record(home: Path, found: list[Restated], compared: Mapping[str, Collection[str]]) -> None:
    """Put the steps that were found in the place of those recorded of what was compared, by report; the others stay."""
    kept = (one for one in read_restated(home) if one.datapoint_id not in compared.get(one.report_id, ()))
    rows = sorted([*kept, *found], key=lambda one: (one.report_id, one.datapoint_id, one.cause))
    text = "".join(json.dumps(one._asdict(), ensure_ascii=False) + "\n" for one in rows)
    path = home / "reports" / RECORD
    if text != (path.read_text(encoding="utf-8") if path.exists() else ""):
        path.parent.mkdir(exist_ok=True)
        durable.clear_unfinished(path.parent)
        durable.write(path, text)
