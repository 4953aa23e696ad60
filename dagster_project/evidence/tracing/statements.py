"""The SQL by which landed rows are read and grouped, as dbt lays it out: staging models and int_aws_line_groups.

A build file cannot be asked while a refresh writes it, so the text is taken from what dbt laid out for this version of the code.
From the text of int_aws_line_groups two parts are taken: the columns that make a group, and the sum of its costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dagster_project.warehouse import modelling

GROUPS = "int_aws_line_groups"
KEYS_BEGIN, KEYS_END = "line_groups as (\n    select\n", "-- the first row of a group gives it its name"
TOTAL_BEGIN, TOTAL_END = "as line_count,", " as unblended_cost"


@dataclass(frozen=True)
class Grouping:
    """How AWS lines become groups: the CTEs before, the columns of a group, and its unblended cost as an aggregate."""

    before: str
    keys: str
    total: str


def compiled(home: Path) -> dict[str, str]:
    """The compiled SELECT of each model, its relations without a database."""
    texts = modelling.compiled(home).items()
    return {unique_id.rpartition(".")[2]: text.replace('"build".', "") for unique_id, text in texts}


def grouping(text: str) -> Grouping:
    """The parts of int_aws_line_groups that say which rows are one group."""
    before, begin, rest = text.partition(KEYS_BEGIN)
    keys, end, rest = rest.partition(KEYS_END)
    _, line_count, rest = rest.partition(TOTAL_BEGIN)
    total, unblended, _ = rest.partition(TOTAL_END)
    if not all((begin, end, line_count, unblended)):
        raise LookupError(f"{GROUPS} is not written as commands/tracing/statements.py reads it")
    return Grouping(before.rstrip().rstrip(","), keys.rstrip().rstrip(","), total.strip())
