"""The named questions of questions.yml, asked of a publication, and the bounds of an answer: rows, characters, that it was cut.

For assistants, whose every figure must carry its unit, how it is known, its bounds, its id for `trainledger trace`, and where it
is null the reason. What a figure means is in the SQL and in dbt, not here; nor is who asks, and over which protocol.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from reports import pages
from reports.door import Row
from reports.errors import ReportError
from reports.model import key_text
from reports.page.numbers import plain
from reports.publication import Publication
from reports.runs.account import accounts, jsonable

MOST_ROWS = 100  # of each table of an answer
MOST_CHARACTERS = 30_000  # of an answer as JSON: about 10,000 tokens of a model
LONGEST_TEXT = 2_000
NO_REASON = "the publication gives no reason"
Answer = dict[str, Any]


class QuestionError(ReportError):
    """There is no such question, or it lacks a part."""


@cache
def _document() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("questions.yml").read_bytes())
    return found


def questions() -> dict[str, dict[str, Any]]:
    """Every named question: what it is about, what it asks for, and its tables."""
    return {name: one for name, one in _document().items() if isinstance(one, dict)}


def words(name: str) -> str:
    """A text of questions.yml that is no question."""
    return str(_document()[name])


def publication_of(publication: Publication) -> Row:
    """Which publication an answer is of."""
    return pages.rows(publication, "publication_named", {}, is_needed=True)[0]


def answer(publication: Publication, name: str, asked: Mapping[str, str]) -> Answer:
    """The answer to a named question: per table its rows, with every figure's value, unit, bounds, confidence, reason and id."""
    question, found = questions()[name], {}
    given = {part: asked.get(part) or None for part in question["asks"]}
    if table := given.get("table"):
        given["table"] = re.sub(r"^(marts|ops)\.", "", table)
    if run_ids := [asked[part] for part in question.get("runs", ())]:
        found["runs"] = [_short(account_of(publication, run_id)) for run_id in run_ids]
    for table in question["tables"]:
        rows = pages.rows(publication, table["page"], given, most=MOST_ROWS + 1, is_needed=True)
        found[table["table"]] = [_shaped(row, table) for row in rows]
    return found


def bounded(found: Answer) -> Answer:
    """An answer within its rows and characters, with what was cut of it under `cut`."""
    cut: dict[str, str] = {}
    found = {name: list(part) if isinstance(part, list) else part for name, part in jsonable(_shortened(found)).items()}
    lists = {name: part for name, part in found.items() if isinstance(part, list)}
    for name, part in lists.items():
        if len(part) > MOST_ROWS:
            del part[MOST_ROWS:]
            cut[name] = f"the first {MOST_ROWS} rows; there are more"
    while lists and len(json.dumps(found, ensure_ascii=False)) > MOST_CHARACTERS:
        name, part = max(lists.items(), key=lambda one: len(json.dumps(one[1], ensure_ascii=False)))
        if not part:
            break
        del part[len(part) // 2 :]
        cut[name] = f"the first {len(part)} rows, for an answer has at most {MOST_CHARACTERS} characters; there are more"
    return found | ({"cut": cut} if cut else {})


def figure(row: Row, name: str, means: Mapping[str, str], id_: str) -> dict[str, Any]:
    """One figure of a row; `means` has where its unit, its confidence, its reason and the reason for no bounds are."""

    def of(what: str) -> Any:
        text = means.get(what)
        return row.get(text[1:]) if text and text.startswith("$") else text

    prefix = "" if name == "value" else f"{name}_"
    value, low, high = row[name], row.get(f"{prefix}low"), row.get(f"{prefix}high")
    stated = {
        "name": name,
        "value": value,
        "unit": of("unit"),
        "low": low,
        "high": high,
        "confidence": of("confidence"),
        "id": id_,
    }
    if value is None:
        return stated | {"unknown_because": of("because") or NO_REASON}
    return stated | ({"no_bounds_because": means.get("bounds", NO_REASON)} if low is None or high is None else {})


def account_of(publication: Publication, run_id: str) -> Answer:
    """Why a run cost what it cost: its account, with each figure's reason where it has no bounds."""
    [account] = accounts(publication, [run_id])
    return account | {"figures": [one | _without_bounds(one) for one in account["figures"]]}


def _without_bounds(one: Mapping[str, Any]) -> dict[str, str]:
    if one["value"] is None or one["low"] is not None:
        return {}
    return {"no_bounds_because": words("of_the_provider" if one["name"].startswith("provider_") else "of_the_bill")}


def _shaped(row: Row, table: Mapping[str, Any]) -> Row:
    """A row with its figures apart; a column that is a figure's unit, bound or reason is stated with the figure alone."""
    figures = table.get("figures", {})
    if not figures:
        return row
    key = key_text([plain(row[name]) for name in table["key"]])
    shown = [figure(row, name, means, f"{table['table']}/{key}/{name}") for name, means in figures.items()]
    within = {text[1:] for means in figures.values() for text in means.values() if text.startswith("$")} - {*table["key"]}
    within |= {f"{name}{end}" for name in figures for end in ("", "_low", "_high")}
    return {name: value for name, value in row.items() if name not in within} | {"figures": shown}


def _short(account: Row) -> Row:
    """Of a run's account what is put beside another's."""
    kept = (
        "training_run_id",
        "team",
        "model_name",
        "workload_key",
        "accelerator_type",
        "region_id",
        "state",
        "status",
        "figures",
    )
    return {name: account[name] for name in kept}


def _shortened(value: Any) -> Any:
    """Every text at most as long as is useful to a reader."""
    if isinstance(value, dict):
        return {name: _shortened(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(one) for one in value]
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        return f"{value[:LONGEST_TEXT]} … (cut: {len(value):,} characters)"
    return value
