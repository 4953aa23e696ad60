"""`published/docs/index.html`: every published table and column on one page, from the published file alone.

Written with a publication, so that it shows what that file holds; no scripts or fonts from elsewhere. dbt's own pages are made
on demand (commands/dbt_by_hand.py) and lie beside it. Reports are in reports/.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from dagster_project.base import durable, modes
from dagster_project.publishing.relations import Relation, relations
from dagster_project.publishing.tables import PublishedTable

FOLDER, PAGE, DBT_PAGE = "docs", "index.html", "dbt.html"
TO_DBT_PAGE = f'<p><a href="{DBT_PAGE}">All models, with their SQL and what reads what</a> (dbt)</p>'
NO_DBT_PAGE = (
    '<p class="soft">With dbt&#39;s own pages beside it after <code>trainledger dbt -- docs generate --static</code>.</p>'
)
ASKED = """select schema_name, table_name, column_name, data_type, is_nullable, comment
from duckdb_columns() where schema_name in ('marts', 'ops') order by schema_name, table_name, column_index"""
WORDS = """select schema_name, table_name, comment from duckdb_tables() union all
select schema_name, view_name, comment from duckdb_views() where not internal"""
STYLE = """:root{color-scheme:light dark;--line:#d5d5d0;--soft:#5c5c57;--mark:#0b5cad}
@media(prefers-color-scheme:dark){:root{--line:#3c3c3a;--soft:#a9a9a3;--mark:#7db7f0}}
body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:72rem;padding:1.5rem}a{color:var(--mark)}
h2{margin:2.5rem 0 .25rem;font-size:1.15rem;font-family:ui-monospace,monospace;overflow-wrap:anywhere}p{margin:.25rem 0}
.soft{color:var(--soft)}input{font:inherit;padding:.35rem .6rem;width:min(100%,28rem);margin:.75rem 0}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;margin-top:.5rem}caption{text-align:left}
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-top:1px solid var(--line)}
td:first-child,td:nth-child(2){font-family:ui-monospace,monospace;font-size:.9em;white-space:nowrap}"""
HEADINGS = "".join(f'<th scope="col">{words}</th>' for words in ("Column", "Type", "Null", "What it holds"))
# without scripts the page is whole, only not searched
SCRIPT = """const box=document.getElementById('find');box.closest('p').hidden=false;
box.addEventListener('input',()=>{const words=box.value.toLowerCase().split(/\\s+/);
for(const part of document.querySelectorAll('section')){const text=part.textContent.toLowerCase();
part.hidden=!words.every(word=>text.includes(word))}})"""


def write_catalogue(file: Path, published: Path, tables: Sequence[PublishedTable]) -> None:
    """Write the page of a published file, unless it is the one that lies there."""
    folder = published / FOLDER
    folder.mkdir(exist_ok=True)
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

    with duckdb.connect(str(file), read_only=True) as connection:
        rows = connection.execute(ASKED).fetchall()
        words = {(schema, table): comment for schema, table, comment in connection.execute(WORDS).fetchall()}
    columns: dict[tuple[str, str], list[tuple[str, str, bool, str]]] = {}
    for schema, table, *column in rows:
        columns.setdefault((schema, table), []).append(tuple(column))
    pointing = list(relations({table: [name for name, *_ in of] for (schema, table), of in columns.items() if schema == "marts"}))
    keys = {table.name: table.key for table in tables}
    parts = [
        _section(f"{schema}.{table}", words[schema, table] or "", of, keys.get(table, ()) if schema == "marts" else (), pointing)
        for (schema, table), of in columns.items()
    ]
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Published tables</title><style>{STYLE}</style></head><body><main>
<h1>Published tables</h1>
<p>{len(parts)} tables and views of <code>trainledger.duckdb</code>, {len(rows)} columns. Tables of marts have bare names too.</p>
{TO_DBT_PAGE if has_dbt_page else NO_DBT_PAGE}
<p hidden><label>Find <input id="find" type="search"></label></p>
{"".join(parts)}</main><script>{SCRIPT}</script></body></html>
"""


def _section(
    name: str, words: str, columns: Sequence[tuple[str, str, bool, str]], key: Sequence[str], pointing: Sequence[Relation]
) -> str:
    lines = "".join(
        f"<tr><td>{escape(column)}</td><td>{escape(kind.lower())}</td>"
        f"<td>{'may be null' if nullable and column not in key else ''}</td><td>{escape(comment or '')}</td></tr>\n"
        for column, kind, nullable, comment in columns
    )
    notes = "".join(f'<p class="soft">{note}</p>\n' for note in _notes(name, key, pointing))
    return f"""<section id="{escape(name)}"><h2>{escape(name)}</h2>
<p>{escape(words)}</p>
{notes}<div class="wide" tabindex="0" role="region" aria-label="Columns of {escape(name)}"><table>
<thead><tr>{HEADINGS}</tr></thead>
<tbody>{lines}</tbody></table></div></section>
"""


def _notes(name: str, key: Sequence[str], pointing: Sequence[Relation]) -> Iterator[str]:
    """The key, and where columns lead."""
    if key:
        yield f"Unique: {escape(', '.join(key))}"
    for relation in pointing:
        if f"marts.{relation.child}" == name:
            parent = f"marts.{relation.parent}"
            yield f'{escape(", ".join(relation.columns))} leads to <a href="#{parent}">{parent}</a>'
