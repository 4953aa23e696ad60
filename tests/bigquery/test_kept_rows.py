"""`keep: raw` beside groups that BigQuery made: the provider's rows are landed as evidence give the same groups and no figure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

pytest.importorskip("google.cloud.bigquery", reason="google-cloud-bigquery is not installed")

from dagster_project.commands.verifying import verify_landing
from dagster_project.settings import SourceSettings
from tests.bigquery.exported import TABLE, Exported
from tests.bigquery.test_grouped_bills import bill, company, engine, published  # noqa: F401  # fixtures
from tests.conftest import Command
from tests.evidence.walked import faults, opened
from tests.landing.kit import Organisation
from tests.line.kit import query

pytestmark = pytest.mark.slow

DAY = "2026-04-10"
Bill = tuple[Exported, str]


def organisation(folder: Path, exported: Exported, url: str, **more: Any) -> Organisation:
    exported.days = {DAY: exported.days[DAY]}
    source = {"name": "google", "kind": "gcp_billing", "location": f"bq://{TABLE}", "endpoint_url": url}
    return Organisation(folder / "organisation", source | {"engine": "bigquery", "keep": "raw"} | more)


def verified(made: Organisation) -> tuple[int, list[str]]:
    lines: list[str] = []
    return verify_landing(made.settings, lines.append), lines


def test_a_refresh_with_kept_rows_publishes_what_one_without_does_and_a_trace_ends_at_the_rows(
    bill: Bill,  # noqa: F811
    tmp_path: Path,
    trainledger: Command,
) -> None:
    exported, url = bill
    groups = published(tmp_path / "groups", trainledger, company(tmp_path / "groups", exported, url, engine="bigquery"))
    config = company(tmp_path / "kept", exported, url, engine="bigquery", keep="raw")
    kept = published(tmp_path / "kept", trainledger, config)
    assert {name for name in groups if groups[name] != kept[name]} <= {"fct_charge_attributions", "dim_deliveries"}
    home = tmp_path / "kept/home"
    raw = [path for path in (home / "landing/gcp").rglob("*.parquet") if path.name.startswith("raw~")]
    lines = sum(pq.read_metadata(path).num_rows for path in raw)
    assert lines == sum(len(day) for day in exported.days.values())
    of_groups = "is_elected and grouped_by = 'bigquery' and is_raw_kept and source_name = 'gcp'"
    sums = (
        f"select count(*), sum(grouped_rows) from ops.dim_deliveries where {of_groups} and first_usage_month <= last_usage_month"
    )
    assert query(home, sums) == [(len(raw), lines)]
    done = trainledger("verify", "--landing", "--config", config)
    assert done.returncode == 0
    assert f"kept beside {len(raw)} of them, and {len(raw)} of these give the same groups here." in done.stdout
    done = trainledger("report", "quarterly", "--quarter", "2026Q2", "--config", config, now="2026-08-20T00:00:00Z")
    assert done.returncode == 0, done.stderr
    assert "For gcp (by bigquery) this report rests on groups" in (home / "reports/2026Q2/report.html").read_text()
    assert not faults(home, config), "a number whose rows do not add up to it"
    with opened(home, config) as (of_home, connection):
        from dagster_project.evidence.tracing.landed import Landed

        landed = Landed(connection, of_home)
        wanted = "select *, billed_cost as amount_ from attributed where source_name = 'gcp' and row_count > 3"
        connection.execute(f"insert into groups {wanted}")
        landed.add_bill_rows("bill", "fct_charge_attributions", "billed_cost")
        of_each = landed.rows("""select regexp_extract(detail, '([0-9]+) rows of', 1)::int as wanted, count(*) as found,
                starts_with(min(detail), 'one of') and starts_with(max(detail), 'one of') as is_exact,
                count(contribution) as given, count(object_sha256) as hashed
            from origins where kind = 'kept' group by charge_group_id, regexp_extract(detail, 'rows of (.*)', 1), wanted""")
    assert len(of_each) > 20 and all(one["given"] == 0 and one["hashed"] == one["found"] for one in of_each)
    assert all(one["found"] == one["wanted"] if one["is_exact"] else one["found"] > one["wanted"] for one in of_each)
    assert sum(one["is_exact"] for one in of_each) > 0.9 * len(of_each)


def test_a_kept_row_is_traced_to_the_group_that_counts_of_it(bill: Bill, tmp_path: Path, trainledger: Command) -> None:  # noqa: F811
    exported, url = bill
    config = company(tmp_path, exported, url, engine="bigquery", keep="raw")
    published(tmp_path, trainledger, config)
    key = f"raw/_PARTITIONTIME={DAY}/rows.parquet"
    number = next(
        n for n, row in enumerate(exported.days[DAY], 1) if row["sku"]["description"] == "Network Egress" and row["cost"]
    )
    done = trainledger("trace", "--source-row", f"{key}:{number}", "--config", config)
    text = done.stdout + done.stderr
    assert f"_PARTITIONTIME={DAY}/rows.parquet:" in text, text
    if done.returncode:
        [place] = re.findall(r"Trace one of these: ([^,]+?),", text)
        done = trainledger("trace", "--source-row", place, "--config", config)
    else:
        assert "it is a row of the provider, kept beside groups as evidence: what counts of it is _PARTITIONTIME" in text
    assert done.returncode == 0 and "rows_in_group" in done.stdout, done.stdout + done.stderr


def relanded(made: Organisation, name: str, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Forge rows of a landed file, and with them what its record has of it: hash and size."""
    [path] = [one for one in made.landing.rglob("*.parquet") if one.name.startswith(name)]
    table = pq.read_table(path)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    hashed(path)


