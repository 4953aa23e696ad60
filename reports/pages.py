"""The tables of a report as the pages of a publication declare them: title, columns, method, which rows, in which order.

A page is a dbt model whose SELECT the published file has (`ops.report_pages`). Here its rows are chosen by the quarter or the
dates of a report and put in order; what they are is SQL in dbt/models/pages.

A row of columns is `{usage_month: Month, region_id: Region}`: the column of the page and its heading. The kind of each is that
of its name. `_` holds what else these columns have in common, in the words of `Column`, and:

    bounded: true            a modelled figure: one cell on the page, 812 (640-1 020), its `_low` and `_high` in the data files;
                             another name instead of true where the ends are called otherwise
    named: [column, heading] an id and what people call it: one cell on the page, two columns in the data files

Beside the columns: `rows: {quarter: $quarter}` chooses, by constants or arguments; `{names: {contains: $text}}` by a part of the
column's text, in either case; an argument that is not given chooses all, in a list none. `order` is by the key if there is none;
`also` are columns that only drawings and sentences read. A page may have arguments in its SELECT as well (macro `argument`).
`has_filed: true`: the columns of the answer of providers that is filed are headed so, location-based or market-based.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from reports.door import Row
from reports.errors import PublicationError
from reports.model import Column, Span, Table, TableSpec
from reports.publication import Publication

QUARTERS = re.compile(r"/\* quarters \*/.*?/\* end of quarters \*/", re.DOTALL)
WINDOWS = re.compile(r"/\* windows \*/.*?/\* end of windows \*/", re.DOTALL)
ARGUMENT = re.compile(r"/\* (\w+) \*/.*?/\* end of \1 \*/", re.DOTALL)
NOT_OF_A_SPEC = frozenset({"columns", "key", "method", "rows", "order", "also", "has_filed"})
ENDINGS = {
    "money": "_cost",
    "mass": "_kgco2e",
    "energy": "_kwh",
    "hours": "_hours",
    "ratio": "_ratio",
    "count": "_count _months _cells _records _years _number rows position _differ _without_figure _per_node",
    "month": "_month",
    "date": "_date valid_from",
    "time": "_at undated",
    "flag": "passed has_bill has_carbon",
    "digest": "_hash",
    "state": "confidence _rule _component state _status outcome _kind _option",
    "code": "_id _code _key _type _types _version _versions _zone _object currency regions kind partition gate field fingerprint",
}


def kind_of(key: str) -> str:
    """A measure's name ends in its unit, so the name shows the kind: effective_cost is money, region_id a code."""
    return next((kind for kind, endings in ENDINGS.items() if key.endswith(tuple(endings.split()))), "text")


def columns(rows: Iterable[dict[str, Any]]) -> Iterator[Column]:
    """The columns of declared rows."""
    for row in rows:
        for key, label in row.items():
            if key != "_":
                yield from _column(key, label, **row.get("_", {}))


def _column(
    key: str,
    label: str,
    *,
    kind: str = "",
    bounds: Iterable[str] = (),
    bounded: bool | str = False,
    named: tuple[str, str] = ("", ""),
    **others: Any,
) -> Iterator[Column]:
    kind, stem = kind or kind_of(key), key if bounded is True else bounded
    ends = {f"{stem}_low": f"{label}, low bound", f"{stem}_high": f"{label}, high bound"} if stem else {}
    yield Column(key, label, kind, bounds=tuple(bounds or ends), name=named[0], **others)
    for end, words in ends.items():
        yield Column(end, words, kind, is_data_only=True, **others)
    if named[0]:
        yield Column(*named, note="the bills carry no name for it", is_data_only=True)


def declared_spec(id: str, entry: Mapping[str, Any]) -> TableSpec:
    """A declared table, without its query."""
    method = entry.get("method", "")  # one text, or several that other tables share
    return TableSpec(
        id=id,
        sql="",
        columns=tuple(columns(entry.get("columns", ()))),
        key=tuple(entry.get("key", ())),
        method=method if isinstance(method, str) else " ".join(method),
        title=entry.get("title", id),
        **{name: value for name, value in entry.items() if name not in NOT_OF_A_SPEC | {"title"}},
    )


def query(publication: Publication, id: str, arguments: Mapping[str, object]) -> str:
    """The SELECT of a declared table for some arguments: `$name` in its declaration is one, a list is any of its values."""
    _, statement, entry = publication.pages[id]
    spec = declared_spec(id, entry)
    if "quarter" in arguments:
        own = f"select date '{arguments['start']}' as quarter_start"
        statement = QUARTERS.sub(f"/* quarters */ {own} /* end of quarters */", statement)
    if "year" in arguments:
        starts, end = dict.fromkeys((arguments["start"], arguments["year"])), arguments["end"]
        own = " union all ".join(f"select date '{start}' as window_start, date '{end}' as window_end" for start in starts)
        statement = WINDOWS.sub(f"/* windows */ {own} /* end of windows */", statement)
    statement = ARGUMENT.sub(lambda mark: _asked(mark, arguments), statement)
    names = dict.fromkeys((*spec.row_key, *(column.key for column in spec.columns), *entry.get("also", ())))
    chosen = chosen_by(entry, arguments)
    parts = (
        f"select {', '.join(names) or '*'}",
        f"from (\n{statement}\n) as {id}",
        chosen and f"where {' and '.join(chosen)}",
        f"order by {', '.join(entry.get('order') or spec.row_key)}",
    )
    return "\n".join(part for part in parts if part)


