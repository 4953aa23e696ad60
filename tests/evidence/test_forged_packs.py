"""What a forger writes into a pack or a report: it is named, it writes nothing, it ends."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dagster_project.evidence.checking import Findings, verify_pack
from dagster_project.evidence.manifest import MANIFEST, manifest_bytes
from reports import door
from tests.evidence.kit import NOW
from tests.warm import run_trainledger

pytestmark = pytest.mark.slow
FIGURE = "2026Q2/glance/effective_cost"
ENDLESS = "select count(*) as value from range(10000000000) as a, range(10000000000) as b where a.range < b.range"


def forge(folder: Path, sql: str, value: str | None = None, *, at: int = 0) -> str:
    """Give a headline figure of a report another query, and if asked another value. Returns which figure."""
    report = folder / "report.json"
    record: dict[str, Any] = json.loads(report.read_bytes())
    record["figures"][at] |= {"sql": sql} | ({"value": value} if value else {})
    report.write_text(json.dumps(record))
    return record["figures"][at]["id"]


def verified(pack: Path) -> list[str]:
    """What differs in a pack that was sealed again."""
    (pack / MANIFEST).write_bytes(manifest_bytes(pack))
    return verify_pack(pack).differences


def forge_in_pack(pack: Path, sql: str, at: int) -> str:
    figure = forge(pack / "report", sql, at=at)
    (pack / "sql" / f"figure-{figure.rpartition('/')[2]}.sql").write_text(f"{sql}\n;\n")
    return figure


FORGED = [
    ("copy (select 129 as value) to '{outside}'", "cannot be run"),
    ("select 129 as value; copy (select 1) to '{outside}'", "cannot be run"),
    ("select content as value from read_text('/etc/passwd')", "cannot be run"),
    ("create or replace table marts.fct_training_run_costs as select 1 as effective_cost", "cannot be run"),
    ("create or replace view marts.fct_training_run_costs as select 1 as effective_cost", "cannot be run"),
    ("select 1 as value from read_csv('/etc/passwd')", "cannot be run"),
    ("select count(*) as value from glob('/etc/*')", "cannot be run"),
    ("copy (select 1 as value) to 'data/marts/more.parquet' (format parquet)", "cannot be run"),
    ("attach '{outside}' as other", "cannot be run"),
    ("attach ':memory:' as other", "cannot be run"),
    ("export database '{outside}'", "cannot be run"),
    ("install httpfs", "cannot be run"),
    ("load httpfs", "cannot be run"),
    ("select * from 'https://example.org/value.parquet'", "cannot be run"),
    ("create secret (type s3)", "cannot be run"),
    ("set memory_limit = '9GB'", "cannot be run"),
    ("select getenv('HOME') as value", "cannot be run"),
    ("call enable_logging(storage = 'stdout')", "cannot be run"),
    ("select '129.000000000000' as value", "cannot be run"),
    ("select cast(129 as decimal(38, 12)) as value", "it proves nothing"),
    ("select cast(129 as decimal(38, 12)) as value from marts.fct_quarantine limit 0", "gives 0 answers"),
]


@pytest.mark.in_turn
@pytest.mark.parametrize("half", [0, 1])
def test_sql_of_a_forger_in_a_pack_is_named_and_does_nothing(copied_pack: Path, tmp_path: Path, half: int) -> None:
    """Each of another figure of one pack, which is verified once: that takes seconds."""
    outside, chosen = tmp_path / "outside", FORGED[half::2]
    forged = [forge_in_pack(copied_pack, sql.format(outside=outside), at) for at, (sql, _) in enumerate(chosen)]
    assert len({*forged}) == len(chosen)
    differences = verified(copied_pack)
    for figure, (_, answer) in zip(forged, chosen, strict=True):
        assert any(text.startswith(f"{figure}: ") and answer in text for text in differences), (figure, differences)
    named = {text.partition(":")[0].partition(",")[0] for text in differences}
    assert named == {*forged, "report/report.json"}, "nothing else of the pack differs but the page of it"
    assert not outside.exists()


@pytest.mark.in_turn
def test_sql_of_a_forger_that_never_ends_is_ended_and_cannot_be_compared(
    copied_pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "SECONDS", 2.0)
    figure = forge_in_pack(copied_pack, ENDLESS, 0)
    (copied_pack / MANIFEST).write_bytes(manifest_bytes(copied_pack))
    found = verify_pack(copied_pack)
    words = "did not end in 2 seconds. It cannot be compared, and no more of the pack's SQL is asked."
    assert found.exit_code == 3 and any(text.startswith(figure) and words in text for text in found.remarks), found


@pytest.mark.in_turn
def test_a_report_table_is_not_judged_by_itself(copied_pack: Path) -> None:
    forged = {
        "rpt_coverage": ("select * from marts.rpt_coverage", "its SQL reads the table that it is to give"),
        "rpt_lost_work": ("select 1; drop table marts.rpt_lost_work", "its SQL cannot be run"),
        "rpt_vendor_claims": ("select * from marts.rpt_vendor_claims) , other as (select 1", "its SQL cannot be run"),
    }
    file = copied_pack / "data" / "ops" / "report_statements.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"create table forged as from '{file}'")
        for model, (statement, _) in forged.items():
            connection.execute("update forged set statement = ? where model = ?", [statement, model])
        connection.execute(f"copy forged to '{file}'")
    differences = verified(copied_pack)
    for model, (_, answer) in forged.items():
        assert any(text.startswith(f"model {model}: ") and answer in text for text in differences), (model, differences)


@pytest.mark.in_turn
@pytest.mark.parametrize(
    "sql",
    ["copy (select 3 as value) to '{outside}'", "select 3 as value from read_text('/etc/passwd')", "select 3 as value", ENDLESS],
)
def test_trace_asks_no_sql_of_a_report_and_proves_no_number_that_the_tables_do_not_have(
    sql: str, home: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    folder = Path(shutil.copytree(home.parent / "home" / "reports" / "issued" / "2026Q2-1" / "report", tmp_path / "report"))
    forge(folder, sql.format(outside=outside), "3")
    done = run_trainledger("trace", "--figure", FIGURE, "--report", folder, "--config", home, now=NOW)
    assert done.returncode in (1, 2) and "the report prints 3" in done.stderr, done.stdout + done.stderr
    assert not outside.exists()


def test_where_nothing_could_be_compared_the_exit_code_is_3() -> None:
    assert Findings().exit_code == 3
    assert Findings(counts={"files": 9, "figures": 0}).exit_code == 3
    assert Findings(counts={"figures": 1}).exit_code == 0
    assert Findings(counts={"rebuilt": 1}).exit_code == 0
    assert Findings(["differs"], counts={"figures": 1}).exit_code == 1
