"""`reports/issued.jsonl`: a line per issued report, each with the digest of the line before, so that none can go unseen.

The line is what makes a report issued: it is written last. A folder below `reports/issued` without a line is what a killed
command left. Retention and `prune` read the hashes that lines name (landing/retention.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dagster_project.base import durable
from dagster_project.base.failures import GateError

CHAIN = "issued.jsonl"
FOLDER = "issued"
Line = dict[str, Any]


def lines_of(reports: Path) -> list[Line]:
    """The lines of the chain below a home's `reports`, oldest first; a damaged one is an error that names it."""
    path = reports / CHAIN
    if differences := list(chain_differences(path)):
        remedy = "Restore it: `issued/` holds the line of each report beside its folder."
        raise GateError(f"the chain of issued reports is damaged: {differences[0]}", where=str(path), remedy=remedy)
    return [json.loads(text) for text in _texts(path)]


def append(reports: Path, line: Line) -> Line:
    """Add a line with the digest of the one before; on disk when this returns. Returns it as it was written."""
    texts = _texts(reports / CHAIN)
    chained = {**line, "previous": _digest(texts[-1]) if texts else None}
    text = _text(chained)
    for folder in (reports, reports / FOLDER):
        durable.clear_unfinished(folder)
    durable.write(reports / FOLDER / f"{line['report_id']}.line.json", text + "\n")
    durable.write(reports / CHAIN, "".join(f"{one}\n" for one in (*texts, text)))
    return chained


def chain_differences(path: Path) -> Iterator[str]:
    """What of the chain is not as it was written: a line that is no line, or does not follow the one before."""
    before: str | None = None
    for number, text in enumerate(_texts(path), start=1):
        try:
            line = json.loads(text)
            is_next = isinstance(line, dict) and line["previous"] == before and isinstance(line["report_id"], str)
        except (ValueError, KeyError):
            is_next = False
        if not is_next:
            yield f"{path.name}, line {number}: it does not follow the line before"
            return
        before = _digest(text)


def digest_of(line: Line) -> str:
    """The digest by which the next line, a later report and the landing know a line."""
    return _digest(_text(line))


def last_of(lines: list[Line], quarter: str) -> Line | None:
    """The report of a quarter that no later one takes the place of."""
    return next((line for line in reversed(lines) if line["quarter"] == quarter), None)


def _text(line: Line) -> str:
    return json.dumps(line, sort_keys=True, ensure_ascii=False)


def _texts(path: Path) -> list[str]:
    return [text for text in path.read_text(encoding="utf-8").split("\n") if text] if path.exists() else []


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
