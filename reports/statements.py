"""Published report tables for other dates: the query of a table, with each report table in it replaced by its own SELECT.

The published file has those SELECTs (`ops.report_statements`), with the dates they are about between two comments. What comes
out is one query that the published file answers by itself, so that a reader can repeat it with `trainledger sql`.
"""

import re
from collections.abc import Mapping

from reports.publication import Publication
from reports.quarter import Window

DATES = re.compile(r"/\* windows \*/.*?/\* end of windows \*/", re.DOTALL)


def report_statements(publication: Publication) -> dict[str, str]:
    """The SELECT of each report table; empty in a file of an older version."""
    rows = publication.rows_if_there("select model, statement from ops.report_statements order by model")
    return {row["model"]: row["statement"] for row in rows}


def standing_alone(sql: str, statements: Mapping[str, str], window: Window) -> str:
    """The query with the report tables it reads as common table expressions about the window, each before who reads it."""
    parts: dict[str, str] = {}
    dates = f"select date '{window.start}' as window_start, date '{window.end}' as window_end"

    def with_own_tables(text: str) -> str:
        for model, statement in statements.items():
            name = re.compile(rf'\bmarts\.(?:"{model}"|{model}\b)')
            if name.search(text):
                if model not in parts:
                    # what it reads comes first
                    parts[model] = with_own_tables(DATES.sub(f"/* windows */ {dates} /* end of windows */", statement))
                text = name.sub(model, text)
        return text

    own = with_own_tables(sql)
    if not parts:
        return sql
    tables = ",\n".join(f"{model} as (\n{statement.strip()}\n)" for model, statement in parts.items())
    rest = re.match(r"\s*with\s", own, re.IGNORECASE)
    return f"with {tables},\n{own[rest.end() :]}" if rest else f"with {tables}\n{own.lstrip()}"
