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
    ("select '129.000000000000' as value", "cannot be run"),
    ("select cast(129 as decimal(38, 12)) as value", "it proves nothing"),
    ("select cast(129 as decimal(38, 12)) as value from marts.fct_quarantine limit 0", "gives 0 answers"),
]


def test_sql_of_a_forger_in_a_pack_is_named_and_does_nothing(copied_pack: Path, tmp_path: Path) -> None:
    """Each of another figure of one pack, which is verified once: that takes seconds."""
    outside = tmp_path / "outside"
    forged = [forge_in_pack(copied_pack, sql.format(outside=outside), at) for at, (sql, _) in enumerate(FORGED)]
    assert len({*forged}) == len(FORGED)
    differences = verified(copied_pack)
    for figure, (_, answer) in zip(forged, FORGED, strict=True):
        assert any(text.startswith(f"{figure}: ") and answer in text for text in differences), (figure, differences)
    named = {text.partition(":")[0].partition(",")[0] for text in differences}
    assert named == {*forged, "report/report.json"}, "nothing else of the pack differs but the page of it"
    assert not outside.exists()


def test_sql_of_a_forger_that_never_ends_is_ended_and_named(copied_pack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "SECONDS", 2.0)
    figure = forge_in_pack(copied_pack, ENDLESS, 0)
    assert any(text.startswith(figure) and "did not end in 2 seconds" in text for text in verified(copied_pack))


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


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("copy (select 3 as value) to '{outside}'", "It is no SELECT"),
        ("select 3 as value from read_text('/etc/passwd')", "It calls read_text, which is no table"),
        ("select 3 as value", f"{FIGURE}: nothing is proved: 3 is given by no row of the ledger"),
        (ENDLESS, "did not end in 2 seconds"),
    ],
)
def test_trace_runs_no_forged_sql_and_proves_nothing_by_no_row(
    sql: str, words: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "SECONDS", 2.0)
    outside = tmp_path / "outside"
    folder = Path(shutil.copytree(home.parent / "home" / "reports" / "issued" / "2026Q2-1" / "report", tmp_path / "report"))
    forge(folder, sql.format(outside=outside), "3")
    done = run_trainledger("trace", "--figure", FIGURE, "--report", folder, "--config", home, now=NOW)
    assert done.returncode in (1, 2) and words in done.stderr, done.stdout + done.stderr
    assert "proved: " not in done.stdout and not outside.exists()


def test_where_nothing_could_be_compared_the_exit_code_is_3() -> None:
    assert Findings().exit_code == 3
    assert Findings(counts={"files": 9, "figures": 0}).exit_code == 3
    assert Findings(counts={"figures": 1}).exit_code == 0
    assert Findings(counts={"rebuilt": 1}).exit_code == 0
    assert Findings(["differs"], counts={"figures": 1}).exit_code == 1
