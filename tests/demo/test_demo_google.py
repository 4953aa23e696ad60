"""Google's half: an export as BigQuery would hand it over, and a truth that its rows bear out."""

from __future__ import annotations

import json
import re
import shutil
from collections import defaultdict
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from math import exp, log, sqrt
from statistics import mean, stdev

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dagster_project.demo.clock import MONTHS
from dagster_project.demo.gcp.account import money_of
from dagster_project.demo.gcp.table import FOLDER, ROWS, SCHEMA
from dagster_project.demo.organisation import PAIR_KEYS, UNIT
from dagster_project.demo.simulation import normalise
from dagster_project.demo.trials import pairs
from dagster_project.settings import load_settings
from tests.bigquery.described import fields_like
from tests.connectors.kit import converted

pytestmark = pytest.mark.proved_by("generator")

TPU = re.compile(r"TpuV|^DWS Defined Duration V|^Reserved V")
COMMITMENT = "COMMITTED_USAGE_DISCOUNT"


def is_accelerator(row):
    words = row["sku"]["description"]
    return bool(TPU.search(words)) and not words.startswith("Commitment") and "management fee" not in words


def number(value):
    """The decimal a double was written for."""
    return Decimal(repr(value))


def net(row):
    """Cost and what commitments take off it; a promotion is no price."""
    return number(row["cost"]) + sum(number(each["amount"]) for each in row["credits"] if each["type"] == COMMITMENT)


def label_of(row):
    return row["labels"].get("training_run_id") or row["labels"].get("training-run-id")


def month(row):
    return row["usage_start_time"].strftime("%Y-%m")


@pytest.fixture(scope="module")
def fees(demo):
    """What each month of the commitment cost."""
    found = defaultdict(Decimal)
    for _, row, _ in demo.google_rows:
        if row["sku"]["description"].startswith("Commitment"):
            found[row["subscription"]["instance_id"], month(row)] += number(row["cost"])
    return found


@pytest.fixture(scope="module")
def costs_of_runs(demo, fees):
    """Effective cost of every TPU run, worked out from the rows and their entries."""
    costs = defaultdict(Fraction)
    for _, row, entry in demo.google_rows:
        if entry:
            effective = Fraction(net(row))
            if entry[5]:
                effective += Fraction(fees[entry[5][0], month(row)]) * Fraction(*entry[5][1:])
            for run, _, numerator, denominator in entry[3]:
                costs[run] += effective * Fraction(numerator, denominator)
    return costs


def test_sums_of_each_partition_are_reported_exactly(demo):
    stated = {key.split("/")[0].split("=")[1]: answer for _, key, answer in demo.objects("gcp-billing")}
    rows, cost, credits = defaultdict(int), defaultdict(Decimal), defaultdict(Decimal)
    for day, row, _ in demo.google_rows:
        rows[day] += 1
        cost[day] += number(row["cost"])
        credits[day] += sum(number(each["amount"]) for each in row["credits"])
    for day, answer in stated.items():
        assert (rows[day], cost[day], credits[day]) == (answer["rows"], Decimal(answer["cost"]), Decimal(answer["credits"])), day
    assert 25_000 < sum(rows.values()) < 45_000
    assert max(rows.values()) < 400


def test_a_partition_holds_the_use_of_its_day_or_came_late(demo):
    late = []
    for day, row, _ in demo.google_rows:
        assert row["export_time"] >= row["usage_end_time"]
        if row["usage_start_time"].date() != date.fromisoformat(day):
            assert row["export_time"].date() == date.fromisoformat(day)
            late.append(row)
    usage = [row for row in late if row["cost_type"] == "regular" and row["service"]["description"] == "Compute Engine"]
    assert {(month(row), row["invoice"]["month"]) for row in usage} == {("2026-06", "202607"), ("2026-09", "202610")}
    assert len({day for day, *_ in demo.google_rows}) < 200


def test_a_partition_s_file_is_written_after_its_last_row(demo):
    for _, key, _ in demo.objects("gcp-billing"):
        path = demo.folder / "exports" / "gcp-billing" / key
        latest = max(row["export_time"] for row in pq.ParquetFile(path).read(["export_time"]).to_pylist())
        assert datetime.fromtimestamp(path.stat().st_mtime, UTC) > latest


