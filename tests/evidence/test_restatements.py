"""What an issued report is known as today, by cause: each kind of late truth shows as its own, and the steps add up exactly."""

from __future__ import annotations

import json
import re
import shutil
from collections import defaultdict
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest

from dagster_project.base import code, dbt_project
from dagster_project.evidence.printed import in_record, is_headline
from dagster_project.landing.restated import Restated
from reports.issue import RESTATEMENT, RESTATES, Policy
from reports.sections.restatements import cause_line, decision, policy_words
from tests.conftest import built_once
from tests.evidence.kit import APPROVER, LATER, NOW, at, bill, configure, emissions, record, samples, write_company
from tests.line.kit import query
from tests.oracle.builders import Exports
from tests.warm import run_trainledger

pytestmark = pytest.mark.slow
AS_ISSUED_SEED = ("AWS,us-east-2,2025,1.12,", "AWS,us-east-2,2025,1.15,")
AS_ISSUED_CODE = ("        pue.pue_ratio,\n", "        cast(pue.pue_ratio + 0.01 as decimal(18, 4)) as pue_ratio,\n")


def older_project(folder: Path) -> Path:
    """The dbt project as it was when the report was issued: another factor, and another model."""
    shutil.copytree(dbt_project.project_folder(), folder, ignore=shutil.ignore_patterns("target", "logs"))
    for name, change in (("seeds/pue.csv", AS_ISSUED_SEED), ("models/intermediate/energy/int_region_pue.sql", AS_ISSUED_CODE)):
        text = (folder / name).read_text()
        assert text.count(change[0]) == 1
        (folder / name).write_text(text.replace(*change))
    return folder


def own_scope_1(exports: Exports, tonnes: int, day: str) -> None:
    """What the organisation states of its fiscal year."""
    exports.own_figures({"kind": "own_scope_1", "key": "2026", "value": tonnes, "unit": "tCO2e"})
    at(exports.folder / "exports" / "own", day)


