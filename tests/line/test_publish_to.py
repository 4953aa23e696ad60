"""`publish_to`: a publication in a bucket, swapped by one manifest; whatever dies, readers have one publication whole."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import dagster as dg
import pyarrow.parquet as pq
import pytest
import yaml
from pyarrow.fs import S3FileSystem

from connectors.errors import SourceUnreadableError
from connectors.stores.s3 import S3Bucket
from dagster_project.assets.graph import build_definitions
from dagster_project.base.failures import SourceError
from dagster_project.publishing.sharing import MANIFEST, share
from dagster_project.settings import load_settings
from dagster_project.warehouse.site import Site
from tests.conftest import Command
from tests.line.kit import NOW, date_files, query, write_small_exports
from tests.oracle.builders import run
from tests.s3 import CREDENTIALS

pytestmark = pytest.mark.slow
BUCKET, PREFIX = "company-bi", "ledger"
LOCATION = f"s3://{BUCKET}/{PREFIX}"
COSTS = "select cast(sum(effective_cost) as varchar) from marts.fct_training_run_costs"


class Reader:
    """Somebody who reads the bucket by its manifest, with none of the product's code."""

    def __init__(self, endpoint: str) -> None:
        keys = {"access_key": CREDENTIALS["AWS_ACCESS_KEY_ID"], "secret_key": CREDENTIALS["AWS_SECRET_ACCESS_KEY"]}
        self.files = S3FileSystem(endpoint_override=endpoint, region="us-east-1", **keys)

    @property
    def manifest(self) -> dict[str, Any]:
        with self.files.open_input_stream(f"{BUCKET}/{PREFIX}/{MANIFEST}") as stream:
            found: dict[str, Any] = json.loads(stream.read())
        return found

    def rows(self, table: str) -> list[dict[str, Any]]:
        listed = [file for file in self.manifest["files"] if file["table"] == table]
        read = [pq.read_table(f"{BUCKET}/{PREFIX}/{file['path']}", filesystem=self.files) for file in listed]
        assert [one.num_rows for one in read] == [file["rows"] for file in listed]
        return [row for one in read for row in one.to_pylist()]


