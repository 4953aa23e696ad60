"""No two tables of a report disagree about a workload: what reads a verdict claims no more than the verdict does.

Asked of the published file and of what a report prints of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.reports.kit import record_of, rendered, tables_of, values_of
from tests.reports.published_fixture import PAIRED, write_published

PRIMARY = ("cost_per_run_to_target", "cost_per_run_of_fixed_work")
# the verdict that break-even reads: of the newest window with pairs, the longest
NEWEST = """select workload_key, verdict, geometric_mean_ratio as ratio from marts.rpt_trainium_vs_tpu
where kpi in {} and factor_view = 'chip' and pair_count > 0
qualify row_number() over (
    partition by workload_key order by window_end desc, window_start, verdict = 'not_comparable', kpi desc
) = 1"""
EMISSIONS = ("location_based_gco2e_per_million_tokens", "location_based_gco2e_per_million_tokens")
DISAGREE = {
    "a saving or a break-even without a side": """select * from marts.{table} inner join ({newest}) using (workload_key)
        where verdict not in ('trainium', 'tpu') and (saving{unit} is not null or break_even_runs is not null)""",
    "a saving on the other side": """select * from marts.{table} inner join ({newest}) using (workload_key)
        where (verdict = from_family and saving{unit} > 0) or (verdict = to_family and saving{unit} < 0)""",
    "a workload without its row": """select workload_key from ({newest})
        where workload_key not in (select workload_key from marts.{table}) and workload_key in (
            select workload_key from marts.dim_training_runs where useful_tokens > 0)""",
}
SENSITIVITIES = """select * from marts.rpt_comparison_sensitivities
where (is_ranking_kept is not null) <> (coalesce(verdict, '') in ('trainium', 'tpu'))"""
OTHER_VERDICT = """select sensitivities.workload_key from marts.rpt_comparison_sensitivities as sensitivities
inner join marts.rpt_trainium_vs_tpu as verdicts using (window_start, window_end, workload_key, kpi)
where verdicts.factor_view = 'chip' and sensitivities.verdict is distinct from verdicts.verdict"""


def disagreements(connection: duckdb.DuckDBPyConnection) -> dict[str, list[tuple[object, ...]]]:
    """What tables of a published file state of a workload that its verdict does not."""
    asked = {"rankings": SENSITIVITIES, "verdicts of sensitivities": OTHER_VERDICT}
    for table, kpis, unit in (
        ("rpt_break_even", PRIMARY, "_per_run"),
        ("rpt_break_even_emissions", EMISSIONS, "_per_run_kgco2e"),
    ):
        asked |= {
            f"{table}: {what}": sql.format(table=table, newest=NEWEST.format(kpis), unit=unit) for what, sql in DISAGREE.items()
        }
    return {what: rows for what, sql in asked.items() if (rows := connection.execute(sql).fetchall())}


def printed_disagreements(record: dict[str, Any]) -> list[str]:
    """Of a report: workloads whose tables and sentences name different verdicts of one figure in one span."""
    tables = tables_of(record)
    named: dict[tuple[str, str, str], set[str]] = {}
    for table in ("verdicts", "verdicts_by_kpi", "modelled_verdicts"):
        for row in values_of(record, table) if table in tables and "rows" in tables[table] else []:
            if row.get("factor_view", "chip") == "chip":
                key = (row["workload_key"], row["measure"], row.get("span", "four quarters"))
                named.setdefault(key, set()).add(row["verdict"])
    undecided = {key[0] for key, found in named.items() if key[1].startswith("Cost per run") and not found & {"trainium", "tpu"}}
    decided = {key[0] for key, found in named.items() if key[1].startswith("Cost per run") and found & {"trainium", "tpu"}}
    rows = values_of(record, "break_even") if "break_even" in tables else []
    paid = {row["workload_key"] for row in rows if row["saving_per_run"]}
    return [
        *(f"{key}: {sorted(found)}" for key, found in named.items() if len(found) > 1),
        *(f"{name}: a saving beside an open verdict" for name in sorted(paid & undecided - decided)),
    ]


@pytest.mark.parametrize("quarter", ["2026Q2", "2026Q3"])
def test_no_two_tables_of_a_report_disagree_about_a_workload(tmp_path: Path, quarter: str) -> None:
    path = write_published(tmp_path / "p.duckdb", PAIRED)
    with duckdb.connect(str(path), read_only=True) as connection:
        assert disagreements(connection) == {}
        assert connection.execute(f"select count(*) from ({NEWEST.format(PRIMARY)})").fetchone() != (0,)
    assert printed_disagreements(record_of(rendered(path, quarter, tmp_path))) == []


@pytest.mark.slow
def test_no_two_tables_of_the_demo_disagree_about_a_workload(demo_home: Path, tmp_path: Path) -> None:
    path = demo_home / "trainledger-home" / "published" / "trainledger.duckdb"
    with duckdb.connect(str(path), read_only=True) as connection:
        assert disagreements(connection) == {}
        assert connection.execute("select count(*) from marts.rpt_break_even where saving_per_run is null").fetchone() != (0,)
    assert printed_disagreements(record_of(rendered(path, "2026Q3", tmp_path))) == []
