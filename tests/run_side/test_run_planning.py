"""`trainledger plan`: what a comparison needs by its pilot, and the plan file that registers pairs."""

from __future__ import annotations

import csv
import json
import math
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pytest

from connectors.registry import connector_for
from dagster_project.base.failures import UsageError
from dagster_project.commands.planning import Rule, asked_of, closed_on, cluster_start, plan, register
from dagster_project.settings import Settings, load_settings
from tests.connectors.kit import converted, rows_of

SEED = Path(__file__).resolve().parents[2] / "dbt" / "seeds" / "comparison_plan_power.csv"
NOW = "2026-10-10T00:00:00Z"
CLUSTERS = ("2026-01-01", "2026-02-16", "2026-04-01", "2026-05-16", "2026-07-01", "2026-08-16")


def publication(folder: Path, ratios: list[list[float]], registered_by: str = "none", **run: Any) -> Settings:
    """A home whose published file has these ratios of pairs, by cluster, and one run of the workload."""
    published = folder / "home" / "published"
    published.mkdir(parents=True)
    with duckdb.connect(str(published / "trainledger.duckdb")) as connection:
        connection.execute("create schema marts")
        connection.execute(f"create table marts.dim_comparison_plan_power as from read_csv('{SEED}')")
        connection.execute(
            """create table marts.rpt_comparison_pairs (window_end date, workload_key varchar, pair_key varchar, kpi varchar,
            factor_view varchar, setting varchar, ratio double, cluster_start date, registered_by varchar,
            trainium_accelerator_type varchar default 'trn2.48xlarge', tpu_accelerator_type varchar default 'v6e')"""
        )
        connection.execute(
            """create table marts.rpt_trainium_vs_tpu as
            select date '2026-07-01' as window_start, date '2026-10-01' as window_end,
            'w' as workload_key, 'energy_kwh_per_million_tokens' as kpi, 'chip' as factor_view, 'power' as verdict_reason"""
        )
        connection.execute(
            """create table marts.dim_training_runs (workload_key varchar, pair_key varchar, accelerator_family varchar,
            target_metric varchar, target_direction varchar, target_value double, useful_tokens bigint, tokens bigint)"""
        )
        of_run = {"target_metric": None, "target_direction": None, "target_value": None, "useful_tokens": None} | run
        connection.execute(
            "insert into marts.dim_training_runs values ('w', 'p', 'tpu', $target_metric, $target_direction, $target_value, "
            "$useful_tokens, null)",
            of_run,
        )
        columns = "window_end, workload_key, pair_key, kpi, factor_view, setting, ratio, cluster_start, registered_by"
        insert = f"insert into marts.rpt_comparison_pairs ({columns}) values (?, 'w', ?, ?, 'chip', '', ?, ?, ?)"
        for start, of_cluster in zip(CLUSTERS, ratios, strict=False):
            for number, ratio in enumerate(of_cluster):
                for window, factor in (("2026-07-01", 9.0), ("2026-10-01", 1.0)):  # the newest figure counts
                    row = [window, f"{start}-{number}", "cost_per_run_to_target", ratio * factor, start, registered_by]
                    connection.execute(insert, row)
                    connection.execute(insert, [*row[:2], "energy_kwh_per_million_tokens", None, *row[4:]])
    config = folder / "trainledger.yaml"
    config.write_text(
        "organisation: {name: Example AG, reporting_currency: USD}\nhome: ./home\n"
        "sources: [{name: figures, kind: user_inputs, location: ./inputs}]\n"
    )
    return load_settings(config)


