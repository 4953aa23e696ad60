"""`trainledger mcp` as an assistant has it: the protocol's own client, the real process, the demo's publication."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import duckdb
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from dagster_project.commands import mcp_server
from dagster_project.settings import load_settings
from dagster_project.warehouse.home import Home
from reports.questions import MOST_CHARACTERS, MOST_ROWS
from tests.conftest import Command

pytestmark = pytest.mark.slow

SECRET = "AKIA-not-for-assistants"
COMMAND = [sys.executable, "-c", "from dagster_project import main; main()", "mcp", "--config"]
CONFIGURATION = """\
organisation: {name: Example, reporting_currency: USD}
home: ./home
sources: [{name: bill, kind: aws_cur, location: ./bill}]
"""
RUN, OTHER = "llm8b-cpt-03", "llm8b-tpu-03"
SUMMED = """select sum(effective_cost) as cost, avg(mfu_ratio) as mfu
from run_summary join fct_run_progress using (training_run_id)"""
ASKED: dict[str, tuple[str, dict[str, str]]] = {
    "run": ("why_run_cost", {"run": "LLM8B.CPT-03"}),  # as its machines are tagged
    "unknown run": ("why_run_cost", {"run": "llm8b-cpt-99"}),
    "runs": ("find_runs", {"text": "LLM8B", "month": "2026-05"}),
    "two runs": ("compare_runs", {"run": RUN, "other_run": OTHER}),
    "platforms": ("compare_platforms", {"workload": "speech-finetune", "kpi": "cost_per_run_to_target"}),
    "all platforms": ("compare_platforms", {}),
    "lost": ("lost_work", {"month": "2026-08"}),
    "coverage": ("coverage", {"month": "2026-08"}),
    "tables": ("catalogue", {}),
    "columns": ("catalogue", {"table": "marts.run_summary"}),
    "select": ("select", {"sql": SUMMED}),
    "many rows": ("select", {"sql": "select range as n from range(1000000)"}),
    "long text": ("select", {"sql": "select repeat('x', 1000000) as text, range as n from range(50)"}),
    "mark": ("find_runs", {"text": "{month}' or true --", "month": "2026-05"}),
    "no month": ("lost_work", {"month": "2026-08' or true --"}),
    "other part": ("lost_work", {"place": "moon"}),
    "nothing": ("why_run_cost", {}),
    "other question": ("drop_tables", {}),
}
HOSTILE = {
    "write": ("update fct_training_run_costs set billed_cost = 0", "no SELECT"),
    "table": ("create table marts.mine as select 1", "no SELECT"),
    "copy": ("copy (select 1) to '/tmp/stolen.csv'", "no SELECT"),
    "attach": ("attach '/tmp/other.duckdb'", "no SELECT"),
    "setting": ("set lock_configuration = false", "no SELECT"),
    "two": ("select 1; select 2", "2 statements"),
    "file": ("select * from read_text('/etc/passwd')", "calls read_text"),
    "file as table": ("from '/etc/passwd'", "does not exist"),
    "place": ("select current_setting('temp_directory')", "calls current_setting"),
    "open files": ("from pragma_database_list", "reads pragma_database_list"),
    "system": ("from information_schema.tables", "reads information_schema.tables"),
}


async def asked_of(config: Path, calls: dict[str, tuple[str, dict[str, str]]]) -> dict[str, dict[str, Any]]:
    """The answers of one process to all calls, each as it is for a program."""
    surroundings = {**os.environ, "AWS_SECRET_ACCESS_KEY": SECRET}
    server = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], str(config)], env=surroundings)
    found = {}
    async with Client(stdio_client(server)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        found["tools"] = {name: tool.input_schema for name, tool in tools.items()}
        for name, (question, asked) in calls.items():
            answer = await client.call_tool(question, asked)
            assert json.loads(answer.content[0].text) == answer.structured_content
            assert answer.is_error == ("error" in answer.structured_content)
            found[name] = answer.structured_content
    return found


@pytest.fixture(scope="module")
def answers(demo_home: Path) -> dict[str, dict[str, Any]]:
    calls = ASKED | {name: ("select", {"sql": sql}) for name, (sql, _) in HOSTILE.items()}
    return anyio.run(asked_of, demo_home / "trainledger.yaml", calls)


@pytest.fixture(scope="module")
def ledger(demo_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    copy = tmp_path_factory.mktemp("ledger") / "trainledger.duckdb"  # one process opens a file with one configuration
    copy.write_bytes((demo_home / "trainledger-home" / "published" / "trainledger.duckdb").read_bytes())
    with duckdb.connect(str(copy), read_only=True) as connection:
        yield connection


def figures_of(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in row["figures"]}


def all_figures(answer: Any) -> Iterator[dict[str, Any]]:
    if isinstance(answer, dict):
        yield from answer.get("figures", ())
        for part in answer.values():
            yield from all_figures(part)
    elif isinstance(answer, list):
        for part in answer:
            yield from all_figures(part)


def test_a_run_s_figures_are_the_sums_of_its_facts_with_bounds_confidence_and_id(answers, ledger) -> None:
    found = figures_of(answers["run"])
    assert answers["run"]["training_run_id"] == RUN
    (cost,) = ledger.sql(
        f"select sum(effective_cost)::varchar from marts.fct_training_run_costs where training_run_id = '{RUN}'"
    ).fetchone()
    energy = ledger.sql(
        "select sum(facility_energy_kwh)::varchar, sum(facility_energy_kwh_low)::varchar, sum(facility_energy_kwh_high)::varchar"
        f" from marts.fct_training_run_energy where training_run_id = '{RUN}'"
    ).fetchone()
    assert (found["effective_cost"]["value"], found["effective_cost"]["unit"]) == (cost, "USD")
    kwh = found["facility_energy_kwh"]
    assert (kwh["value"], kwh["low"], kwh["high"], kwh["unit"]) == (*energy, "kWh")
    assert kwh["confidence"] == "utilisation_model, assumed" and kwh["id"] == f"run_summary/{RUN}/facility_energy_kwh"
    both = {row["training_run_id"]: figures_of(row) for row in answers["two runs"]["runs"]}
    assert both.keys() == {RUN, OTHER} and both[RUN] == found


def test_every_answer_names_its_publication_and_every_figure_is_whole(answers, ledger) -> None:
    (build,) = ledger.sql("select build_id from ops.builds").fetchone()
    whole = [answer for name, answer in answers.items() if name != "tools" and "error" not in answer]
    assert {answer["publication"]["build_id"] for answer in whole} == {build}
    found = [one for answer in whole for one in all_figures(answer)]
    assert len(found) > 100
    for one in found:
        assert one["id"].endswith(f"/{one['name']}") and one["unit"]
        if one["value"] is None:
            assert one["unknown_because"]
        else:
            assert one["confidence"], one
            assert one["low"] is not None or one["no_bounds_because"], one


def test_runs_are_found_by_a_part_of_their_names_and_by_month(answers, ledger) -> None:
    rows = answers["runs"]["run_summary"]
    sql = (
        "select training_run_id, sum(effective_cost)::varchar from marts.fct_training_run_costs join marts.dim_training_runs"
        " using (training_run_id) where training_run_id in (select training_run_id from marts.run_month_summary"
        " where usage_month = date '2026-05-01') and contains(training_run_id, 'llm8b') group by all"
    )
    assert {row["training_run_id"]: figures_of(row)["effective_cost"]["value"] for row in rows} == dict(
        ledger.sql(sql).fetchall()
    )
    assert answers["mark"]["run_summary"] == []


def test_platforms_are_compared_by_matched_pairs(answers, ledger) -> None:
    [row] = answers["platforms"]["rpt_trainium_vs_tpu"]
    ratio = figures_of(row)["geometric_mean_ratio"]
    mean, pairs = ledger.sql(
        "select avg(ln(ratio)), count(ratio) from marts.rpt_comparison_pairs"
        " where workload_key = 'speech-finetune' and factor_view = 'chip'"
        f" and kpi = 'cost_per_run_to_target' and setting = '' and window_start = date '{row['window_start']}'"
    ).fetchone()
    assert math.isclose(ratio["value"], math.exp(mean), rel_tol=1e-6) and row["pair_count"] == pairs
    assert 1 < ratio["low"] < ratio["value"] < ratio["high"] and row["verdict"] == "descriptive"


def test_lost_work_and_coverage_add_up_to_the_ledger(answers, ledger) -> None:
    lost = {
        (row["week_start"], row["team"], row["cause"]): figures_of(row)["effective_cost"]["value"]
        for row in answers["lost"]["rpt_lost_work"]
    }
    sql = (
        "select week_start::varchar, coalesce(team, ''), cause, sum(effective_cost)::varchar from marts.fct_lost_work"
        " left join marts.dim_training_runs using (training_run_id) where strftime(week_start, '%Y-%m') = '2026-08' group by all"
    )
    assert lost == {tuple(key): cost for *key, cost in ledger.sql(sql).fetchall()} and lost
    of_august = "where usage_month = date '2026-08-01' and billing_currency = 'USD'"
    sql = (
        f"select sum(cost)::varchar from (select effective_cost as cost from marts.fct_training_run_costs {of_august} union all"
        f" select effective_cost from marts.fct_residual_costs {of_august})"
    )
    figures = [figures_of(row)["effective_cost"]["value"] for row in answers["coverage"]["rpt_coverage"]]
    assert (
        ledger.sql(f"select sum(x::decimal(38, 12))::varchar from (select unnest({figures}) as x)").fetchone()
        == ledger.sql(sql).fetchone()
    )


def test_the_catalogue_has_every_table_and_the_columns_of_one(answers, ledger) -> None:
    tables = {row["table"] for row in answers["tables"]["tables"]}
    sql = "select distinct schema_name || '.' || table_name from duckdb_columns() where schema_name in ('marts', 'ops')"
    assert tables == {name for (name,) in ledger.sql(sql).fetchall()}
    columns = [row["column"] for row in answers["columns"]["columns"]]
    assert columns == [name for name, *_ in ledger.sql("describe marts.run_summary").fetchall()]
    assert all(row["meaning"] for row in answers["columns"]["columns"])


def test_one_select_is_answered_with_exact_numbers(answers, ledger) -> None:
    cost, mfu = ledger.sql(
        "select sum(effective_cost)::varchar, avg(mfu_ratio) from marts.run_summary"
        " join marts.fct_run_progress using (training_run_id)"
    ).fetchone()
    [row] = answers["select"]["rows"]
    assert row["cost"] == cost and math.isclose(row["mfu"], mfu)


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_question_about_the_tables_is_refused_by_name(name: str, answers) -> None:
    assert HOSTILE[name][1] in answers[name]["error"]


def test_a_question_that_cannot_be_answered_has_its_reason(answers) -> None:
    assert "llm8b-cpt-0" in answers["unknown run"]["error"]  # what is nearest
    assert "is no month" in answers["no month"]["error"]
    assert "does not take 'place'" in answers["other part"]["error"]
    assert "needs 'run'" in answers["nothing"]["error"]
    assert "why_run_cost" in answers["other question"]["error"]
    assert answers["tools"]["compare_runs"]["required"] == ["run", "other_run"]


def test_an_answer_is_bounded_and_states_what_was_cut(answers) -> None:
    assert len(answers["many rows"]["rows"]) == MOST_ROWS and "there are more" in answers["many rows"]["cut"]["rows"]
    assert "1,000,000 characters" in answers["long text"]["rows"][0]["text"]
    assert "there are more" in answers["long text"]["cut"]["rows"] and answers["all platforms"]["cut"]
    for name, answer in answers.items():
        assert len(json.dumps(answer, ensure_ascii=False)) <= MOST_CHARACTERS + 300, name


def test_no_secret_and_no_place_of_the_machine_is_in_an_answer(answers, demo_home: Path) -> None:
    text = json.dumps(answers)
    for hidden in (SECRET, str(demo_home), str(Path.home()) + "/", "trainledger-mcp-", "root:x:"):
        assert hidden not in text, hidden


def test_a_figure_is_traced_to_the_rows_that_it_is_made_of(answers, demo_home: Path, ledger) -> None:
    ids = {
        one["id"].partition("/")[0]: one
        for name in ("run", "two runs", "platforms", "lost", "coverage")
        for one in all_figures(answers[name])
    }
    assert len(ids) == 7 and ids.pop("fct_run_progress")["unknown_because"] == "no log tells when its steps began"
    home, questions = Home.of(load_settings(demo_home / "trainledger.yaml")), mcp_server.all_questions()
    for one in [ids["run_summary"], ids["fct_lost_work"], ids["rpt_coverage"]]:
        found = mcp_server.answered(home, questions, "trace_figure", {"figure": one["id"]})
        assert found["figure"]["value"] == one["value"] and found["class"] in ("sum", "share"), found
        assert [step["rows"] for step in found["made_of"]] and found["made_of"][0]["total"] == f"{float(one['value']):.12f}", (
            found
        )
    printed = mcp_server.answered(home, questions, "trace_figure", {"figure": "2026Q3/glance/effective_cost"})
    (value,) = ledger.sql(
        "select value::varchar from marts.rpt_quarterly_figures where quarter = '2026Q3' and figure_id = 'effective_cost'"
    ).fetchone()
    assert printed["figure"]["value"] == value
    for name in ("2026Q1/glance/effective_cost", "no_table/a/b", "nonsense"):
        error = mcp_server.answered(home, questions, "trace_figure", {"figure": name})["error"]
        assert error and str(demo_home) not in error


def test_a_select_that_does_not_end_is_ended(demo_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_server, "SECONDS", 0.5)
    home = Home.of(load_settings(demo_home / "trainledger.yaml"))
    sql = "with recursive n as (select 1 as a union all select a + 1 from n) select count(*) from n"
    assert "did not end in 0.5 seconds" in mcp_server.answered(home, mcp_server.all_questions(), "select", {"sql": sql})["error"]


def test_nothing_but_the_protocol_is_on_standard_output_also_before_anything_is_published(tmp_path: Path) -> None:
    config = tmp_path / "trainledger.yaml"
    config.write_text(CONFIGURATION)
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages = [
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "find_runs", "arguments": {}}},
    ]
    process = subprocess.Popen(
        [*COMMAND, str(config)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdin and process.stdout
    lines = []
    for message in messages:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        if "id" in message:
            lines.append(process.stdout.readline())
    rest, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and rest == ""
    assert [json.loads(line)["id"] for line in lines] == [1, 2]
    assert "nothing is published yet" in json.loads(lines[1])["result"]["content"][0]["text"]
    assert not (tmp_path / "home").exists()


def test_without_the_package_the_command_names_the_extra(
    trainledger: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp_types", None)
    monkeypatch.delitem(sys.modules, "dagster_project.commands.mcp_server")
    done = trainledger("mcp", "--config", tmp_path / "none.yaml")
    assert done.returncode == 2 and "[mcp]" in done.stderr
