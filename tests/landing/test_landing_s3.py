"""A landing on S3, against a real S3 server: whole or not at all, one writer wins, and the mirror is only a cache."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dagster_project.base.failures import SourceError
from dagster_project.commands.verifying import verify_landing
from dagster_project.landing.retention import prune
from dagster_project.landing.store import SourceLanding
from dagster_project.warehouse.building import compare_landed
from dagster_project.warehouse.builds import Build
from tests.landing.kit import Organisation, bill_line

UNBLENDED = "select line_item_unblended_cost from raw.aws_cur order by 1"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3(endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    import boto3

    for name, value in {
        "AWS_ENDPOINT_URL_S3": endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "TRAINLEDGER_NOW": "2026-05-10T00:00:00Z",
    }.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    client.create_bucket(Bucket=bucket_of(tmp_path))
    return client


def bucket_of(tmp_path: Path) -> str:
    return f"landing-{tmp_path.name.lower().replace('_', '-')[:50].strip('-')}"


@pytest.fixture
def organisation(tmp_path: Path, s3: Any) -> Organisation:
    return Organisation(tmp_path, landing=f"s3://{bucket_of(tmp_path)}/ledger")


def keys(s3: Any, tmp_path: Path) -> list[str]:
    return [entry["Key"] for entry in s3.list_objects_v2(Bucket=bucket_of(tmp_path)).get("Contents", [])]


def test_a_look_at_what_is_known_lists_the_bucket_and_asks_for_no_record(
    organisation: Organisation, monkeypatch: pytest.MonkeyPatch
) -> None:
    organisation.deliver([bill_line(1.0)], at="2026-05-02")
    organisation.refresh()
    line = organisation.line
    line.elect()
    line.landing.known.save()
    shutil.rmtree(organisation.settings.cache / "mirror" / "records")
    line = organisation.line
    with monkeypatch.context() as patched:
        patched.setattr(line.landing.store.bucket, "get", lambda key: pytest.fail(f"{key} was asked for"))
        assert line.plan().is_empty
        assert line.landing.read("cur").generations
    organisation.deliver([bill_line(2.0)], at="2026-05-03")
    organisation.refresh()
    line = organisation.line
    assert line.landing.read("cur") == line.landing.store.read("cur")


def test_a_delivery_goes_up_is_read_from_the_mirror_and_the_mirror_may_go(
    organisation: Organisation, s3: Any, tmp_path: Path
) -> None:
    organisation.deliver([bill_line(1.0)], at="2026-05-02")
    assert organisation.outcomes() == {"landed": 1}
    assert sum(key.endswith("/_generation.json") for key in keys(s3, tmp_path)) == 1
    assert organisation.raw(UNBLENDED) == [(1.0,)]
    shutil.rmtree(organisation.settings.cache)
    assert organisation.line.plan().is_empty
    assert organisation.raw(UNBLENDED) == [(1.0,)]
    organisation.deliver([bill_line(2.0)], at="2026-05-03")
    organisation.refresh()
    assert organisation.raw(UNBLENDED) == [(2.0,)]


def test_two_objects_with_the_same_bytes_both_count(organisation: Organisation) -> None:
    """The mirror keeps them as one file, because it names files by what is in them."""
    organisation.deliver_twice([bill_line(1.0)], at="2026-05-02")
    assert organisation.outcomes() == {"landed": 1}
    for _ in range(2):
        found = organisation.raw("select _source_object, _row_number, line_item_unblended_cost from raw.aws_cur order by 1")
        assert found == [(f"data/BILLING_PERIOD=2026-04/cur-0000{number}.snappy.parquet", 1, 1.0) for number in (1, 2)]
        shutil.rmtree(organisation.settings.cache / "mirror")


def test_objects_without_their_record_are_no_generation_and_landing_again_completes_them(
    organisation: Organisation, s3: Any, tmp_path: Path
) -> None:
    organisation.deliver([bill_line(1.0)], at="2026-05-02")
    organisation.refresh()
    (record,) = [key for key in keys(s3, tmp_path) if key.endswith("/_generation.json")]
    s3.delete_object(Bucket=bucket_of(tmp_path), Key=record)  # as if killed just before the record was put
    assert organisation.line.elect().members == ()
    assert organisation.outcomes() == {"landed": 1}
    assert organisation.raw(UNBLENDED) == [(1.0,)]


def test_of_two_writers_the_first_record_stays(
    organisation: Organisation, s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    organisation.deliver([bill_line(1.0)], at="2026-05-02")
    other = Organisation(tmp_path, home="./other-home", landing=organisation.settings.landing)
    line = other.line
    plan = line.plan()
    organisation.refresh()
    (record,) = [key for key in keys(s3, tmp_path) if key.endswith("/_generation.json")]
    first = s3.get_object(Bucket=bucket_of(tmp_path), Key=record)["Body"].read()
    # it looked before the first one's record was there
    monkeypatch.setattr(line.landing, "read", lambda *_: SourceLanding())
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-05-11T00:00:00Z")
    line.land_all(plan)
    assert s3.get_object(Bucket=bucket_of(tmp_path), Key=record)["Body"].read() == first


def test_other_bytes_than_were_landed_are_refused(organisation: Organisation, s3: Any, tmp_path: Path) -> None:
    organisation.deliver([bill_line(1.0)], at="2026-05-02")
    organisation.refresh()
    (data,) = [key for key in keys(s3, tmp_path) if key.endswith(".parquet")]
    s3.put_object(Bucket=bucket_of(tmp_path), Key=data, Body=b"other")
    shutil.rmtree(organisation.settings.cache)
    with pytest.raises(SourceError, match="other bytes than were landed"):
        organisation.raw(UNBLENDED)


def test_a_mirrored_file_that_lost_a_bit_is_fetched_again(organisation: Organisation) -> None:
    organisation.deliver([bill_line(1.0)], at="2026-05-02")
    organisation.refresh()
    (mirrored,) = (organisation.settings.cache / "mirror").glob("??/*.parquet")
    good = mirrored.read_bytes()
    mirrored.write_bytes(good[:-20] + b"x" * 20)
    line = organisation.line
    build = Build("b", "", "", "", {}, ["2026-04-01"], is_full=False)
    compare_landed(line.landing, organisation.settings.sources, build, line.elect())
    assert not mirrored.exists()
    assert organisation.raw(UNBLENDED) == [(1.0,)] and mirrored.read_bytes() == good


def test_verify_reads_the_bucket_and_not_the_mirror(organisation: Organisation, s3: Any, tmp_path: Path) -> None:
    organisation.deliver([bill_line(1.0)], at="2026-05-02")
    organisation.refresh()
    told: list[str] = []
    assert verify_landing(organisation.settings, told.append) == 0
    data, manifest = sorted(key for key in keys(s3, tmp_path) if "cur-" in key)
    s3.put_object(Bucket=bucket_of(tmp_path), Key=data, Body=b"other")
    s3.delete_object(Bucket=bucket_of(tmp_path), Key=manifest)
    assert verify_landing(organisation.settings, told.append) == 1
    assert "found" in told[1] and told[2].endswith("gone") and told[3].startswith("0 of 2")


def test_a_removed_generation_leaves_only_its_tombstone(
    organisation: Organisation, s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day, cost in (("2026-04-10", 1.0), ("2026-04-20", 2.0)):
        monkeypatch.setenv("TRAINLEDGER_NOW", f"{day}T12:00:00Z")
        organisation.deliver([bill_line(cost)], at=day)
        organisation.refresh()
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-04-29T00:00:00Z")
    (removal,) = prune(organisation.settings.sources, organisation.line.landing, organisation.issued, yes=True)
    left = [key for key in keys(s3, tmp_path) if removal.generation.name in key]
    assert left == [f"ledger/cur/2026-04/{removal.generation.name}.tombstone.json"]
    assert organisation.raw(UNBLENDED) == [(2.0,)]


def test_a_missing_bucket_is_reported_with_what_is_needed(tmp_path: Path, s3: Any) -> None:
    organisation = Organisation(tmp_path, landing="s3://no-such-bucket-here/x")
    with pytest.raises(SourceError, match=r"cannot be listed.*s3:PutObject"):
        organisation.line.elect()