def chosen_by(entry: Mapping[str, Any], arguments: Mapping[str, object]) -> list[str]:
    """The conditions by which a declared table takes rows of its page."""
    return [*filter(None, (_condition(name, value, arguments) for name, value in entry.get("rows", {}).items()))]


def rows(
    publication: Publication,
    id: str,
    arguments: Mapping[str, object],
    changed: Callable[[str], str] = str,
    *,
    most: int | None = None,
    is_needed: bool = False,
) -> list[Row]:
    """The rows of a declared page that is no table of a report, or the first of them.

    None where the publication has not what the page reads; `is_needed`: PublicationError.
    """
    page = publication.pages.get(id)
    missing = publication.missing(page.statement) if page else f"the published file has no page {id}"
    if missing and is_needed:
        raise PublicationError(f"This cannot be answered: {missing}. `trainledger refresh` publishes what this version reads.")
    sql = "" if missing else changed(query(publication, id, arguments))
    return publication.rows(sql if most is None else f"{sql}\nlimit {most}") if sql else []


def is_there(publication: Publication, id: str) -> bool:
    """Whether the publication has a declared page and what it reads."""
    return id in publication.pages and not publication.missing(publication.pages[id].statement)


def _asked(mark: re.Match[str], arguments: Mapping[str, object]) -> str:
    name = mark[1]
    return f"/* {name} */ {_literal(arguments[name])} /* end of {name} */" if name in arguments else mark[0]


def _argument(value: Any, arguments: Mapping[str, object]) -> Any:
    if isinstance(value, list):
        return [one for one in (_argument(one, arguments) for one in value) if one is not None]
    return arguments[value[1:]] if isinstance(value, str) and value.startswith("$") else value


def _condition(name: str, value: Any, arguments: Mapping[str, object]) -> str:
    asked = _argument(value["contains"] if isinstance(value, dict) else value, arguments)
    if asked is None:
        return ""
    if isinstance(value, dict):
        return f"contains(lower(cast({name} as varchar)), lower({_literal(asked)}))"
    if isinstance(asked, list | tuple):
        return f"{name} in ({', '.join(map(_literal, asked))})" if asked else "false"
    return f"{name} = {_literal(asked)}"


def _literal(value: object) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, date):
        return f"{'timestamp' if isinstance(value, datetime) else 'date'} '{value}'"
    return "null" if value is None else str(value)


def answer(
    publication: Publication,
    span: Span,
    asked: str,
    changed: Callable[[str], str] = str,
    words: Callable[[TableSpec], TableSpec] = lambda spec: spec,
) -> Table:
    """A table of a report. Where the publication has not what it asks for, the table is absent and left out.

    `changed` makes another query of the one that is asked, `words` other words and columns of the declared ones.
    """
    if asked not in publication.pages:
        return Table(TableSpec(asked, asked, "", (), method=""), absent="not part of this publication", quarter=span.name)
    page = publication.pages[asked]
    spec = words(declared_spec(asked, page.declared)).of(span)
    if page.declared.get("has_filed"):
        spec = replace(spec, columns=tuple(_headed_as_filed(publication, spec.columns)))
    spec = replace(spec, model=page.model, sql=changed(query(publication, asked, span.arguments)))
    if publication.missing(spec.sql):
        return Table(spec, absent="not part of this publication", quarter=span.name)
    return Table(spec, tuple(publication.rows(spec.sql)), quarter=span.name)


def _headed_as_filed(publication: Publication, columns: Iterable[Column]) -> Iterator[Column]:
    """The columns, those of the method whose electricity is filed with a mark in their heading."""
    filed = tuple(f"{row['scope3_electricity']}_based" for row in rows(publication, "filed_method", {}))
    for column in columns:
        if not any(method in column.key for method in filed):
            yield column
        elif column.group:
            yield replace(column, group=f"{column.group}, filed")
        else:
            yield replace(column, label=f"{column.label}, filed")


def answered(
    publication: Publication,
    span: Span,
    *asked: str,
    changed: Callable[[str], str] = str,
    words: Callable[[TableSpec], TableSpec] = lambda spec: spec,
) -> dict[str, Table]:
    """The tables that have something to show, in their order."""
    tables = (answer(publication, span, one, changed, words) for one in asked)
    return {table.id: table for table in tables if not table.absent and (table.rows or not table.spec.is_dropped_when_empty)}