def test_columns_have_bigquery_s_types(demo):
    _, key, _ = next(demo.objects("gcp-billing"))
    schema = pq.ParquetFile(demo.folder / "exports" / "gcp-billing" / key).schema_arrow
    assert {"billing_account_id", "project", "resource", "subscription", "consumption_model"} <= set(schema.names)
    assert schema.field("cost").type == pa.float64()
    assert schema.field("usage_start_time").type == pa.timestamp("us", tz="UTC")
    assert schema.field("price").type.field("effective_price").type == pa.decimal128(38, 9)
    assert schema.field("cost_at_effective_price_default").type == pa.decimal128(38, 9)
    for name in ("labels", "system_labels", "tags", "credits"):
        assert pa.types.is_list(schema.field(name).type)
        assert pa.types.is_struct(schema.field(name).type.value_type)
    assert schema.metadata is None


def test_cost_is_price_times_amount_to_the_millionth(demo):
    for _, row, _ in demo.google_rows:
        price, amount = row["price"]["effective_price"], row["usage"]["amount_in_pricing_units"]
        if price is not None:
            expected = (price * number(amount)).quantize(Decimal("1e-6"), rounding="ROUND_HALF_UP")
            assert number(row["cost"]) == expected == row["cost_at_effective_price_default"]
            assert row["cost_at_list"] >= row["cost"] or row["cost"] < 0


def test_every_chip_that_was_used_has_an_answer_and_no_charge_has_one(demo):
    for _, row, entry in demo.google_rows:
        is_charge = row["cost_type"] in ("tax", "rounding_error") or (row["adjustment_info"] and row["usage"]["amount"] is None)
        if is_charge or row["sku"]["description"].startswith("Commitment"):
            assert entry is None
        elif is_accelerator(row):
            assert entry[2] == "accelerator"


def test_the_shares_of_every_google_row_add_up_to_one(demo):
    for _, row, entry in demo.google_rows:
        if entry:
            parts = sum(Fraction(numerator, denominator) for *_, numerator, denominator in entry[3])
            assert parts + (Fraction(*entry[4][1:]) if entry[4] else 0) == 1, row


def test_a_label_decides_only_where_the_row_carries_it(demo):
    for _, row, entry in demo.google_rows:
        for run, rule, *_ in entry[3] if entry else ():
            if rule == "tag":
                assert normalise(label_of(row)) == run
            elif rule == "managed_job":
                assert "customJobs/" in row["resource"]["global_name"]
            else:
                assert rule == "resource_time"


def test_the_commitment_is_carried_by_the_hours_it_covers_and_never_by_more_than_there_is(demo, fees):
    carried = defaultdict(Fraction)
    for _, row, entry in demo.google_rows:
        is_covered = any(each["type"] == COMMITMENT for each in row["credits"])
        assert bool(entry and entry[5]) == is_covered
        if is_covered:
            assert net(row) == 0
            assert "TpuV5p" in row["sku"]["description"]
            carried[entry[5][0], month(row)] += Fraction(*entry[5][1:])
    assert set(carried) == set(fees)
    assert {month for _, month in fees} == set(MONTHS)
    assert all(Fraction(1, 2) <= share < 1 for share in carried.values())


def test_nearly_all_tpu_cost_belongs_to_a_run(demo, fees):
    cost = held = Fraction(0)
    for _, row, entry in demo.google_rows:
        if entry and entry[2] == "accelerator":
            value = Fraction(net(row))
            if entry[5]:
                value += Fraction(fees[entry[5][0], month(row)]) * Fraction(*entry[5][1:])
            cost += value
            held += value * sum(Fraction(numerator, denominator) for *_, numerator, denominator in entry[3])
    assert Fraction(95, 100) < held / cost < 1


