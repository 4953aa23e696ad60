"""The tables of a report as the YAML files beside the sections declare them: title, columns, method.

A section gives a table its query: `chosen` are rows of a mart as they are, `summed` a row for each of their names. Both select
the declared columns, so that a section writes down only where rows come from and what is no column of theirs.

A row of columns is `{usage_month: Month, region_id: Region}`: the column of the query and its heading. The kind of each is that
of its name. `_` holds what else these columns have in common, in the words of `Column`, and:

    bounded: true            a modelled figure: one cell on the page, 812 (640-1 020), its `_low` and `_high` in the data files;
                             another name instead of true where the ends are called otherwise
    named: [column, heading] an id and what people call it: one cell on the page, two columns in the data files
"""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from reports.model import Column, TableSpec
from reports.pages import ADDED, declared_spec
from reports.sections.sql import whole

HERE = Path(__file__).resolve().parent


@cache
def declared() -> dict[str, Any]:
    """What the files declare, by the id of a table, or by the name of a text."""
    # the loader in C, where PyYAML has it: every refresh imports these files
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    files = [yaml.load(file.read_bytes(), loader) for file in sorted(HERE.glob("*.yml"))]
    return {id: entry for file in files for id, entry in file.items()}


def table(id: str) -> TableSpec:
    """A declared table, without its query."""
    return declared_spec(id, declared()[id])


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
