"""No two tables of a report disagree about a workload: what reads a verdict claims no more than the verdict does.

Asked of the published file and of what a report prints of it.
"""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import duckdb
import pytest

from reports import comparison
from reports.sections.words import declared
from tests.nightly import drawn
from tests.reports.kit import record_of, rendered
from tests.reports.published_fixture import PAIRED, write_published

SIDES = ("trainium", "tpu")
CLAIMS = {*SIDES, "equivalent"}
COST, YEAR = "Cost per run to target", "four quarters"
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
    """Of a report: where a table or a sentence states of a figure what the table of verdicts does not.

    Every table that has a verdict of a workload is asked, whatever it is; one that names no figure is about cost per run.
    """
    every = (table for section in record["sections"] for table in section["tables"])
    tables = {table["id"]: [row["values"] for row in table["rows"]] for table in every if "rows" in table}
    stated = {(row["workload_key"], row["measure"], row.get("span", YEAR)): row["verdict"] for row in tables.get("verdicts", ())}
    by_kpi = [row for row in tables.get("verdicts_by_kpi", ()) if row["factor_view"] == "chip"]
    stated = {(row["workload_key"], row["measure"], row.get("span", YEAR)): row["verdict"] for row in by_kpi} | stated
    promised: dict[str, set[str]] = {}
    for (name, measure, _), verdict in stated.items():
        if measure.startswith("Cost per run"):
            promised.setdefault(name, set()).add(verdict)
    found = []
    for table, rows in tables.items():
        for row in rows:
            of = f"{table}: {row.get('workload_key')}, {row.get('measure', 'cost per run')}"
            if table == "comparison_strata":
                # e and a side of a stratum are of a row that names none
                if row["verdict"] in CLAIMS and promised[row["workload_key"]] & CLAIMS:
                    found.append(f"{of}: {row['stratum']} has a verdict beside that of all")
            elif "verdict" in row and "workload_key" in row and row.get("factor_view", "chip") == "chip":
                spans = [row["span"]] if "span" in row else [YEAR, "quarter"]
                keys = [(row["workload_key"], row.get("measure"), span) for span in spans]
                due = (
                    {stated[key] for key in keys if key in stated}
                    if "measure" in row
                    else promised.get(row["workload_key"], set())
                )
                # of dates without a pair there is no verdict beside a price
                if row["verdict"] not in due and (row["verdict"] is not None or due):
                    found.append(f"{of}: {row['verdict']} beside {sorted(due)}")
            if row.get("is_ranking_kept") is not None and row["verdict"] not in SIDES:
                found.append(f"{of}: a ranking beside {row['verdict']}")
            if float(row.get("saving_per_run") or 0) > 0 and row["to_family"] not in promised[row["workload_key"]]:
                found.append(f"{of}: a saving by {row['to_family']} beside {sorted(promised[row['workload_key']])}")
    words = declared()["verdict_sentences"]
    for section in record["sections"]:
        for sentence in section.get("sentences", ()):
            about, _, name = sentence["id"].partition(",")
            if about == "verdict" and f": {words[min(promised[unquote(name)], key=[*words].index)]}. " not in sentence["text"]:
                found.append(f"a sentence: {sentence['text']}")
    return found


@pytest.mark.parametrize("quarter", drawn(1, ["2026Q2", "2026Q3"]))
def test_no_two_tables_of_a_report_disagree_about_a_workload(tmp_path: Path, quarter: str) -> None:
    path = write_published(tmp_path / "p.duckdb", PAIRED)
    with duckdb.connect(str(path), read_only=True) as connection:
        assert disagreements(connection) == {}
        assert connection.execute(f"select count(*) from ({NEWEST.format(PRIMARY)})").fetchone() != (0,)
    assert printed_disagreements(record_of(rendered(path, quarter, tmp_path))) == []


def report(*tables: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """A report in which the workload w is undecided, with a row of each of some tables more and a sentence that agrees."""
    rows = [("verdicts", {"measure": COST, "span": span, "verdict": "undecided"}) for span in (YEAR, "quarter")]
    found = [{"id": name, "rows": [{"values": {"workload_key": "w"} | values}]} for name, values in (*rows[:1], *tables)]
    found[0]["rows"].append({"values": {"workload_key": "w"} | rows[1][1]})
    sentence = {"id": "verdict,w", "text": f"w, {COST.lower()}: undecided. Because."}
    return {"sections": [{"tables": found, "sentences": [sentence]}]}


@pytest.mark.parametrize(
    ("table", "values"),
    [
        ("purchase_options", {"verdict": "tpu"}),
        ("purchase_options", {"verdict": None}),
        ("verdicts_by_kpi", {"measure": COST, "factor_view": "chip", "span": YEAR, "verdict": "tpu"}),
        ("comparison_sensitivities", {"measure": COST, "verdict": "tpu", "is_ranking_kept": None}),
        ("comparison_sensitivities", {"measure": COST, "verdict": "undecided", "is_ranking_kept": True}),
        ("break_even", {"saving_per_run": "20.00", "to_family": "tpu"}),
        ("a_table_to_come", {"verdict": "trainium"}),
    ],
)
def test_each_table_that_states_another_verdict_than_the_first_is_named(table: str, values: dict[str, Any]) -> None:
    [found] = printed_disagreements(report((table, values)))
    assert found.startswith(f"{table}: w, ")


def test_a_stratum_has_a_verdict_where_the_row_of_all_has_none() -> None:
    stratum = ("comparison_strata", {"stratum": "Trainium: a; TPU: a", "verdict": "tpu"})
    assert printed_disagreements(report(stratum)) == []
    decided = report(stratum)
    for row in decided["sections"][0]["tables"][0]["rows"]:
        row["values"]["verdict"] = "tpu"
    assert [found.partition(":")[0] for found in printed_disagreements(decided)] == ["comparison_strata", "a sentence"]


@pytest.mark.slow
@pytest.mark.in_turn
def test_no_two_tables_of_the_demo_disagree_about_a_workload(demo_home: Path, tmp_path: Path) -> None:
    path = demo_home / "trainledger-home" / "published" / "trainledger.duckdb"
    with duckdb.connect(str(path), read_only=True) as connection:
        assert disagreements(connection) == {}
        assert connection.execute("select count(*) from marts.rpt_break_even where saving_per_run is null").fetchone() != (0,)
    assert printed_disagreements(record_of(rendered(path, "2026Q3", tmp_path))) == []
    of_dates = comparison.render(path, date(2025, 10, 1), date(2026, 10, 1), tmp_path, organisation="Example AG")
    record = json.loads(of_dates.json.read_text())
    assert printed_disagreements(record) == []
    assert {"purchase_options", "comparison_sensitivities"} <= {
        table["id"] for one in record["sections"] for table in one["tables"]
    }