def test_the_awkward_cases_of_google_are_there(demo):
    seen = defaultdict(int)
    for _, row, entry in demo.google_rows:
        rules = {part[1] for part in entry[3]} if entry else set()
        words = row["sku"]["description"]
        reason = entry[4][0] if entry and entry[4] else None
        types = {each["type"] for each in row["credits"]}
        seen["stale label"] += bool(label_of(row) and "resource_time" in rules)
        seen["labelled late"] += bool(label_of(row) is None and "resource_time" in rules and "V6e" in words)
        seen["other spelling of the key"] += "training-run-id" in row["labels"]
        seen["shared hour"] += bool(entry and len(entry[3]) > 1)
        seen["half a node"] += bool(entry and [part[2:] for part in entry[3]] == [[1, 2], [1, 2]])
        seen[f"residual {reason}"] += 1
        seen["no project"] += row["project"] is None and row["cost_type"] == "regular"
        seen["traffic of a run"] += bool(entry and entry[2] == "network" and entry[3])
        seen["helper of a run"] += bool(entry and entry[2] == "host")
        seen["disk of a run"] += bool(entry and entry[2] == "storage" and entry[3])
        seen["job"] += bool(entry and entry[2] == "managed_service_fee" and "managed_job" in rules)
        seen["promotion"] += "PROMOTION" in types
        seen["flex start"] += words.startswith("DWS")
        seen["calendar mode"] += words.endswith("in Calendar Mode")
        seen["spot"] += "Spot Preemptible" in words
        seen["node at the end of the name"] += bool(
            row["resource"] and "/nodes/" in row["resource"]["global_name"] and row["resource"]["name"].startswith("t1v-n-")
        )
        seen["account tax"] += row["project"] is None and row["cost_type"] == "tax"
        seen["invoice of another month"] += row["invoice"]["month"] != month(row).replace("-", "")
    wanted = ("idle", "no_record", "unused_commitment", "no_project", "non_accelerator")
    assert all(seen.values()), dict(seen)
    assert all(seen[f"residual {reason}"] for reason in wanted), dict(seen)
    kinds = {re.search(r"V\d\w?", row["sku"]["description"])[0] for _, row, _ in demo.google_rows if is_accelerator(row)}
    assert kinds == {"V4", "V5e", "V5p", "V6e"}


def test_a_correction_takes_back_june_s_use_on_july_s_invoice(demo):
    rows = [
        (row, entry) for _, row, entry in demo.google_rows if (row["adjustment_info"] or {}).get("type") == "USAGE_CORRECTION"
    ]
    (negated, taken), (restated, given) = rows
    assert taken == given or taken[3:] == given[3:]
    assert {month(row) for row, _ in rows} == {"2026-06"}
    assert {(row["invoice"]["month"], row["cost_type"]) for row, _ in rows} == {("202607", "adjustment")}
    original = [
        row
        for _, row, _ in demo.google_rows
        if row["cost_type"] == "regular"
        and (row["usage_start_time"], row["sku"], row["resource"])
        == (negated["usage_start_time"], negated["sku"], negated["resource"])
    ]
    assert [row["cost"] for row in original] == [-negated["cost"]]
    assert number(restated["usage"]["amount"]) == number(original[0]["usage"]["amount"]) * 3 / 4


def test_rounding_closes_every_invoice_but_the_open_one(demo):
    rounded = [row for _, row, _ in demo.google_rows if row["cost_type"] == "rounding_error"]
    assert [month(row) for row in rounded] == list(MONTHS[:5])
    assert all(row["project"] is None and 0 < abs(row["cost"]) < 0.01 for row in rounded)


def cost_on_aws(row):
    """What a row costs after discounts; a covered hour costs what the plan costs."""
    name = "savings_plan_savings_plan_effective_cost"
    if row["line_item_line_item_type"] != "SavingsPlanCoveredUsage":
        name = "line_item_unblended_cost"
    net_name = name.replace("savings_plan_savings", "savings_plan_net_savings").replace("item_unblended", "item_net_unblended")
    value = row.get(net_name)
    return Fraction(str(row[name] if value is None else value))


@pytest.fixture(scope="module")
def log_ratios(demo, costs_of_runs):
    """By pair_key, the logarithm of the TPU run's cost over its Trainium twin's."""
    costs = defaultdict(Fraction, costs_of_runs)
    for source, key, answer in demo.objects():
        rows = demo.rows(source, key) if "2026-06/2026-07-13" not in key else ()
        for first, last, _, parts, _, fee in answer["lines"] if rows else ():
            for row in rows[first - 1 : last] if fee is None else ():
                for run, _, numerator, denominator in parts:
                    costs[run] += cost_on_aws(row) * Fraction(numerator, denominator)
    pairs = defaultdict(dict)
    for record in demo.records():
        if record.get("pair_key"):
            pairs[record["pair_key"]][record["provider_name"]] = record  # of two launches the second, which succeeded
    found = {}
    for key, pair in pairs.items():
        assert pair["AWS"]["tokens"] == pair["Google Cloud"]["tokens"]
        tpu, trainium = (costs[normalise(pair[name]["training_run_id"])] for name in ("Google Cloud", "AWS"))
        found[key] = log(tpu / trainium)
    return found


