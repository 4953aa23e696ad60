"""`trainledger run`: the account of one run by any of its names, an estimate while it goes on; and the page's own server."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from dagster_project.base.failures import UsageError
from dagster_project.commands.page_server import serve_page
from tests.conftest import Command

NOW = "2026-10-10T00:00:00Z"


@pytest.fixture(scope="module")
def config(demo_home: Path) -> Path:
    return demo_home / "trainledger.yaml"


def rows(config: Path, sql: str) -> list[tuple]:
    file = config.parent / "trainledger-home" / "published" / "trainledger.duckdb"
    with duckdb.connect(str(file), read_only=True) as connection:
        return connection.execute(sql).fetchall()


@pytest.mark.slow
def test_a_run_is_found_by_its_id_as_recorded_and_by_the_number_of_its_job(config: Path, trainledger: Command) -> None:
    for name, run_id in (
        ("BERT.Large/mlm-04", "bert-large-mlm-04"),
        ("41001", "llm8b-cpt-01"),
        ("vision/detr-sweep-03", "detr-sweep-03"),
    ):
        answer = trainledger("run", name, "--json", "--config", config, now=NOW)
        account = json.loads(answer.stdout)
        assert answer.returncode == 0 and account["training_run_id"] == run_id and account["estimate"] is None
        [(cost, energy)] = rows(
            config, f"select effective_cost, facility_energy_kwh from marts.run_summary where training_run_id = '{run_id}'"
        )
        figures = {figure["name"]: figure for figure in account["figures"]}
        assert Decimal(figures["effective_cost"]["value"]) == cost and Decimal(figures["facility_energy_kwh"]["value"]) == energy
        assert figures["effective_cost"]["id"] == f"run_summary/{run_id}/effective_cost"


@pytest.mark.slow
def test_the_text_has_what_it_cost_how_that_is_known_and_what_would_make_it_better_in_80_columns(
    config: Path, trainledger: Command
) -> None:
    text = trainledger("run", "ghost-run-2026-05", "--config", config, now=NOW).stdout
    assert max(map(len, text.splitlines())) <= 80
    assert "138.75 USD" in text and "a tag or label of the bill names the run" in text and "factor egrid2023" in text
    assert "rest on time alone" in text and "tokens: not recorded. Write tokens into the run records." in text
    assert "Scope 3, category 1" in text and "ESTIMATE" not in text


@pytest.mark.slow
def test_a_run_that_goes_on_has_an_estimate_that_no_table_has(config: Path, trainledger: Command) -> None:
    answer = trainledger("run", "detr-sweep-12", "--json", "--config", config, now=NOW)
    estimate = json.loads(answer.stdout)["estimate"]
    # its chips, from its start until now, at what a chip-hour of its type cost in its region in the last month with a bill
    [(chip_hours,)] = rows(
        config,
        "select chip_count * epoch(timestamp '2026-10-10' - started_at) / 3600 from marts.dim_training_runs"
        " where training_run_id = 'detr-sweep-12'",
    )
    [(rate,)] = rows(
        config,
        "with costs as (select training_run_id, sum(effective_cost) as cost from marts.fct_training_run_costs where"
        " cost_component = 'accelerator' and usage_month = date '2026-09-01' group by all)"
        " select sum(cost)::double / sum(reserved_chip_hours)::double from costs"
        " join marts.fct_training_run_energy using (training_run_id) join marts.dim_training_runs using (training_run_id)"
        " where usage_month = date '2026-09-01' and accelerator_type = 'trn1.32xlarge' and region_id = 'us-west-2'",
    )
    assert estimate["is_estimate"] is True and estimate["rate_month"] == "2026-09-01"
    assert float(estimate["value"]) == pytest.approx(chip_hours * rate, abs=0.02)
    later = json.loads(trainledger("run", "detr-sweep-12", "--json", "--config", config, now="2026-10-11T00:00:00Z").stdout)
    assert float(later["estimate"]["chip_hours"]) == pytest.approx(chip_hours + 64 * 24, abs=0.01)
    assert "ESTIMATE, not a figure of the ledger" in trainledger("run", "detr-sweep-12", "--config", config, now=NOW).stdout


@pytest.mark.slow
def test_a_name_that_no_run_has_ends_with_2_and_the_nearest_ids(config: Path, trainledger: Command) -> None:
    answer = trainledger("run", "bert-mlm-O2", "--config", config, now=NOW)
    assert answer.returncode == 2 and answer.stdout == ""
    assert "no run is named bert-mlm-O2" in answer.stderr and "bert-mlm-02" in answer.stderr


def test_the_page_is_served_to_this_machine_alone_and_follows_what_is_published(tmp_path: Path) -> None:
    folder = tmp_path / "ledger"
    server = serve_page(folder, 0)
    address = f"http://127.0.0.1:{server.server_port}/"

    def status(host: str = "") -> int:
        request = urllib.request.Request(address, headers={"Host": host} if host else {})
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    try:
        assert status() == 404
        folder.mkdir()
        assert status() == 404  # no list of what lies there
        (folder / "index.html").write_text("the ledger")
        assert status() == 200 and status("evil.example:80") == 403
        with pytest.raises(UsageError, match=f"port {server.server_port} .*--page-port"):
            serve_page(folder, server.server_port)
    finally:
        server.shutdown()
        server.server_close()
