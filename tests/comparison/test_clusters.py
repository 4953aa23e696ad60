"""How half quarters are joined where a side reached nothing: the model's SELECT on drawn pairs, against a loop one can read."""

from __future__ import annotations

import random
from math import log
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dagster_project.warehouse import modelling

pytestmark = pytest.mark.slow
ATTRIBUTES = ("team", "accelerator_type", "region_id", "software", "purchase")
COLUMNS = {
    "workload_key": "varchar", "kpi": "varchar", "factor_view": "varchar", "setting": "varchar", "use": "varchar",
    "basis_class": "varchar", "cluster_start": "date", "cluster_end": "date", "log_ratio": "decimal(18, 12)",
    **{f"{family}_{name}": "double" for family in ("trainium", "tpu") for name in ("total", "value")},
    **{f"{family}_reached": "bigint" for family in ("trainium", "tpu")},
    **{f"{family}_{name}": "varchar" for family in ("trainium", "tpu") for name in ATTRIBUTES},
}  # fmt: skip
HALVES = [(f"{year}-{start}", f"{year}-{end}") for year in range(2020, 2026) for start, end in (
    ("01-01", "02-16"), ("02-16", "04-01"), ("04-01", "05-16"), ("05-16", "07-01"),
    ("07-01", "08-16"), ("08-16", "10-01"), ("10-01", "11-16"), ("11-16", "12-31"),
)]  # fmt: skip
WORKLOADS = 60


def drawn(draw: random.Random) -> list[dict[str, Any]]:
    """Half quarters of workloads, in many of which a side reached nothing."""
    found = []
    for number in range(WORKLOADS):
        least = draw.choice((0, 0, 1))
        for start, end in HALVES[: draw.randint(1, 24)]:
            sides = {f"{family}_reached": draw.choice((least, 1, 2)) for family in ("trainium", "tpu")}
            totals = {f"{family}_total": float(draw.randint(10, 500)) for family in ("trainium", "tpu")}
            names = {f"{family}_{name}": "x" for family in ("trainium", "tpu") for name in ATTRIBUTES}
            found.append(
                {
                    "workload_key": f"w{number}",
                    "kpi": "cost_per_run_to_target",
                    "factor_view": "chip",
                    "setting": "",
                    "use": "decides",
                    "cluster_start": start,
                    "cluster_end": end,
                    **sides,
                    **totals,
                    **names,
                }
            )
    return found


def joined(halves: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """One after the other until both sides have reached; what is left over at the end has no value."""
    found, group = [], list[dict[str, Any]]()
    for half in halves:
        group.append(half)
        reached = {family: sum(one[f"{family}_reached"] for one in group) for family in ("trainium", "tpu")}
        cost = {family: sum(one[f"{family}_total"] for one in group) for family in ("trainium", "tpu")}
        if all(reached.values()):
            value = log(cost["tpu"] / reached["tpu"]) - log(cost["trainium"] / reached["trainium"])
            found.append((group[0]["cluster_start"], half["cluster_end"], len(group), value))
            group = []
    return [*found, *([(group[0]["cluster_start"], group[-1]["cluster_end"], len(group), None)] if group else [])]


def test_half_quarters_are_joined_until_both_sides_have_reached(demo_home: Path) -> None:
    text = modelling.compiled(demo_home / "trainledger-home")["model.trainledger.int_comparison_clusters"]
    rows = drawn(random.Random(24))
    with duckdb.connect() as connection:
        connection.execute("attach ':memory:' as build; create schema build.intermediate")
        pairs = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
        connection.execute(f"create table build.intermediate.int_comparison_pairs ({pairs})")
        connection.executemany(
            f"insert into build.intermediate.int_comparison_pairs values ({', '.join('?' * len(COLUMNS))})",
            [[row.get(name) for name in COLUMNS] for row in rows],
        )
        connection.execute(
            "create table build.intermediate.int_comparison_promises"
            " (workload_key varchar, cluster_start date, is_registered boolean, is_running boolean, promise varchar)"
        )
        found = connection.execute(
            "select workload_key, cast(cluster_start as varchar), cast(cluster_end as varchar), pair_count, log_value"
            f" from ({text}) where stratum_kind = '' order by all"
        ).fetchall()
    expected = [
        (f"w{number}", *row)
        for number in range(WORKLOADS)
        for row in joined([row for row in rows if row["workload_key"] == f"w{number}"])
    ]
    assert len(found) == len(expected) > 300
    for got, due in zip(found, sorted(expected), strict=True):
        assert got[:4] == due[:4]
        assert (got[4] is None) == (due[4] is None) and (due[4] is None or abs(float(got[4]) - due[4]) < 1e-11)
