"""The tables of a report as the YAML files beside the sections declare them: title, columns, method.

A section gives a table its query: `chosen` are rows of a mart as they are, `summed` a row for each of their names. Both select
the declared columns, so that a section writes down only where rows come from and what is no column of theirs.

A row of columns is `{usage_month: Month, region_id: Region}`: the column of the query and its heading. The kind of each is that
of its name. `_` holds what else these columns have in common, in the words of `Column`, and:

    bounded: true            a modelled figure: one cell on the page, 812 (640-1 020), its `_low` and `_high` in the data files;
                             another name instead of true where the ends are called otherwise
    named: [column, heading] an id and what people call it: one cell on the page, two columns in the data files
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from reports.model import Column, TableSpec
from reports.sections.sql import whole

HERE = Path(__file__).resolve().parent
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

ADDED = frozenset({"money", "mass", "energy", "hours"})  # kinds of which the parts add up


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


@cache
def declared() -> dict[str, Any]:
    """What the files declare, by the id of a table, or by the name of a text."""
    # the loader in C, where PyYAML has it: every refresh imports these files
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    files = [yaml.load(file.read_bytes(), loader) for file in sorted(HERE.glob("*.yml"))]
    return {id: entry for file in files for id, entry in file.items()}


def table(id: str) -> TableSpec:
    """A declared table, without its query."""
    entry = declared()[id]
    method = entry["method"]  # one text, or several that other tables share
    parts = {
        "columns": tuple(columns(entry["columns"])),
        "key": tuple(entry.get("key", ())),
        "method": method if isinstance(method, str) else " ".join(method),
    }
    return TableSpec(id=id, sql="", **{**entry, **parts})


def by(id: str, name: str, group: str, label: str) -> TableSpec:
    """The table of one attribute of runs, which is its first column: cost_by of the team is cost_by_team, Cost by team."""
    spec = table(id)
    return replace(spec, id=f"{spec.id}_{name}", title=f"{spec.title} {name}", columns=(Column(group, label), *spec.columns))


def chosen(asked: TableSpec | str, rows: str, order: str = "", /, *, before: str = "", **made: str) -> TableSpec:
    """A table, or the declared one of an id, as some rows: a FROM clause and what follows it. By its key if no order is given.

    `made` are expressions for columns that the rows do not have by that name, and for others that only drawings read; `before`
    are common table expressions.
    """
    spec = table(asked) if isinstance(asked, str) else asked
    names = [*spec.row_key, *(column.key for column in spec.columns)]
    columns = {name: made.get(name, name) for name in dict.fromkeys((*names, *made))}
    shown = ",\n    ".join(name if name == expression else f"{expression} as {name}" for name, expression in columns.items())
    parts = (before and f"with {before}", f"select {shown}", f"from {rows}", f"order by {order or ', '.join(spec.row_key)}")
    return replace(spec, sql="\n".join(filter(None, parts)))


def summed(
    asked: TableSpec | str,
    rows: str,
    order: str = "",
    /,
    *,
    before: str = "",
    parts: str = "count(*)",
    total: str | None = None,
    having: str = "",
    **made: str,
) -> TableSpec:
    """A table as sums over some rows: one for each combination of its texts, and where `total` is given of those texts alone.

    A measure that is not made is the sum of its parts, null when any of them is. `parts` counts those that there should be.
    """
    spec = table(asked) if isinstance(asked, str) else asked
    added = {column.key: whole(column.key, parts) for column in spec.columns if column.kind in ADDED}
    group = "all"
    if total is not None:
        texts = dict.fromkeys((*spec.row_key, *(column.key for column in spec.columns if column.is_text)))
        names = [name for name in texts if name not in made]
        left = [name for name in names if name not in total.split(", ")]
        group = f"grouping sets (({', '.join(names)}), ({total}))"
        made["is_total"] = f"grouping({', '.join(left)}) > 0"
        order = order or ", ".join(filter(None, (total, "is_total", *left)))
    rows = f"{rows}\ngroup by {group}" + (f"\nhaving {having}" if having else "")
    return chosen(spec, rows, order, before=before, **added | made)
