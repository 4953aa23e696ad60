"""`published/docs/index.html`: every published table and column on one page, from the published file alone.

Written with a publication, so that it shows what that file holds; no scripts or fonts from elsewhere. dbt's own pages are made
on demand (commands/dbt_by_hand.py) and lie beside it. Reports are in reports/.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dagster_project.base import durable, modes
from dagster_project.publishing.relations import relations
from dagster_project.publishing.tables import PublishedTable

# the first that a table's name begins with
GROUPS = {
    "marts.dim_": "What figures are of",
    "marts.fct_": "Figures",
    "marts.rpt_": "Tables of the reports",
    "marts.": "Summaries, and rows to hand over",
    "ops.": "Deliveries, gates and builds",
}
FOLDER, PAGE, DBT_PAGE = "docs", "index.html", "dbt.html"
TO_DBT_PAGE = f'<p><a href="{DBT_PAGE}">All models, with their SQL and what reads what</a> (dbt)</p>'
NO_DBT_PAGE = (
    '<p class="soft">With dbt&#39;s own pages beside it after <code>trainledger dbt -- docs generate --static</code>.</p>'
)
ASKED = """select schema_name, table_name, column_name, data_type, is_nullable, comment
from duckdb_columns() where schema_name in ('marts', 'ops') order by schema_name, table_name, column_index"""
WORDS = """select schema_name, table_name, comment from duckdb_tables() union all
select schema_name, view_name, comment from duckdb_views() where not internal"""


def write_catalogue(file: Path, published: Path, tables: Sequence[PublishedTable], *, is_same: bool = False) -> None:
    """Write the page of a published file, unless it is the one that lies there. `is_same`: tables and words did not change."""
    folder = published / FOLDER
    folder.mkdir(exist_ok=True)
    durable.clear_unfinished(folder)
    if is_same and (folder / PAGE).exists():
        return
    page, text = folder / PAGE, _page(file, tables, (folder / DBT_PAGE).exists())
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        durable.write(page, text)
    modes.give(folder, modes.as_in(published))


def publish_dbt_page(made: Path, published: Path) -> Path:
    """Lay dbt's own page beside the catalogue, which leads there from then on. Returns where it lies."""
    folder = published / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    durable.write(folder / DBT_PAGE, made.read_bytes())
    if (page := folder / PAGE).exists():
        text = page.read_text(encoding="utf-8")
        durable.write(page, text.replace(NO_DBT_PAGE, TO_DBT_PAGE))
    modes.give(folder, modes.as_in(published))
    return folder / DBT_PAGE


def _page(file: Path, tables: Sequence[PublishedTable], has_dbt_page: bool) -> str:
    import duckdb
    import jinja2

    with duckdb.connect(str(file), read_only=True) as connection:
        rows = connection.execute(ASKED).fetchall()
        words = {(schema, table): comment for schema, table, comment in connection.execute(WORDS).fetchall()}
    columns: dict[tuple[str, str], list[list[Any]]] = {}
    for schema, table, *column in rows:
        columns.setdefault((schema, table), []).append(column)
    pointing = [*relations({table: [name for name, *_ in of] for (schema, table), of in columns.items() if schema == "marts"})]
    keys = {("marts", table.name): table.key for table in tables}
    shown: list[dict[str, Any]] = [
        {
            "name": f"{schema}.{table}",
            "words": words[schema, table] or "",
            "columns": of,
            "key": keys.get((schema, table), ()),
            "relations": (relations_of := [one for one in pointing if (schema, table) == ("marts", one.child)]),
            "leads": {one.columns[-1]: one.parent for one in relations_of},  # before it, only the provider's name
            "held_by": sorted({one.child for one in pointing if (schema, table) == ("marts", one.parent)}),
        }
        for (schema, table), of in columns.items()
    ]
    groups: dict[str, list[dict[str, Any]]] = {words: [] for words in GROUPS.values()}
    for one in shown:
        groups[next(words for start, words in GROUPS.items() if one["name"].startswith(start))].append(one)
    page = jinja2.Template(Path(__file__).with_name("catalogue.html").read_text(encoding="utf-8"), autoescape=True)
    return page.render(
        groups=groups, table_count=len(shown), column_count=len(rows), to_dbt_page=TO_DBT_PAGE if has_dbt_page else NO_DBT_PAGE
    )
