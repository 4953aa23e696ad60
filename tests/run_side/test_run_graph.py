"""The graph of assets: own months for every source, a refresh that needs none, what is refused shown red. Nothing is built."""

from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.utils import is_valid_owner

from dagster_project.assets import names, specs
from dagster_project.assets.graph import build_definitions
from dagster_project.settings import Settings, load_settings
from dagster_project.settings.model import OWNER, owners_by_group
from dagster_project.warehouse import modelling
from dagster_project.warehouse.gates import expected_dbt_gates
from dagster_project.warehouse.report_models import models_of_reports
from tests.line.kit import date_files, day_of_hours, write_small_exports
from tests.oracle.builders import Exports

pytestmark = pytest.mark.slow  # the graph needs the parsed dbt project


@pytest.fixture
def exports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Exports:
    """Bills of April and May, carbon of April, run records; nothing is landed yet."""
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-20T00:00:00Z")
    exports = write_small_exports(tmp_path)
    exports.bill(day_of_hours("i-tagged", 20.0, "2026-05"), period="2026-05")
    date_files(tmp_path / "exports", datetime(2026, 6, 10, tzinfo=UTC))
    return exports


@pytest.fixture
def settings(exports: Exports) -> Settings:
    return load_settings(exports.folder / "trainledger.yaml")


@pytest.fixture
def definitions(settings: Settings) -> dg.Definitions:
    return build_definitions(settings, wait=0)


@pytest.fixture
def instance() -> dg.DagsterInstance:
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions(names.source_months("cur"), ["2026-04", "2026-05", "2026-07"])
        yield instance


def land(definitions: dg.Definitions, instance: dg.DagsterInstance, month: str) -> dg.ExecuteInProcessResult:
    """What the UI does when somebody materializes one month of the source `cur`."""
    job = definitions.resolve_job_def("land_again_cur")
    return job.execute_in_process(instance=instance, partition_key=month, raise_on_error=False)


