"""A drawn publication as rows of tables that the models read, and what these make of it beside the second implementation."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from math import isclose
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from tests.comparison.published import Models
from tests.comparison.second.clusters import Pair, half_quarter, quarter_end
from tests.comparison.second.deciding import Row, World, decide, printed
from tests.comparison.second.deciding import of_strata as strata_of
from tests.comparison.second.drawn import Drawn
from tests.comparison.second.power import Term

OF_COMPARISON = ("pairs", "members", "figures", "shares", "promises")
GIVEN = ("int_report_windows", *(f"int_comparison_{name}" for name in OF_COMPARISON))
WANTED = ("rpt_trainium_vs_tpu", "rpt_comparison_strata")
SIDES = ("trainium", "tpu")
KEY = ("window_start", "window_end", "workload_key", "kpi", "factor_view")
BEHIND = frozenset({"no_data", "unpaired"})  # of figures that no pair of the row has: unit tests of rpt_trainium_vs_tpu ask them


def windows(drawn: Drawn) -> list[tuple[dt.date, dt.date]]:
    """The quarter and the four quarters that end at each end."""
    return [(start, end) for end in drawn.ends for start in (dt.date(end.year - 1, end.month, 1), quarter_end(end, -1))]


def frames(drawn: Drawn) -> dict[str, pl.DataFrame]:
    """Rows of GIVEN: each side of a pair is one run."""
    ends = windows(drawn)
    pairs = [_as_table(pair) for pair in drawn.pairs]
    runs = {_run(pair, side): (pair, side) for pair in pairs for side in SIDES}
    members = [
        {
            "window_start": start,
            "window_end": end,
            "training_run_id": run,
            "workload_key": pair["workload_key"],
            "pair_key": pair["pair_key"],
            "accelerator_family": side,
            "accelerator_type": pair[f"{side}_accelerator_type"],
            "region_id": pair[f"{side}_region_id"],
            "is_in_window": True,
            "is_in_pair": True,
        }
        for run, (pair, side) in runs.items()
        for start, end in ends
        if start <= pair["settled_at"].date() < end
    ]
    same = ("kpi", "factor_view", "setting", "unit")
    figures = [
        {name: pair[name] for name in same}
        | {"training_run_id": _run(pair, side), "value": pair[f"{side}_value"], "amount": pair[f"{side}_total"]}
        for pair in pairs
        for side in SIDES
    ]
    names = ("workload_key", "kpi", "factor_view")
    rows = {(end, *(pair[name] for name in names)) for end in drawn.ends for pair in pairs}
    shares = {
        f"{side}_{name}": drawn.shares[side][place] for side in SIDES for place, name in enumerate(("share", "least_share"))
    }
    of_looks = [
        {"quarter_end": end, **dict(zip(names, key, strict=True)), "basis_class": "", **shares} for end, *key in sorted(rows)
    ]
    of_windows = [{"window_start": start, "window_end": end} for start, end in ends]
    names = (
        "workload_key",
        "pair_key",
        "promise",
        "is_registered",
        "settled_at",
        "cluster_start",
        "cluster_end",
        "closed_on",
    )
    promises = list(
        {
            (pair["workload_key"], pair["pair_key"]): {name: pair[name] for name in names}
            | {"is_running": pair["closed_on"] is None}
            for pair in pairs
        }.values()
    )
    tables = (of_windows, pairs, members, figures, of_looks, promises)
    return {name: pl.DataFrame(rows, infer_schema_length=None) for name, rows in zip(GIVEN, tables, strict=True)}


def _run(pair: Mapping[str, Any], side: str) -> str:
    return f"{pair['workload_key']}/{pair['pair_key']}/{side}"


def _as_table(pair: Pair) -> Pair:
    is_running = pair["trainium_is_running"] or pair["tpu_is_running"]
    closed_on = None if is_running else pair["closed_on"]
    return pair | {"cluster_end": _end(pair["cluster_start"]), "closed_on": closed_on}


def _end(start: dt.date) -> dt.date:
    """The day after a half quarter."""
    return half_quarter(dt.date(start.year, start.month + 1, 16)) if start.day == 1 else quarter_end(start)


def surroundings(template: Path, drawn: Drawn) -> World:
    """The seeds that both implementations read, and what the publication has beside its pairs."""
    with duckdb.connect(str(template / "build.duckdb"), read_only=True) as connection:
        f = {
            (one, two): value
            for one, two, value in connection.execute(
                "select numerator_df, denominator_df, f_99 from seeds.f_quantiles"
            ).fetchall()
        }
        normals = connection.execute("select * from seeds.standard_normals order by draw").pl()
        t = dict(connection.execute("select degrees_of_freedom, t_1 from marts.dim_t_quantiles").fetchall())
        rows = connection.execute(
            "select term, basis_class, is_shared, accelerator_type, low_factor, high_factor from marts.dim_power_terms"
            " order by place"
        ).fetchall()
    columns = [name for name, kind in normals.schema.items() if kind == pl.Float64]
    terms = {
        basis: [*_terms(rows, basis, columns), Term("own", False, _places("own", columns), {}, {})]
        for basis in ("measured", "modelled")
    }
    return World(terms, normals.select(columns).to_numpy(), f, t, drawn.shares)


def _terms(rows: list[tuple[Any, ...]], basis: str, columns: list[str]) -> Iterator[Term]:
    for name in dict.fromkeys(row[0] for row in rows):
        of_term = [row for row in rows if row[0] == name]
        if name != "pue_method" and (of_term[0][1] or basis) == basis:
            low, high = ({row[3]: row[place] for row in of_term} for place in (4, 5))
            yield Term(name, of_term[0][2], _places(name, columns), low, high)


def _places(name: str, columns: list[str]) -> tuple[int, int]:
    first, second = (name if name in columns else f"{name}_{side}" for side in SIDES)
    return columns.index(first), columns.index(second)


def differences(models: Models, template: Path, drawn: Drawn) -> tuple[Counter[str], list[str]]:
    """The verdicts that were compared, and each column of a row in which the two differ.

    Rows of figures that no pair of the window has rest on single runs and are left out.
    """
    world, of_end = surroundings(template, drawn), defaultdict[dt.date, list[Row]](list)
    for row in decide(drawn.pairs, drawn.ends, world):
        of_end[row.end].append(row)
    mine = {(*window, *row.key): printed(row, window, world) for window in windows(drawn) for row in of_end[window[1]]}
    with models.decide(frames(drawn)) as connection:
        rows, others = (connection.execute(f"from marts.{name}").pl().to_dicts() for name in WANTED)
    theirs = {tuple(row[name] for name in KEY): row for row in rows if row["verdict_reason"] not in BEHIND}
    mine = {key: row for key, row in mine.items() if key in theirs or row["pair_count"]}
    found = [f"{key}: {'only the models' if key in theirs else 'only the second'}" for key in mine.keys() ^ theirs.keys()]
    for key in sorted(mine.keys() & theirs.keys()):
        pairs = ((name, theirs[key][name], value) for name, value in mine[key].items())
        found += [f"{key}: {name} {value} against {own}" for name, value, own in pairs if not same(value, own)]
    of_strata = {
        (row.end, *row.key, *name): columns
        for of in of_end.values()
        for row in of
        if row.has_strata
        for name, columns in strata_of(row, world)
    }
    strata = {tuple(row[name] for name in ("window_end", *KEY[2:], "stratum_kind", "stratum")): row for row in others}
    found += [f"{key}: {'only the models' if key in strata else 'only the second'}" for key in of_strata.keys() ^ strata.keys()]
    for stratum in sorted(of_strata.keys() & strata.keys()):
        pairs = ((name, strata[stratum][name], value) for name, value in of_strata[stratum].items())
        found += [f"{stratum}: {name} {value} against {own}" for name, value, own in pairs if not same(value, own)]
    return Counter(f"{row['verdict']}: {row['verdict_reason']}" for row in theirs.values()), found


def same(theirs: Any, mine: Any) -> bool:
    """Equal, or equal at six significant digits."""
    if isinstance(theirs, float) and isinstance(mine, float):
        return isclose(theirs, mine, rel_tol=1e-6, abs_tol=1e-12)
    return bool(theirs == mine)
