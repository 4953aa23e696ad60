"""Quality in sentences: until when the data were published, which checks failed, and which sources are groups."""

from reports.model import Table
from reports.pages import rows
from reports.publication import Publication
from reports.quarter import Quarter, listed


def vintage_sentence(publication: Publication, quarter: Quarter) -> str:
    """Until when what the quarter rests on was published."""
    newest = [
        f"{row['what']} until {row['newest']:%Y-%m-%d}" for row in rows(publication, "newest_of_quarter", quarter.arguments)
    ]
    return f"Data as published: {listed(newest)} (UTC)." if newest else ""


def gates_line(table: Table) -> str:
    """All checks in one line, those that did not pass named in words."""
    if not table.rows:
        return ""
    failed = [_in_words(str(row["gate"])) for row in table.rows if not row["passed"]]
    if not failed:
        return f"All {len(table.rows)} checks before publication passed."
    passed = len(table.rows) - len(failed)
    return f"{passed} of {len(table.rows)} checks before publication passed. Not passed, as a warning: {'; '.join(failed)}."


def groups_line(table: Table | None) -> str:
    """Which sources are not the provider's rows; nothing where all are."""
    found = table.rows if table else ()
    named = listed([f"{row['source_name']} (by {row['grouped_by']})" for row in found])
    return f"For {named} this report rests on groups, not on the provider's rows." if named else ""


def _in_words(gate: str) -> str:
    """dbt.assert_every_tpu_sku_is_known -> every tpu sku is known."""
    return gate.rpartition(".")[2].removeprefix("assert_").replace("_", " ")