def test_pairs_cost_as_the_readme_states(log_ratios):
    """98 % intervals of the mean: with seven degrees of freedom 2.998 standard errors."""
    of = {workload: [log_ratios[key] for key in keys] for workload, keys in PAIR_KEYS.items()}
    llama, bert = of["llm-8b-continued-pretraining"], of["bert-large-mlm"]
    assert log(0.7) < mean(llama) < mean(llama) + 2.998 * stdev(llama) / sqrt(8) < log(0.85)
    assert abs(mean(bert)) < 2.998 * stdev(bert) / sqrt(8) < 0.1
    assert log(1.7) < mean(of["ranking-pretraining"] + of["ranking-continued"]) < log(2)
    speech = of["speech-finetune"]  # with five degrees of freedom
    assert log(1.1) < mean(speech) - 3.365 * stdev(speech) / sqrt(6) < mean(speech) < log(1.4)


def test_pairs_of_the_small_comparisons_cost_as_their_table_states(log_ratios):
    """To a thousandth; Spot prices change by the day."""
    known = {key for keys in PAIR_KEYS.values() for key in keys}
    assert set(log_ratios) - known == {pair.key for pair in pairs()}
    for pair in pairs():
        allowed = 0.06 if pair.trial.purchase == "spot" else 0.001
        assert exp(log_ratios[pair.key]) == pytest.approx(pair.ratio, rel=allowed), pair.key


@pytest.mark.parametrize(
    ("amount", "price", "cost"), [(UNIT, 12_345, 10_000), (-UNIT, 15_000, -20_000), (3 * UNIT, UNIT // 4, 7_500_000_000)]
)
def test_costs_are_rounded_half_away_from_zero_at_a_millionth(amount, price, cost):
    assert money_of(amount, price) == cost


def test_the_table_to_load_into_bigquery_is_the_bill_of_the_partitions(demo, tmp_path):
    """Read by the product as JSON lines it is the same, row by row in the order of the partitions."""
    files = sorted((demo.folder / "exports/gcp-billing").rglob("*.parquet"))
    together = pa.concat_tables([pq.ParquetFile(path).read() for path in files])
    assert json.loads((demo.folder / "exports" / FOLDER / SCHEMA).read_text()) == fields_like(together.schema)
    for name in ("table", "folder"):
        (tmp_path / name / "_PARTITIONTIME=2026-04-01").mkdir(parents=True)
    shutil.copy(demo.folder / "exports" / FOLDER / ROWS, tmp_path / "table/_PARTITIONTIME=2026-04-01")
    pq.write_table(together, tmp_path / "folder/_PARTITIONTIME=2026-04-01/rows.parquet")
    table, folder = (
        [pq.read_table(part.path) for part in converted("gcp_billing", tmp_path / name, tmp_path / f"{name}-landed").parts]
        for name in ("table", "folder")
    )
    assert sum(part.num_rows for part in table) > 30_000
    assert pa.concat_tables(table).equals(pa.concat_tables(folder))


def test_the_line_for_bigquery_is_ready_to_be_taken_and_what_loads_it_names_the_files(demo, tmp_path):
    text = (demo.folder / "trainledger.yaml").read_text()
    text = re.sub(r"^  - {name: gcp-billing,.*\n", "", text, flags=re.MULTILINE).replace("  # - {name: gcp-b", "  - {name: gcp-b")
    (tmp_path / "trainledger.yaml").write_text(text)
    source = load_settings(tmp_path / "trainledger.yaml").source("gcp-billing")
    assert (source.kind, source.location) == ("gcp_billing", "bq://your-project.trainledger_demo.gcp_billing")
    [command] = re.findall(r"^bq load .*\\\n.*$", (demo.folder / "README.md").read_text(), flags=re.MULTILINE)
    loaded = [word for word in command.split() if word.startswith("exports/")]
    assert loaded == [f"exports/{FOLDER}/{name}" for name in (ROWS, SCHEMA)]
    assert source.location.removeprefix("bq://").replace(".", ":", 1) in command.split()
