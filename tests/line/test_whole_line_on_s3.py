"""The same exports in a bucket and in a folder give the same published Parquet; so does a landing that lies in a bucket."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Command
from tests.line.kit import NOW, date_files, published_bytes, query, stamps, write_small_exports
from tests.oracle.builders import hour
from tests.s3 import SECRET

pytestmark = pytest.mark.slow

EXPORTS, LANDING = "company-exports", "company-landing"
CSV_PAYER = "000011114444"


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory, trainledger: Command) -> Path:
    """The exports in a folder, published from there."""
    folder = tmp_path_factory.mktemp("local")
    exports = write_small_exports(folder)
    account = {"bill_payer_account_id": CSV_PAYER, "line_item_usage_account_id": CSV_PAYER}
    exports.csv_bill([hour(f"2026-04-05T{at:02d}:00:00", 3.3, **account) for at in range(5)])
    exports.config()
    date_files(folder / "exports", datetime(2026, 5, 20, tzinfo=UTC))
    done = trainledger("refresh", "--config", folder / "trainledger.yaml", now=NOW)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def s3(endpoint: str, local: Path, made_up_credentials: None) -> Any:
    """A client of a server that holds the exports."""
    import boto3

    client = boto3.client("s3", endpoint_url=endpoint)
    for bucket in (EXPORTS, LANDING):
        client.create_bucket(Bucket=bucket)
    exports = local / "exports"
    for path in sorted(path for path in exports.rglob("*") if path.is_file()):  # data/ before metadata/, as a provider writes
        client.upload_file(str(path), EXPORTS, f"billing/{path.relative_to(exports).as_posix()}")
    return client


def config_of(local: Path, folder: Path, endpoint: str, landing: str | None = None) -> Path:
    """The local configuration with every source moved into the bucket."""
    document = yaml.safe_load((local / "trainledger.yaml").read_text())
    for source in document["sources"]:
        source |= {"location": f"s3://{EXPORTS}/billing/{source['name']}", "endpoint_url": endpoint}
    path = folder / "trainledger.yaml"
    path.write_text(yaml.safe_dump(document | {"landing": landing}))
    return path


def keys_of(s3: Any, bucket: str) -> list[str]:
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
    return [entry["Key"] for page in pages for entry in page.get("Contents", [])]


def assert_refresh_again_writes_nothing(trainledger: Command, config: Path) -> None:
    before = stamps(config.parent / "home")
    again = trainledger("refresh", "--config", config, now=NOW)
    assert again.returncode == 0 and "Nothing is new" in again.stderr, again.stderr
    assert stamps(config.parent / "home") == before


def test_sources_in_a_bucket_publish_the_bytes_of_the_same_files_in_a_folder(
    local: Path, s3: Any, endpoint: str, tmp_path: Path, trainledger: Command
) -> None:
    config = config_of(local, tmp_path, endpoint)
    done = trainledger("refresh", "--config", config, now=NOW)
    assert done.returncode == 0, done.stderr
    assert SECRET not in done.stdout + done.stderr
    expected = published_bytes(local / "home")
    assert len(expected) > 10 and published_bytes(tmp_path / "home") == expected
    assert query(tmp_path / "home", "select count(*) > 0 from marts.fct_residual_costs where source_name = 'cur-csv'") == [
        (True,)
    ]
    records = [json.loads(path.read_bytes()) for path in (tmp_path / "home/landing").rglob("_generation.json")]
    assert len(records) == 7
    entries = {entry["key"]: entry for record in records for entry in record["objects"] if record["source"] == "cur"}
    [data] = [key for key in entries if key.endswith(".parquet")]
    head = s3.head_object(Bucket=EXPORTS, Key=f"billing/cur/{data}")
    assert (entries[data]["etag"], entries[data]["size"]) == (head["ETag"].strip('"'), head["ContentLength"])
    assert_refresh_again_writes_nothing(trainledger, config)


def test_a_landing_in_a_bucket_publishes_the_same_bytes_and_builds_again_without_its_mirror(
    local: Path, s3: Any, endpoint: str, tmp_path: Path, trainledger: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", endpoint)  # the landing speaks to the S3 of the environment
    config = config_of(local, tmp_path, endpoint, f"s3://{LANDING}/ledger")
    done = trainledger("refresh", "--config", config, now=NOW)
    assert done.returncode == 0, done.stderr
    assert published_bytes(tmp_path / "home") == published_bytes(local / "home")
    assert not (tmp_path / "home/landing").exists()
    landed = keys_of(s3, LANDING)
    assert sum(key.endswith("/_generation.json") for key in landed) == 7
    assert all(key.startswith("ledger/") for key in landed)
    assert_refresh_again_writes_nothing(trainledger, config)

    shutil.rmtree(tmp_path / "home/cache/mirror")
    shutil.rmtree(tmp_path / "home/published")
    (tmp_path / "home/build.duckdb").unlink()
    for key in keys_of(s3, EXPORTS):
        s3.delete_object(Bucket=EXPORTS, Key=key)  # what was landed is enough
    again = trainledger("refresh", "--config", config, now=NOW)
    assert again.returncode == 0, again.stderr
    assert published_bytes(tmp_path / "home") == published_bytes(local / "home")
    assert keys_of(s3, LANDING) == landed
