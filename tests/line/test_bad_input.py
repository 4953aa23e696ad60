"""Bad input through the real command: a named error or a counted quarantine, and the last good numbers stay.

One home goes through three refreshes: everything is good; then rows and records with a doubt arrive, which are published with
what is held back counted; then one delivery of each source is spoiled. Every test below looks at one fault.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from tests.conftest import Command
from tests.line.bad_input import FAULTS, Story, add_doubtful, parquet_key, refreshed, spoil_all, write_good
from tests.line.kit import NOW, published_bytes, query
from tests.oracle.builders import PAYER, Exports, hour

pytestmark = pytest.mark.slow

SECRET = "planted-secret-that-must-never-be-shown"
MASS = "provider_total_location_based_kgco2e"


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, trainledger: Command) -> Story:
    folder = tmp_path_factory.mktemp("bad-input")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        environment.setenv("AWS_SESSION_TOKEN", SECRET)
        exports = write_good(folder)
        stated = [refreshed(folder, trainledger)]
        for happens in (add_doubtful, spoil_all):
            happens(exports)
            stated.append(refreshed(folder, trainledger))
    return Story(folder, *stated)


def quarantined(story: Story, source: str) -> list[tuple]:
    return query(
        story.home,
        "select source_object, row_number, column_name, value, reason, remedy from marts.fct_quarantine"
        f" where source_name = '{source}' order by all",
    )


def test_the_story_begins_with_a_good_publication(story: Story) -> None:
    assert story.good.process.returncode == 0, story.good.text
    assert "quarantined" not in story.good.text
    assert not any(source["quarantined"] for source in story.good.status.values())
    assert {*FAULTS, "cur", "twice", "folder-gone"} == set(story.good.numbers)


def test_rows_held_back_one_by_one_are_no_failure_and_spoiled_deliveries_are_exit_3(story: Story) -> None:
    assert story.doubtful.process.returncode == 0, story.doubtful.text
    assert story.spoiled.process.returncode == 3, story.spoiled.text
    assert "Published build" in story.spoiled.text


@pytest.mark.parametrize("name", FAULTS)
def test_a_spoiled_delivery_is_named_listed_and_leaves_the_last_numbers(story: Story, name: str) -> None:
    fault = FAULTS[name]
    [(source_object, row_number, column_name, value, reason, remedy)] = quarantined(story, name)
    assert (source_object, row_number, column_name, value, reason) == (
        fault.source_object, fault.row_number, fault.column_name, fault.value, fault.reason,
    )  # fmt: skip
    line = story.spoiled.problem(name)
    assert line.startswith(f"Unreadable or quarantined: {name} 2026-04: {story.folder / 'exports' / name}/")
    assert fault.said in line
    assert line.endswith(remedy) and len(remedy) > 20
    [stated] = story.spoiled.status[name]["quarantined"]
    assert (stated["partition"], stated["source_object"], stated["row_number"], stated["reason"]) == (
        "2026-04", fault.source_object, fault.row_number, fault.reason,
    )  # fmt: skip
    assert [month["state"] for month in story.spoiled.status[name]["months"] if month["month"] == "2026-04"] == ["quarantined"]
    assert story.good.numbers[name] == story.spoiled.numbers[name]


def test_a_damaged_run_record_leaves_its_last_good_version(story: Story) -> None:
    [broken, bare] = quarantined(story, "runs")
    assert bare[4] == "run_without_node"
    assert (broken[0], broken[1], broken[2], broken[4]) == ("record-3.run.json", 1, "attempts", "wrong_type")
    line = story.spoiled.problem("runs")
    assert "record-3.run.json: attempts is refused" in line and line.endswith(broken[5])
    assert query(story.home, "select team from marts.dim_training_runs where training_run_id = 'run-broken'") == [("first",)]


def test_a_source_whose_folder_is_gone_keeps_what_it_delivered(story: Story) -> None:
    line = story.spoiled.problem("folder-gone")
    assert f"{story.folder / 'exports/folder-gone'}: there is no such folder." in line
    assert "Create the folder or correct `location`" in line
    assert story.good.numbers["folder-gone"] == story.spoiled.numbers["folder-gone"]


def test_a_negative_emission_is_held_back_whole_and_the_cell_still_adds_up(story: Story) -> None:
    [negative] = [row for row in quarantined(story, "carbon") if row[4] == "negative_emission"]
    assert negative[1:4] == (2, "total_lbm_emissions_value", "-500.000000000 kgCO2e")
    reconciled = query(
        story.home,
        "select provider_total, runs_total, residual_total, quarantined_total, difference from marts.fct_reconciliation"
        f" where measure = '{MASS}' and service_code = 'AmazonS3' and source_name = 'carbon'",
    )
    assert reconciled == [(Decimal(-500), 0, 0, Decimal(-500), 0)]
    assert query(story.home, "select count(*) from marts.fct_residual_emissions where service_code = 'AmazonS3'") == [(0,)]


def test_carbon_of_an_unknown_region_is_held_back_and_the_rest_is_published(story: Story) -> None:
    [unknown] = [row for row in quarantined(story, "carbon") if row[4] == "unknown_region"]
    assert unknown[1:4] == (3, "region_code", "xx-moon-1")
    assert "regions seed" in unknown[5]
    reconciled = query(
        story.home,
        "select region_id, provider_total, quarantined_total, difference from marts.fct_reconciliation"
        f" where measure = '{MASS}' and provider_model_version = 'v3.0.1' and service_code = 'AmazonEC2' order by 1",
    )
    assert reconciled == [("us-east-2", Decimal("123.457"), 0, 0), ("xx-moon-1", Decimal(750), Decimal(750), 0)]


def test_carbon_that_names_no_place_at_all_is_global_and_not_held_back(story: Story) -> None:
    assert query(
        story.home,
        "select region_id, reason, provider_total_location_based_kgco2e, provider_total_market_based_kgco2e"
        " from marts.fct_residual_emissions where service_code = 'AmazonCloudFront'",
    ) == [("", "global", Decimal(375), Decimal("62.5"))]


def test_a_bill_of_an_unknown_region_is_kept_under_its_code_and_listed_once(story: Story) -> None:
    [listed] = [row for row in quarantined(story, "cur") if row[4] == "unknown_region"]
    assert listed[0] == parquet_key("cur") and listed[2:4] == ("product_region_code", "xx-moon-1 (2 rows)")
    kept = "select sum(billed_cost) from marts.fct_residual_costs where region_id = 'xx-moon-1'"
    assert query(story.home, kept) == [(Decimal("12.5"),)]


def test_a_bill_row_without_a_product_code_is_kept_in_a_cell_without_one(story: Story) -> None:
    kept = "select sum(billed_cost) from marts.fct_residual_costs where service_code = ''"
    assert query(story.home, kept) == [(Decimal("8.25"),)]


def test_nothing_is_lost_in_any_cell_of_any_source(story: Story) -> None:
    assert query(
        story.home,
        "select count(*) from marts.fct_reconciliation where method = 'conservation' and difference is distinct from 0",
    ) == [(0,)]
    assert query(story.home, "select count(*) > 40 from marts.fct_reconciliation") == [(True,)]


def test_a_run_without_a_node_is_published_and_listed(story: Story) -> None:
    [(source_object, row, column, _, reason, remedy)] = [
        row for row in quarantined(story, "runs") if row[4] == "run_without_node"
    ]
    assert (source_object, row, column, reason) == ("record-4.run.json", 1, "attempts.nodes", "run_without_node")
    assert "Add the nodes" in remedy
    assert query(story.home, "select team from marts.dim_training_runs where training_run_id = 'run-bare'") == [("three",)]
    assert "run_without_node" in {item["reason"] for item in story.doubtful.status["runs"]["quarantined"]}


def test_the_same_delivery_again_counts_once(story: Story) -> None:
    assert story.doubtful.status["twice"]["landed"] == 1
    assert story.doubtful.numbers["twice"] == story.good.numbers["twice"]


def test_an_unknown_column_is_kept_counted_and_harmless(story: Story) -> None:
    assert story.good.status["cur"]["unknown_columns"] == []
    assert story.spoiled.status["cur"]["unknown_columns"] == ["line_item_made_up"]
    landed = [
        pq.read_table(path, partitioning=None) for path in (story.home / "landing/cur/2026-04").rglob("*cur-00001*.parquet")
    ]
    [kept] = [table for table in landed if "line_item_made_up" in table.column_names]
    assert "somebody added me" in kept["line_item_made_up"].to_pylist()


def test_a_carbon_month_and_a_surplus_chunk_may_be_empty(story: Story) -> None:
    [may] = [stated for stated in story.doubtful.status["carbon"]["months"] if stated["month"] == "2026-05"]
    assert (may["landed"], may["rows"], may["state"]) == (1, 0, "preliminary")
    [april] = [stated for stated in story.doubtful.status["cur"]["months"] if stated["month"] == "2026-04"]
    assert april["rows"] == 24 * 3 + 2 + 5


def test_a_bill_without_any_row_is_refused_by_name_and_everybody_else_is_published(
    story: Story, trainledger: Command, tmp_path: Path
) -> None:
    """Usually an export whose query lost its table: a month without cost must not be published, nor stop the other sources."""
    folder = tmp_path / "copy"
    shutil.copytree(story.folder, folder, symlinks=True)
    exports = Exports(folder)
    exports.bill([hour("2026-05-01T00:00:00", 1.0)], period="2026-05")
    path = folder / "exports/cur/data/BILLING_PERIOD=2026-05/cur-00001.snappy.parquet"
    pq.write_table(pq.read_table(path, partitioning=None).slice(0, 0), path)
    refused = trainledger("refresh", "--config", folder / "trainledger.yaml", now=NOW)
    assert refused.returncode == 3, refused.stderr
    assert "cur-00001.snappy.parquet: the bill of 2026-05 has no rows." in refused.stderr and "Traceback" not in refused.stderr
    stated = "select source_object from marts.fct_quarantine where reason = 'no_rows' and source_name = 'cur'"
    assert query(folder / "home", stated) == [("data/BILLING_PERIOD=2026-05/cur-00001.snappy.parquet",)]
    new = {name: digest for name, digest in published_bytes(folder / "home").items() if not name.startswith("fct_quarantine")}
    assert new.items() <= story.spoiled.parquet.items() and len(new) > 10


def test_a_formula_in_a_tag_is_a_run_id_without_a_formula(story: Story) -> None:
    [(run_id, recorded_id, state)] = query(
        story.home,
        "select training_run_id, recorded_id, state from marts.dim_training_runs where training_run_id like '%hyperlink%'",
    )
    assert re.fullmatch(r"[a-z0-9_-]+", run_id) and recorded_id == run_id and state == "unknown"
    cost = f"select sum(billed_cost) from marts.fct_training_run_costs where training_run_id = '{run_id}'"
    assert query(story.home, cost) == [(Decimal(7),)]


def test_account_numbers_keep_their_leading_zeros(story: Story) -> None:
    payers = {
        payer
        for (payer,) in query(
            story.home,
            "select payer_account_id from marts.fct_run_cell_costs union select payer_account_id from marts.fct_residual_costs",
        )
    }
    assert payers >= {PAYER, "000000000042", *(f"{number:012d}" for number in range(1, len(FAULTS) + 1))}
    assert all(re.fullmatch(r"\d{12}", payer) for payer in payers)


def test_refreshing_again_reads_nothing_again_states_the_same_and_writes_nothing(story: Story, trainledger: Command) -> None:
    record = story.home / "published/PUBLICATION.json"
    before = record.read_bytes()
    again = trainledger("refresh", "--config", story.folder / "trainledger.yaml", now=NOW)
    assert again.returncode == 3
    assert "the publication is up to date" in again.stderr
    said = [
        sorted(line for line in text.splitlines() if line.startswith("Unreadable")) for text in (again.stderr, story.spoiled.text)
    ]
    assert said[0] == said[1] and len(said[0]) == len(FAULTS) + 2
    assert record.read_bytes() == before


def test_no_output_shows_a_traceback_or_a_secret(story: Story) -> None:
    for stated in (story.good, story.doubtful, story.spoiled):
        assert "Traceback" not in stated.text and "this is a bug" not in stated.text
        assert SECRET not in stated.text + json.dumps(stated.status)
    for path in [path for path in story.home.rglob("*.json") if path.is_file()]:
        assert SECRET not in path.read_text(errors="replace"), path


@pytest.fixture
def changed_config(story: Story) -> Callable[..., Path]:
    """Write a configuration beside the story's own, with something changed."""

    def write(change: Callable[[dict], None]) -> Path:
        document = yaml.safe_load((story.folder / "trainledger.yaml").read_text())
        change(document)
        path = story.folder / "changed.yaml"
        path.write_text(yaml.safe_dump(document))
        return path

    return write


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda document: document.update(colour="blue"), "'colour': unknown key"),
        (lambda document: document["sources"][0].update(password="x"), "password': unknown key"),
        (lambda document: document["sources"][0].update(kind="abacus"), "kind"),
    ],
    ids=["unknown key", "unknown key of a source", "unknown kind"],
)
def test_a_wrong_configuration_is_exit_2_and_touches_nothing(
    story: Story, changed_config: Callable[..., Path], trainledger: Command, change: Callable[[dict], None], said: str
) -> None:
    path = changed_config(change)
    refused = trainledger("refresh", "--config", path, now=NOW)
    assert refused.returncode == 2, refused.stderr
    assert said in refused.stderr and str(path) in refused.stderr and "Traceback" not in refused.stderr
    assert "trainledger init" in refused.stderr
    assert published_bytes(story.home) == story.spoiled.parquet


def test_two_books_of_one_payer_and_month_are_exit_2_and_the_publication_stays(
    story: Story, changed_config: Callable[..., Path], trainledger: Command
) -> None:
    path = changed_config(
        lambda document: document["sources"].append({"name": "second-book", "kind": "aws_cur", "location": "exports/twice"})
    )
    for _ in range(2):  # when it lands, and when it has landed
        refused = trainledger("refresh", "--config", path, now=NOW)
        assert refused.returncode == 2, refused.stderr
        assert "second-book and twice both are the book of AWS payer 000000000042 in 2026-04" in refused.stderr
        assert "`book: true`" in refused.stderr and "Traceback" not in refused.stderr
        assert published_bytes(story.home) == story.spoiled.parquet
    healed = trainledger("refresh", "--config", story.folder / "trainledger.yaml", now=NOW)
    assert healed.returncode == 3 and "the publication is up to date" in healed.stderr