def told(*arguments: object, config: Path, now: str) -> str:
    done = run_trainledger(*arguments, "--config", config, now=now)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def restated(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """Issued with an older project; then a bill, a run record, a log, a carbon model, an own figure, and the project of now."""

    def build(folder: Path) -> None:
        folder.mkdir()
        exports = write_company(folder)
        own_scope_1(exports, 100, "2026-07-02")
        config = configure(exports)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(dbt_project, "PACKAGED", older_project(folder / "older"))
            patched.setattr("reports.page.pdf.document", lambda *_, **__: b"%PDF-")
            code.code_version.cache_clear()
            told("refresh", config=config, now=NOW)
            asked = ("report", "quarterly", "--quarter", "2026Q2", "--issue", "--approver", APPROVER)
            told(*asked, config=config, now=NOW)
        code.code_version.cache_clear()
        bill(exports, "2026-06", 23.0, "2026-08-05")
        record(exports, "2026-06", "2026-08-06", until="10:30:00")
        samples(exports, "2026-06", "2026-08-07")
        emissions(exports, "2026-06", 0.7, "v3.0.1", "2026-08-08")
        own_scope_1(exports, 120, "2026-08-08")
        told("refresh", config=config, now=LATER)
        (folder / "told.txt").write_text(told("restatements", config=config, now=LATER))
        told("refresh", config=config, now=LATER)

    return built_once(tmp_path_factory, request.config, "restated", build)


def steps_of(home: Path) -> dict[str, list[Restated]]:
    rows = query(
        home,
        "select report_id, datapoint_id, cause, before, after, delta from fct_restatements"
        " where regexp_matches(datapoint_id, '/glance/[^/]+$')",
    )
    figures: dict[str, list[Restated]] = defaultdict(list)
    order = ["code", "bill", "run_record", "late_log", "provider_model_version", "factor_or_seed"]
    for row in sorted((Restated(*row) for row in rows), key=lambda one: order.index(one.cause)):
        figures[row.datapoint_id.rpartition("/")[2]].append(row)
    return figures


def test_each_kind_of_late_truth_shows_as_its_own_cause(restated: Path) -> None:
    figures = steps_of(restated / "home")
    moved = {name: {one.cause for one in figures[name] if one.delta} for name in figures}
    assert moved["effective_cost"] == {"bill", "run_record"}
    assert moved["facility_energy"] == {"code", "run_record", "late_log", "factor_or_seed"}
    scope_2 = moved["provider_scope_2_location_based"]
    assert "provider_model_version" in scope_2 and "late_log" not in scope_2
    # six hours at 21.5, then two of them at 23, then half an hour of one is idle
    assert [(one.cause, one.before, one.after) for one in figures["effective_cost"] if one.delta] == [
        ("bill", Decimal(129), Decimal(132)),
        ("run_record", Decimal(132), Decimal("120.5")),
    ]


def test_a_figure_of_the_organisations_own_that_changes_is_restated_under_factor_or_seed(restated: Path) -> None:
    own = "where datapoint_id like '2026Q2/own_figures/%' and datapoint_id like '%own_scope_1%'"
    steps = query(restated / "home", f"select cause, before, after from fct_restatements {own} and before is distinct from after")
    assert steps == [("factor_or_seed", Decimal(100_000), Decimal(120_000))]


def test_steps_follow_one_another_and_add_up_to_the_last_digit(restated: Path) -> None:
    record = json.loads((restated / "home/reports/issued/2026Q2-1/report/report.json").read_bytes())
    for figure in record["figures"]:
        steps = steps_of(restated / "home")[figure["id"].rpartition("/")[2]]
        assert steps[0].cause == "code" and len(steps) == 6
        assert steps[0].before == (None if figure["value"] is None else Decimal(figure["value"]))
        assert all(earlier.after == later.before for earlier, later in pairwise(steps))
        known = [one.delta for one in steps if one.delta is not None]
        if len(known) == len(steps):
            assert sum(known) == steps[-1].after - steps[0].before
    today = query(restated / "home", "select sum(effective_cost) from fct_training_run_costs")
    assert steps_of(restated / "home")["effective_cost"][-1].after == today[0][0]


def test_the_command_states_was_is_decision_and_causes(restated: Path) -> None:
    text = (restated / "told.txt").read_text()
    assert "2026Q2-1 2026Q2/glance/effective_cost: was 129.000000000000, is 120.500000000000 (restate): Bill 3.0" in text
    assert "figures of 1 issued reports are known otherwise now" in text


def test_causes_come_first_with_the_headline_figures_that_they_moved_then_every_number_then_texts(restated: Path) -> None:
    lines = (restated / "told.txt").read_text().splitlines()
    assert re.fullmatch(
        r"2026Q2-1, Bill \(restatement\): cost \+3\.00 USD, LBM \+1\.06 kgCO2e, MBM \+0\.532 kgCO2e, \d+ figures, \d+ texts",
        lines[1],
    )
    assert lines[4].startswith("2026Q2-1, Provider model version (change of method): LBM +145")
    assert [line.partition(" (")[0] for line in lines[:6]] == [
        *("2026Q2-1, Code", "2026Q2-1, Bill", "2026Q2-1, Run record", "2026Q2-1, Late log"),
        *("2026Q2-1, Provider model version", "2026Q2-1, Factor or seed"),
    ]
    # what was billed in all, which no headline figure is
    billed = (
        "2026Q2-1 2026Q2/coverage_of_the_bill/USD,/effective_cost: was 133.500000000000, is 136.500000000000 (disclose): Bill 3.0"
    )
    of_all = "2026Q2-1 2026Q2/glance/provider_total_location_based/whole: was 1500.000000000000, is 1700.000000000000 (method): "
    assert any(line.startswith(billed) for line in lines) and any(line.startswith(of_all) for line in lines)
    texts = [number for number, line in enumerate(lines) if " -> " in line]
    assert texts and texts == [*range(texts[0], len(lines) - 1)], "texts are last"
    assert any("/sentence/" in lines[number] for number in texts)


def test_each_printed_number_that_moved_has_its_steps_and_one_that_did_not_has_none(restated: Path) -> None:
    report = json.loads((restated / "home/reports/issued/2026Q2-1/report/report.json").read_bytes())
    printed = in_record(report)
    rows = query(
        restated / "home",
        "select datapoint_id, count(*), count(*) filter (before is distinct from after) from fct_restatements group by 1",
    )
    assert {count for _, count, _ in rows} == {6} and {id for id, *_ in rows} <= printed.numbers.keys()
    assert all(moved or is_headline(id) for id, _, moved in rows)
    texts = query(restated / "home", "select datapoint_id, count(*) from fct_restated_texts group by 1")
    assert texts and {count for _, count in texts} == {6} and {id for id, _ in texts} <= printed.texts.keys()
    assert len(printed.numbers) > 500 and not any("/gates/" in id for id in printed.texts), (
        "nor what a report prints of its build"
    )


def test_asking_again_builds_nothing_and_records_the_same(restated: Path, tmp_path: Path) -> None:
    company = Path(shutil.copytree(restated, tmp_path / "company", symlinks=True))
    config = company / "trainledger.yaml"
    before = (company / "home/reports/restatements.jsonl").read_bytes()
    done = run_trainledger("restatements", "--quarter", "2026Q2", "--config", config, now=LATER)
    assert done.returncode == 0 and "Building" not in done.stderr
    assert (company / "home/reports/restatements.jsonl").read_bytes() == before
    assert not list((company / "home" / "asof").glob("*"))
    assert "up to date" in run_trainledger("refresh", "--config", config, now=LATER).stderr
    assert run_trainledger("restatements", "--quarter", "2026Q1", "--config", config, now=LATER).returncode == 2


def test_section_8_shows_was_is_and_each_cause_and_names_breaks_in_series(restated: Path, tmp_path: Path) -> None:
    asked = ("report", "quarterly", "--quarter", "2026Q2", "--out", tmp_path)
    told(*asked, config=restated / "trainledger.yaml", now=LATER)
    page = (tmp_path / "2026Q2" / "report.html").read_text()
    report = json.loads((tmp_path / "2026Q2" / "report.json").read_bytes())
    (section,) = (section for section in report["sections"] if section["id"] == "restatements")
    tables = {table["id"]: table["rows"] for table in section["tables"]}
    assert [*tables] == ["restated_by_cause", "restated", "restated_texts"] and tables["restated_texts"]
    assert section["sentences"][1]["text"].startswith("2026Q2-1, Bill (restatement): cost +3.00")
    rows = {row["values"]["datapoint_id"]: row["values"] for row in tables["restated"]}
    cost = rows["2026Q2/glance/effective_cost"]
    assert (Decimal(cost["was"]), Decimal(cost["known_now"]), Decimal(cost["bill_delta"])) == (129, Decimal("120.5"), 3)
    assert "Breaks in series: 2026Q2-1 (another version of the code), 2026Q2-1 (emissions delivered again" in page


def test_the_issued_report_itself_stays_and_is_verified_as_it_was(restated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reports.page.pdf.document", lambda *_, **__: b"%PDF-")  # as when it was issued
    monkeypatch.setattr("dagster_project.evidence.documents._compare_paper", lambda *_, **__: None)
    monkeypatch.setattr("dagster_project.evidence.derived._other_seeds", lambda _: [])  # those of the older project are its own
    done = run_trainledger("verify", restated / "home/reports/issued/2026Q2-1")
    assert done.returncode == 0, done.stdout


def test_before_anything_is_issued_the_table_is_there_and_empty(issued: Path) -> None:
    assert query(issued / "home", "select count(*), count(delta) from fct_restatements") == [(0, 0)]


@pytest.mark.parametrize(
    ("was", "now", "by_method", "decided"),
    [
        ("100", "100", "0", "unchanged"),
        ("100", "104.99", "0", "disclose"),
        ("100", "95", "0", "restate"),
        ("-100", "-105", "0", "restate"),
        (None, "1", None, "restate"),
        ("1", None, "0", "restate"),
        (None, None, None, "unchanged"),
        ("0", "1", "0", "restate"),
        ("100", "90", "-10", "method"),
        ("100", "90", "-9", "disclose"),
        ("100", "98", "-10", "restate"),
        ("0", "1", "1", "method"),
    ],
)
def test_the_threshold_is_of_the_cumulative_change_against_what_was_published_without_changes_of_method(
    was: str | None, now: str | None, by_method: str | None, decided: str
) -> None:
    first, last, method = (None if text is None else Decimal(text) for text in (was, now, by_method))
    rest = None if first is None or last is None or method is None else last - first - method
    assert decision(first, last, Policy(), {"code": method, "bill": rest}) == decided


def test_which_cause_restates_and_which_is_a_change_of_method_is_a_setting() -> None:
    steps = {"code": Decimal(0), "provider_model_version": Decimal(-10)}
    assert decision(Decimal(100), Decimal(90), Policy(), steps) == "method"
    otherwise = Policy(restates=RESTATES | {"provider_model_version": RESTATEMENT})
    assert decision(Decimal(100), Decimal(90), otherwise, steps) == "restate"
    assert cause_line(
        "provider_model_version", otherwise, {"provider_total_location_based": (Decimal(-180), "kgCO2e")}, 34, 1
    ) == ("Provider model version (restatement): LBM -180 kgCO2e, 34 figures, 1 text")
    assert "moved by code and provider model version is a change of method" in policy_words(Policy())


def test_the_policy_is_words_and_what_is_not_configured_is_reported() -> None:
    assert "No restatement policy" in policy_words(None)
    assert "Nobody is named as preparer" in policy_words(Policy())
    whole = policy_words(Policy(base_year=2026))
    assert "reaches 5.0 %" in whole and "Base year: 2026" in whole
