"""Plans of comparisons as a CSV: which pairs of a workload there will be and what they promise, written before they run.

A form of user_inputs, whose files end in `.plan.csv`; its rows are landed as figures of kind `comparison_plan`. The time that
counts is the file's own in its store, so a file is never written again: what is changed is another plan, in another file. Which
pairs it registers is decided in SQL.
"""

from __future__ import annotations

from collections.abc import Iterator

from connectors.formats.lazy import pa
from connectors.formats.schema import Date, Number, Schema, Text, optional, required
from connectors.inputs.small_tables import Row, Table

ENDING = ".plan.csv"
PROMISES = ("to_target", "fixed_work")
DIRECTIONS = ("below", "above")
MOST_PAIRS = 10_000
COLUMNS = (
    *("workload_key", "pair_key", "first_day", "pairs", "promise"),
    *("target_metric", "target_direction", "target_value", "tokens", "source"),
)
_OF_TARGET = ("target_metric", "target_direction", "target_value")
_SCHEMA = Schema(
    columns=(
        *(required(name, Text, filled=True) for name in ("workload_key", "pair_key", "promise", "source")),
        required("first_day", Date, filled=True),  # UTC; both sides of a pair start on it or later
        required("pairs", Number, filled=True, below=1e12),
        *optional("target_metric target_direction", Text),
        *optional("target_value tokens", Number, below=1e15),
    ),
    remedy_page="docs/sources/user_inputs.md",
)
_FIGURE = {"workload_key": "key", "pairs": "value", "first_day": "valid_from"}  # as a figure's columns


def _mistakes(row: Row) -> Iterator[tuple[str, str]]:
    pairs, promise, tokens = float(row["pairs"]), row["promise"], row.get("tokens")
    work = None if tokens is None else float(tokens)
    if "*" in row["pair_key"][:-1]:
        yield "pair_key", "where * is at the end alone, for any text"
    if not (pairs == int(pairs) and 1 <= pairs <= MOST_PAIRS):
        yield "pairs", f"where a plan has 1 to {MOST_PAIRS} pairs"
    if promise not in PROMISES:
        yield "promise", f"where a promise is {' or '.join(PROMISES)}"
        return
    direction = row.get("target_direction")
    for name in _OF_TARGET:
        if (row.get(name) is None) is (promise == "to_target"):
            yield name, f"where the promise {promise} has {'one' if promise == 'to_target' else 'none'}"
    if promise == "to_target" and direction not in DIRECTIONS:
        yield "target_direction", f"where it is {' or '.join(DIRECTIONS)}"
    if (work is None) is (promise == "fixed_work") or (work is not None and not (work > 0 and work == int(work))):
        yield "tokens", f"where the promise {promise} has {'a number of them above 0' if promise == 'fixed_work' else 'none'}"


def _as_figures(plans: pa.Table) -> pa.Table:
    named = plans.rename_columns([_FIGURE.get(name, name) for name in plans.column_names])
    for name, value in (("kind", "comparison_plan"), ("unit", "pairs")):
        named = named.append_column(name, pa.repeat(pa.scalar(value), plans.num_rows))
    return named


PLANS = Table("plans of comparisons", _SCHEMA, ("workload_key", "pair_key"), _mistakes, "first_day", _as_figures, ENDING)