def look(definitions: dg.Definitions, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    """The first step of the job `refresh`, alone."""
    job = definitions.resolve_job_def("refresh")
    return job.execute_in_process(instance=instance, asset_selection=[names.NEW_DELIVERIES], raise_on_error=False)


def landed(settings: Settings) -> list[str]:
    """Sources and partitions of the landing."""
    return sorted(path.parent.relative_to(settings.landing).as_posix() for path in Path(settings.landing).glob("*/*/*Z-*"))


def messages(done: dg.ExecuteInProcessResult) -> str:
    return "\n".join(
        str(event.step_failure_data.user_failure_data or event.step_failure_data.error)
        for event in done.all_events
        if event.is_step_failure
    )


def test_a_refresh_has_no_partition_and_every_source_has_its_own_months(definitions: dg.Definitions) -> None:
    graph = definitions.resolve_asset_graph()
    job = definitions.resolve_job_def("refresh")
    assert job.partitions_def is None
    assert names.NEW_DELIVERIES in job.asset_layer.executable_asset_keys
    by_source = {key.path[1]: graph.get(key).partitions_def for key in graph.get_all_asset_keys() if key.path[0] == "landing"}
    assert {source: getattr(found, "name", None) for source, found in by_source.items()} == {
        "cur": "months of cur",
        "carbon": "months of carbon",
        "runs": None,
    }
    for name in ("rebuild_months", "land_again_cur", "quarterly_report"):
        assert definitions.resolve_job_def(name).partitions_def is not None, name


def test_every_model_seed_and_test_is_shown_with_words_columns_and_a_place_in_the_code(
    definitions: dg.Definitions, settings: Settings
) -> None:
    manifest, graph = modelling.project(settings.home), definitions.resolve_asset_graph()
    for node in manifest["nodes"].values():
        if node["path"].startswith("pages/"):
            continue  # no build makes it
        if node["resource_type"] == "test":
            assert names.check_of_test(manifest, node) in graph.asset_check_keys, node["name"]
            continue
        shown = graph.get(names.node_key(node))
        assert shown.description and "not published" in shown.description
        assert "dbt" in shown.kinds and shown.group_name
        assert {"dagster/code_references", "dagster/table_name"} <= set(shown.metadata), node["name"]
        assert shown.parent_keys == {
            names.node_key({**manifest["nodes"], **manifest["sources"]}[parent]) for parent in node["depends_on"].get("nodes", [])
        }
    for key in graph.get_all_asset_keys():
        assert (graph.get(key).description or "").replace(specs.BY_HAND, "").strip(), key


def test_every_test_that_refuses_a_publication_is_a_blocking_check_and_no_other(
    definitions: dg.Definitions, settings: Settings
) -> None:
    manifest = modelling.project(settings.home)
    gates = expected_dbt_gates(manifest, models_of_reports(manifest))
    tests = [node for node in manifest["nodes"].values() if node["resource_type"] == "test"]
    refusing = {names.check_of_test(manifest, node) for node in tests if f"dbt.{node['name']}" in gates}
    graph = definitions.resolve_asset_graph()
    assert {key for key in graph.asset_check_keys if graph.get_check_spec(key).blocking} == refusing
    assert len(refusing) > 100 and len(refusing) < len(tests)


def test_owners_and_places_of_the_code_are_those_of_the_configuration(settings: Settings) -> None:
    model, check = dg.AssetKey(["marts", "fct_reconciliation"]), names.GATES
    places = {}
    for url in (None, "https://github.com/example/fork", "https://git.example.com/a/b/-/tree/v1/"):
        owners = owners_by_group({"marts": ["team:finance", "cfo@example.com"], "landing": ["ops@example.com"]})
        organisation = settings.organisation.model_copy(update={"owners": owners})
        graph = build_definitions(
            settings.model_copy(update={"organisation": organisation, "repository_url": url}), wait=0
        ).resolve_asset_graph()
        assert graph.get(model).owners == ["team:finance", "cfo@example.com"]
        assert graph.get(names.landing_key("cur")).owners == ["ops@example.com"] and not graph.get(check).owners
        places[url] = [graph.get(key).metadata["dagster/code_references"].code_references[0] for key in (model, check)]
    assert all(Path(place.file_path).is_file() for place in places.pop(None))
    path = "dbt/models/marts/quality/fct_reconciliation.sql"
    assert [[place.url for place in found] for found in places.values()] == [
        [f"{root}/{path}", f"{root}/dagster_project/warehouse/gates.py"]
        for root in ("https://github.com/example/fork/blob/HEAD", "https://git.example.com/a/b/-/tree/v1")
    ]


@pytest.mark.parametrize(
    "owner", ["ops@example.com", "team:x", "a.b+c@d-e.co", "team:", "finance", "x@y", "x y@z.de", "team:a b"]
)
def test_an_owner_is_what_dagster_takes_for_one(owner: str) -> None:
    assert bool(OWNER.fullmatch(owner)) is is_valid_owner(owner)


def test_one_month_of_a_source_is_landed_again_and_nothing_else(
    definitions: dg.Definitions, instance: dg.DagsterInstance, settings: Settings
) -> None:
    assert land(definitions, instance, "2026-04").success
    assert landed(settings) == ["cur/2026-04"]
    first = instance.get_latest_materialization_event(names.landing_key("cur")).asset_materialization
    assert (first.partition, first.metadata["deliveries landed"].value, first.metadata["billed cost USD"].value) == (
        "2026-04",
        1,
        "1558.98",
    )
    assert land(definitions, instance, "2026-04").success  # known, and looked at again
    again = instance.get_latest_materialization_event(names.landing_key("cur")).asset_materialization
    assert again.metadata["deliveries unchanged"].value == 1
    assert again.tags["dagster/data_version"] == first.tags["dagster/data_version"]
    assert landed(settings) == ["cur/2026-04"]


def test_a_month_without_a_delivery_cannot_become_green(definitions: dg.Definitions, instance: dg.DagsterInstance) -> None:
    done = land(definitions, instance, "2026-07")
    assert not done.success and "There is no delivery of 2026-07 at" in messages(done)
    assert instance.get_latest_materialization_event(names.landing_key("cur")) is None
    with pytest.raises(dg.DagsterUnknownPartitionError):
        land(definitions, instance, "2026-01")  # a month of another source, or of none


def test_a_refused_delivery_fails_its_check_and_is_not_tried_again(
    definitions: dg.Definitions, instance: dg.DagsterInstance, exports: Exports
) -> None:
    for file in (exports.folder / "exports" / "cur" / "data" / "BILLING_PERIOD=2026-04").rglob("*.parquet"):
        file.write_bytes(b"not Parquet")
    done = land(definitions, instance, "2026-04")
    assert not done.success
    [check] = [check for check in done.get_asset_check_evaluations() if not check.passed]
    assert check.check_name == names.LANDING_CHECK
    assert "2026-04" in check.description
    assert not [event for event in done.all_events if event.event_type_value == "STEP_UP_FOR_RETRY"]
    assert land(definitions, instance, "2026-05").success  # the other month is not concerned


def test_a_refresh_looks_at_every_source_without_a_partition_and_shows_each_at_its_own_asset(
    definitions: dg.Definitions, instance: dg.DagsterInstance, settings: Settings
) -> None:
    assert look(definitions, instance).success
    assert [one for one in landed(settings) if not one.startswith("runs/")] == [
        "carbon/2026-04@v3.0.0",
        "carbon/2026-04@v3.0.1",
        "cur/2026-04",
        "cur/2026-05",
    ]
    assert len(landed(settings)) == 7  # and three run records
    assert instance.get_materialized_partitions(names.landing_key("cur")) == {"2026-04", "2026-05"}
    assert instance.get_dynamic_partitions(names.source_months("carbon")) == ["2026-04"]
    runs = instance.get_latest_materialization_event(names.landing_key("runs")).asset_materialization
    assert (runs.partition, runs.metadata["deliveries landed"].value) == (None, 3)


def test_a_source_that_cannot_be_read_is_tried_again_and_the_others_are_landed(
    definitions: dg.Definitions,
    instance: dg.DagsterInstance,
    settings: Settings,
    exports: Exports,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dagster_project.assets.landing.UNREADABLE_WAIT", 0)
    (exports.folder / "exports" / "carbon").rename(exports.folder / "gone")
    done = look(definitions, instance)
    assert "carbon: " in messages(done) and "there is no such folder. Create the folder" in messages(done)
    assert [event.event_type_value for event in done.all_events].count("STEP_UP_FOR_RETRY") == 2
    assert {"cur/2026-04", "cur/2026-05"} <= set(landed(settings))
    key = dg.AssetCheckKey(names.landing_key("carbon"), names.LANDING_CHECK)
    [found] = instance.event_log_storage.get_latest_asset_check_execution_by_key([key]).values()
    assert not found.event.dagster_event.asset_check_evaluation_data.passed