@pytest.fixture
def bucket(endpoint: str, made_up_credentials: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    import boto3

    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", endpoint)
    client = boto3.client("s3", endpoint_url=endpoint)
    client.create_bucket(Bucket=BUCKET)
    client.put_object(Bucket=BUCKET, Key=f"{PREFIX}/notes.txt", Body=b"of somebody else")
    return client


def one_line(done: CompletedProcess[str]) -> str:
    """What a command printed, however its lines are broken."""
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


def keys(client: Any) -> set[str]:
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{PREFIX}/")
    return {entry["Key"].removeprefix(f"{PREFIX}/") for page in pages for entry in page.get("Contents", [])}


def test_each_publication_is_in_the_bucket_whole_and_a_dead_one_leaves_the_one_before(
    bucket: Any, endpoint: str, tmp_path: Path, trainledger: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    exports, config, reader = write_small_exports(tmp_path), tmp_path / "trainledger.yaml", Reader(endpoint)
    document = yaml.safe_load(config.read_text())
    config.write_text(yaml.safe_dump(document | {"publish_to": LOCATION}))
    done = trainledger("refresh", "--config", config, now=NOW)
    assert done.returncode == 0 and f"Brought to {LOCATION}: " in done.stderr, done.stderr
    first = reader.manifest
    published = json.loads((tmp_path / "home/published/PUBLICATION.json").read_bytes())
    assert (first["build_id"], first["tables"]) == (published["build_id"], published["tables"])
    found = sum(row["effective_cost"] for row in reader.rows("fct_training_run_costs"))
    assert [(str(found),)] == query(tmp_path / "home", COSTS)
    listed = bucket.get_object(Bucket=BUCKET, Key=f"{PREFIX}/lists/run_summary/files.txt")["Body"].read().decode().split()
    assert listed == [f"{LOCATION}/{file['path']}" for file in first["files"] if file["table"] == "run_summary"] != []

    before, stamp = keys(bucket), bucket.head_object(Bucket=BUCKET, Key=f"{PREFIX}/{MANIFEST}")["LastModified"]
    again = trainledger("refresh", "--config", config, now=NOW)
    assert again.returncode == 0 and "Nothing is new" in again.stderr
    assert keys(bucket) == before
    assert bucket.head_object(Bucket=BUCKET, Key=f"{PREFIX}/{MANIFEST}")["LastModified"] == stamp

    exports.runs(run("run-d", ("i-idle", "2026-04-06T00:00:00Z", "2026-04-06T02:00:00Z", 16)))
    date_files(tmp_path / "exports", datetime(2026, 5, 21, tzinfo=UTC))
    config.write_text(yaml.safe_dump(document | {"publish_to": "s3://not-there/ledger"}))
    refused = trainledger("refresh", "--config", config, now=NOW)
    assert refused.returncode == 3 and "Not brought to s3://not-there/ledger" in refused.stderr, refused.stderr
    assert query(tmp_path / "home", "select count(*) from marts.dim_training_runs") == [(4,)], "at home it is published"
    assert "s3://not-there/ledger does not have the last publication" in one_line(
        trainledger("status", "--config", config, now=NOW)
    )

    config.write_text(yaml.safe_dump(document | {"publish_to": LOCATION}))
    record = json.loads((tmp_path / "home/published/PUBLICATION.json").read_bytes())
    for fails_at in (1, 3, "manifest"):
        with pytest.raises(SourceUnreadableError, match="cut"):
            share(tmp_path / "home/published", record, Cut(LOCATION, fails_at))
        assert reader.manifest == first
        assert {file["path"] for file in first["files"]} <= keys(bucket)
    behind = trainledger("refresh", "--config", config, now=NOW)
    assert behind.returncode == 0 and f"Brought to {LOCATION}: 0 new files" in behind.stderr, behind.stderr
    assert "does not have the last publication" not in one_line(trainledger("status", "--config", config, now=NOW))
    second = reader.manifest
    assert second["build_id"] == record["build_id"] != first["build_id"]
    assert "run-d" in {row["training_run_id"] for row in reader.rows("dim_training_runs")}
    of_both = {file["path"] for one in (first, second) for file in one["files"]}
    of_lists = {f"lists/{file['table']}/files.txt" for file in second["files"]}
    assert keys(bucket) == of_both | of_lists | {MANIFEST, "notes.txt"}
    assert len(of_both) < len(first["files"]) + len(second["files"]) / 2, "what did not change is there once"


class Cut(S3Bucket):
    """A bucket whose connection is cut at an upload, or as the manifest goes up."""

    def __init__(self, location: str, fails_at: int | str) -> None:
        super().__init__(location)
        self.fails_at, self.uploads = fails_at, 0

    def upload(self, path: Path, key: str) -> None:
        self.uploads += 1
        if self.uploads == self.fails_at:
            raise SourceUnreadableError("cut", reason="broken_stream", remedy="")
        super().upload(path, key)

    def put(self, key: str, data: bytes, **condition: str) -> None:
        if key == MANIFEST:
            raise SourceUnreadableError("cut", reason="broken_stream", remedy="")
        super().put(key, data, **condition)


def small(folder: Path, location: str) -> Path:
    """The configuration of a small organisation that brings its publication to a bucket."""
    write_small_exports(folder)
    config = folder / "trainledger.yaml"
    config.write_text(yaml.safe_dump(yaml.safe_load(config.read_text()) | {"publish_to": location}))
    return config


def test_in_dagster_a_run_fails_whose_publication_did_not_come_to_the_bucket(
    bucket: Any, endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", NOW)
    settings = load_settings(small(tmp_path, f"s3://{BUCKET}-not-there/ledger"))
    with dg.DagsterInstance.ephemeral() as instance:
        failed = (
            build_definitions(settings, wait=0)
            .resolve_job_def("refresh")
            .execute_in_process(instance=instance, raise_on_error=False)
        )
        assert not failed.success and Site.of_home(settings.home).publication()
        settings = settings.model_copy(update={"publish_to": LOCATION})
        done = build_definitions(settings, wait=0).resolve_job_def("refresh").execute_in_process(instance=instance)
    assert done.success
    assert Reader(endpoint).manifest["build_id"] == (Site.of_home(settings.home).publication() or {})["build_id"]


@pytest.mark.parametrize("other", [b'{"entries": []}', b"[1]", b"not JSON", b'{"form": 1, "files": [{}]}'])
def test_what_is_no_manifest_of_ours_is_named(bucket: Any, other: bytes) -> None:
    bucket.put_object(Bucket=BUCKET, Key=f"odd/{MANIFEST}", Body=other)
    nothing = {"parquet": {}, "files": {}, "parts": {}}
    with pytest.raises(SourceError, match="is not a manifest that this version writes"):
        share(Path(), nothing, S3Bucket(f"s3://{BUCKET}/odd"))


def test_a_prefix_that_holds_another_manifest_is_left_alone(bucket: Any, tmp_path: Path, trainledger: Command) -> None:
    config = small(tmp_path, f"s3://{BUCKET}/other")
    bucket.put_object(Bucket=BUCKET, Key=f"other/{MANIFEST}", Body=b'{"entries": []}')
    done = trainledger("refresh", "--config", config, now=NOW)
    assert done.returncode == 3 and "Give `publish_to` a prefix of its own" in done.stderr
    assert [entry["Key"] for entry in bucket.list_objects_v2(Bucket=BUCKET, Prefix="other/")["Contents"]] == [f"other/{MANIFEST}"]