@pytest.fixture(autouse=True)
def in_october(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", NOW)


def answer(settings: Settings, detect: str = "10%", power: str = "80%") -> tuple[dict[str, Any], str]:
    lines: list[str] = []
    found = plan(settings, asked_of("w", detect, power), lines.append)
    return found, "\n".join(lines)


def needed(effect: float, power: float) -> int | None:
    """The seed, read again."""
    with SEED.open() as file:
        rows = [
            row for row in csv.DictReader(file) if float(row["power"]) == power and float(row["effect_over_spread"]) <= effect
        ]
    return int(rows[-1]["clusters_needed"]) if rows and rows[-1]["clusters_needed"] else None


def test_three_clusters_show_their_spread_and_the_table_how_many_find_the_difference(tmp_path: Path) -> None:
    found, text = answer(publication(tmp_path, [[0.9, 1.0], [1.0, 1.0], [1.1, 1.0]]))
    logs = [math.log(0.9) / 2, 0.0, math.log(1.1) / 2]
    mean = sum(logs) / 3
    spread = math.sqrt(sum((log - mean) ** 2 for log in logs) / 2)
    assert found["spread"] == pytest.approx(spread, abs=1e-9)
    assert found["clusters_needed"] == needed(math.log(1.1) / spread, 0.8)
    assert found["pairs_needed"] == found["clusters_needed"] * 2
    assert f"clusters needed  {found['clusters_needed']}, of which 0 are registered and over" in text
    assert answer_after_power(tmp_path) >= found["clusters_needed"]


def answer_after_power(folder: Path) -> int:
    return int(answer(load_settings(folder / "trainledger.yaml"), power="90%")[0]["clusters_needed"])


def test_fewer_clusters_take_the_spread_of_pairs_and_below_three_pairs_nothing_is_known(tmp_path: Path) -> None:
    found, _ = answer(publication(tmp_path / "pairs", [[0.9, 1.0, 1.1, 1.0]]))
    logs = [math.log(ratio) for ratio in (0.9, 1.0, 1.1, 1.0)]
    mean = sum(logs) / 4
    assert found["spread"] == pytest.approx(math.sqrt(sum((log - mean) ** 2 for log in logs) / 3) / 2, abs=1e-9)
    none, text = answer(publication(tmp_path / "none", [[0.9, 1.0]]))
    assert none["clusters_needed"] is None and none["pairs_needed"] is None
    assert "not known: a spread needs three pairs" in text and "2027-07-01 at the earliest" in text


@pytest.mark.parametrize(("reason", "is_named"), [("power", True), ("assumed_power", True), ("sample", False)])
def test_where_power_binds_the_plan_asks_for_a_meter_of_these_types_and_not_for_pairs(
    tmp_path: Path, reason: str, is_named: bool
) -> None:
    settings = publication(tmp_path, [[0.9], [1.0], [1.1]])
    with duckdb.connect(str(settings.home / "published" / "trainledger.duckdb")) as connection:
        connection.execute(f"update marts.rpt_trainium_vs_tpu set verdict_reason = '{reason}'")
    line = "energy           a meter, not pairs: of trn2.48xlarge / v6e, at the boundary IT"
    assert (line in answer(settings)[1]) == is_named


def test_a_difference_that_ten_years_do_not_find_is_too_small(tmp_path: Path) -> None:
    settings = publication(tmp_path, [[0.5], [1.0], [2.0]])
    found, text = answer(settings)
    assert found["clusters_needed"] is None
    least = found["least_difference"]
    assert f"not at this least difference: at this spread ten years detect {least * 100:.3g} % or more" in text
    assert answer(settings, detect=f"{least * 100 + 0.1:.4f}%")[0]["clusters_needed"] is not None


def test_pairs_of_one_ratio_need_the_fewest_and_registered_clusters_that_are_over_count_already(tmp_path: Path) -> None:
    found, text = answer(publication(tmp_path, [[0.8]] * 4, registered_by="plan"))
    assert found["clusters_needed"] == needed(99, 0.8)
    assert found["counting_clusters"] == 4
    assert found["first_verdict_possible"] == date(2027, 1, 1) and "2027-01-01 at the earliest" in text


def test_clusters_are_half_quarters_and_close_with_their_quarter() -> None:
    assert [cluster_start(day) for day in (date(2026, 2, 15), date(2026, 2, 16), date(2026, 12, 31))] == [
        date(2026, 1, 1),
        date(2026, 2, 16),
        date(2026, 11, 16),
    ]
    assert closed_on(date(2026, 1, 5), 6) == date(2026, 10, 1)  # three quarters at least
    assert closed_on(date(2026, 3, 5), 6) == date(2027, 1, 1)  # half of the first is over
    assert closed_on(date(2026, 12, 5), 1) == closed_on(date(2026, 12, 5), -2) == date(2027, 1, 1)


def rule(**more: Any) -> Rule:
    given = {"pair_key": "seed-*", "pairs": 12, "first_day": date(2026, 10, 10), "target": None, "tokens": None}
    return Rule(**(given | more))


def test_a_plan_is_written_once_and_read_by_its_source(tmp_path: Path) -> None:
    settings = publication(tmp_path, [])
    where = Path(register(settings, asked_of("w", "10%", "80%"), rule(target="loss below 2.1"), None, None))
    assert where.parent == tmp_path / "inputs" and where.name.endswith(".plan.csv")
    [found] = rows_of(converted("user_inputs", where, tmp_path / "landed"))
    wanted = {"kind": "comparison_plan", "key": "w", "pair_key": "seed-*", "value": "12", "valid_from": date(2026, 10, 10)}
    promise = {"promise": "to_target", "target_metric": "loss", "target_direction": "below", "target_value": "2.1"}
    assert {name: found[name] for name in wanted | promise} == wanted | promise
    before = where.stat().st_mtime_ns
    with pytest.raises(UsageError, match="a plan is never written again"):
        register(settings, asked_of("w", "10%", "80%"), rule(target="loss below 2.1"), None, None)
    assert where.stat().st_mtime_ns == before
    register(settings, asked_of("w", "10%", "80%"), rule(target="loss below 2.1", pairs=13), None, None)
    assert len(list((tmp_path / "inputs").iterdir())) == 2


def test_a_plan_in_a_bucket_takes_no_name_that_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects: dict[str, bytes] = {}

    class InMemory:
        def __init__(self, location: str) -> None:
            self.uri_of = f"{location}/{{}}".format

        def put_new(self, key: str, data: bytes) -> bool:
            return objects.setdefault(key, data) is data

    monkeypatch.setattr("dagster_project.commands.planning.open_bucket", InMemory)
    settings = publication(tmp_path, [])
    settings.path.write_text(settings.path.read_text().replace("./inputs", "s3://bucket/inputs/"))
    asked = asked_of("w", "10%", "80%")
    where = register(load_settings(settings.path), asked, rule(tokens=5), None, None)
    [(key, data)] = objects.items()
    assert where == f"s3://bucket/inputs/{key}" and b"w,seed-*,2026-10-10,12,fixed_work,,,,5," in data
    with pytest.raises(UsageError, match="a plan is never written again"):
        register(load_settings(settings.path), asked, rule(tokens=5), None, None)


def test_the_promise_is_the_runs_where_they_state_one_and_asked_for_where_they_do_not(tmp_path: Path) -> None:
    def written(name: str, given: Rule, **run: Any) -> dict[str, Any]:
        settings = publication(tmp_path / name, [], **run)
        file = register(settings, asked_of("w", "10%", "80%"), given, tmp_path / f"{name}.plan.csv", None)
        return next(csv.DictReader(Path(file).read_text().splitlines()))

    target = {"target_metric": "loss", "target_direction": "below", "target_value": 2.1}
    assert written("target", rule(), **target)["target_value"] == "2.1"
    assert written("work", rule(), useful_tokens=10**9)["tokens"] == "1000000000"
    assert written("given", rule(tokens=5), **target)["promise"] == "fixed_work"
    with pytest.raises(UsageError, match="the runs of w do not promise the same"):
        written("neither", rule())
    with pytest.raises(UsageError, match="Give --pairs N"):
        written("number", rule(pairs=None), **target)


@pytest.mark.parametrize(
    ("sources", "what"),
    [
        ("{name: a, kind: fx_rates, location: ./fx}", "no source of plans is configured"),
        ("{name: a, kind: user_inputs, location: ./a}, {name: b, kind: user_inputs, location: ./b}", "it may be a, b"),
        ("{name: a, kind: user_inputs, location: 's3://bucket/in', endpoint_url: 'https://e'}", "source a is reached by a role"),
        ("{name: a, kind: user_inputs, location: ./figures.csv}", "is one file"),
    ],
)
def test_where_a_plan_goes_is_never_guessed(tmp_path: Path, sources: str, what: str) -> None:
    settings = publication(tmp_path, [])
    settings.path.write_text(f"organisation: {{name: A, reporting_currency: USD}}\nhome: ./home\nsources: [{sources}]\n")
    asked = asked_of("w", "10%", "80%")
    with pytest.raises(UsageError, match=what):
        register(load_settings(settings.path), asked, rule(tokens=5), None, None)
    out = tmp_path / "w.plan.csv"
    assert register(load_settings(settings.path), asked, rule(tokens=5), out, None) == str(out)
    with pytest.raises(UsageError, match=r"End it in \.plan\.csv"):
        register(load_settings(settings.path), asked, rule(tokens=5), tmp_path / "w.csv", None)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("w", "10", "80%"), "--detect 10 is no share"),
        (("w", "0%", "80%"), "no difference to plan for"),
        (("w", "10%", "75%"), "Give 50%, 80% or 90%"),
    ],
)
def test_a_question_that_the_table_cannot_answer_names_what_it_can(options: tuple[str, str, str], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        asked_of(*options)


def test_the_command_prints_what_is_needed_and_registers(tmp_path: Path, trainledger: Any) -> None:
    publication(tmp_path, [[0.9], [1.0], [1.1]], useful_tokens=10**9)
    config = tmp_path / "trainledger.yaml"
    asked = trainledger("plan", "--workload", "w", "--detect", "50%", "--json", "--config", config, now=NOW)
    assert asked.returncode == 0, asked.stderr
    assert json.loads(asked.stdout)["clusters_needed"] == needed(math.log(1.5) / json.loads(asked.stdout)["spread"], 0.8)
    done = trainledger("plan", "--workload", "w", "--detect", "50%", "--register", "--config", config, now=NOW)
    assert done.returncode == 0 and "Registered: " in done.stderr, done.stderr
    assert [path.name.partition("-")[0] for path in (tmp_path / "inputs").iterdir()] == ["w"]
    for wrong, what in (
        (["--workload", "v"], "no run is of workload v"),
        (["--workload", "w", "--pairs", "3"], "Give --register too"),
    ):
        refused = trainledger("plan", *wrong, "--config", config, now=NOW)
        assert refused.returncode == 2 and what in refused.stderr


def test_every_kind_of_plan_has_an_ending_that_its_connector_knows() -> None:
    from connectors.inputs.comparison_plans import ENDING
    from connectors.registry import DESCRIPTORS
    from connectors.runs.registrations import ENDING as OF_RUNS

    assert (DESCRIPTORS["user_inputs"].registers, DESCRIPTORS["training_runs"].registers) == (ENDING, OF_RUNS)
    assert connector_for("user_inputs").KIND == "user_inputs"