def hashed(path: Path) -> None:
    record = path.parent / "_generation.json"
    document = json.loads(record.read_text())
    [its] = [one for one in document["objects"] if one["file"] == path.name]
    its |= {"sha256": sha256(path.read_bytes()).hexdigest(), "size": path.stat().st_size}
    record.write_text(json.dumps(document))


def cheaper_use(rows: list[dict[str, Any]]) -> None:
    rows[0]["cost"] = float(Decimal(repr(rows[0]["cost"] or 0.0)) - 1)


def moved_between_projects(rows: list[dict[str, Any]]) -> None:
    """A tenth of a unit of money from one group to another: every sum of the whole stays."""
    one, other = [row for row in rows if (row["line_count"] or 0) > 3 and row["cost"]][:2]
    one["cost"], other["cost"] = one["cost"] - Decimal("0.1"), other["cost"] + Decimal("0.1")


def left_out(rows: list[dict[str, Any]]) -> None:
    del rows[5]


def test_a_forged_row_or_group_is_found_though_its_hash_is_made_again(bill: Bill, tmp_path: Path) -> None:  # noqa: F811
    exported, url = bill
    for number, (name, forge, words) in enumerate(
        (
            ("raw~", cheaper_use, r"rows kept beside its groups have \S+ of cost, and \S+ is stated of the rows"),
            ("raw~", left_out, r"rows kept beside its groups have \d+ of line_count, and \d+ is stated"),
            (
                "%5F",
                moved_between_projects,
                r"rows kept beside its groups give other ones; of its groups alone: billing_account_id",
            ),
            ("%5F", left_out, r"the groups have \d+ of row_count, and BigQuery states \d+ of the rows they were made of"),
        )
    ):
        made = organisation(tmp_path / str(number), exported, url)
        assert made.outcomes() == {"landed": 1}
        relanded(made, name, forge)
        code, lines = verified(made)
        assert code == 1 and re.search(words, lines[0]) and lines[0].startswith(f"differs: google {DAY}: google/{DAY}/"), lines
        assert lines[1].startswith("3 of 3 landed objects have the bytes") and "0 of these give the same groups" in lines[2]


def test_sums_forged_with_a_group_are_not_those_of_the_kept_rows(bill: Bill, tmp_path: Path) -> None:  # noqa: F811
    """Without kept rows a group, query.json and their hashes, all forged alike, would agree: for this the rows are kept."""
    exported, url = bill
    codes = []
    for keep in (None, "raw"):
        made = organisation(tmp_path / str(keep), exported, url, **({} if keep else {"keep": None}))
        assert made.outcomes() == {"landed": 1}

        def dearer(rows: list[dict[str, Any]]) -> None:
            rows[0]["cost"] += 1

        relanded(made, "%5F", dearer)
        [path] = made.landing.rglob("*query.json")
        record = json.loads(path.read_text())
        record["sums"]["cost"] = str(Decimal(record["sums"]["cost"]) + 1)
        path.write_text(json.dumps(record))
        hashed(path)
        codes.append(verified(made)[0])
    assert codes == [0, 1]


def test_rows_that_changed_since_the_groups_were_made_are_not_kept_beside_them(bill: Bill, tmp_path: Path) -> None:  # noqa: F811
    exported, url = bill
    made = organisation(tmp_path, exported, url)
    groups, rows = exported.rows_of, exported.days[DAY]
    exported.rows_of = lambda of: groups(list(of)[1:])  # type: ignore[method-assign]
    assert made.outcomes() == {"unreadable": 1}
    exported.rows_of = lambda of: groups([{**row, "cost": 1.0} if row is rows[3] else row for row in of])  # type: ignore[method-assign]
    assert made.outcomes() == {"unreadable": 1}
    exported.rows_of = groups  # type: ignore[method-assign]
    assert made.outcomes() == {"landed": 1}
    assert made.outcomes() == {}


def test_of_one_partition_with_and_without_its_rows_what_is_configured_counts(
    bill: Bill,  # noqa: F811
    tmp_path: Path,
    trainledger: Command,
) -> None:
    exported, url = bill
    exported.days = {DAY: exported.days[DAY]}
    source = {"name": "google", "kind": "gcp_billing", "location": f"bq://{TABLE}", "endpoint_url": url, "engine": "bigquery"}
    document = {"organisation": {"name": "Test"}, "home": "./home"}
    path, found = tmp_path / "trainledger.yaml", []
    for way in ({}, {"keep": "raw"}, {}, {"keep": "raw"}):
        path.write_text(yaml.safe_dump(document | {"sources": [source | way]}))
        published(tmp_path, trainledger, path)
        found += query(tmp_path / "home", "select content_hash, is_raw_kept, rows from ops.dim_deliveries where is_elected")
    assert [kept for _, kept, _ in found] == [False, True, False, True]
    assert found[0] == found[2] and found[1] == found[3] and len({rows for *_, rows in found}) == 1


def test_rows_are_kept_beside_groups_alone() -> None:
    with pytest.raises(ValueError, match=r"'keep: raw' keeps the provider's rows beside .* leave the key out, or set `engine`"):
        SourceSettings.model_validate({"name": "bill", "kind": "gcp_billing", "location": "bq://a.b.c", "keep": "raw"})
