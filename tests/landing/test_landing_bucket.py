"""A landing in a bucket, on real servers of S3 and Cloud Storage: whole or not at all, and the mirror is only a cache."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import pytest

from dagster_project.base.failures import SourceError, UsageError
from dagster_project.commands.verifying import verify_landing
from dagster_project.landing.compacting import compact
from dagster_project.landing.records import IssuedLine
from dagster_project.landing.retention import prune
from dagster_project.landing.store import SourceLanding
from dagster_project.warehouse.building import compare_landed
from dagster_project.warehouse.builds import Build
from tests.bigquery.servers import must_be_installed, storage_emulator
from tests.landing.kit import Organisation, bill_line, write_samples

SAMPLES = "select * from raw.neuron_monitor order by all"
UNBLENDED = "select line_item_unblended_cost from raw.aws_cur order by 1"
pytestmark = pytest.mark.slow


class Bucket(Protocol):
    """A bucket as its owner sees it, by the provider's own client."""

    uri: str

    def listed(self) -> list[str]: ...
    def get(self, key: str) -> bytes: ...
    def put(self, key: str, body: bytes) -> None: ...
    def delete(self, key: str) -> None: ...


class OfAmazon:
    def __init__(self, name: str) -> None:
        import boto3

        self.uri, self._name, self._client = f"s3://{name}", name, boto3.client("s3")
        self._client.create_bucket(Bucket=name)

    def listed(self) -> list[str]:
        return [entry["Key"] for entry in self._client.list_objects_v2(Bucket=self._name).get("Contents", [])]

    def get(self, key: str) -> bytes:
        body: bytes = self._client.get_object(Bucket=self._name, Key=key)["Body"].read()
        return body

    def put(self, key: str, body: bytes) -> None:
        self._client.put_object(Bucket=self._name, Key=key, Body=body)

    def delete(self, key: str) -> None:
        self._client.delete_object(Bucket=self._name, Key=key)


class OfGoogle:
    def __init__(self, name: str) -> None:
        from google.cloud import storage

        self.uri, self._bucket = f"gs://{name}", storage.Client("acme").create_bucket(name)

    def listed(self) -> list[str]:
        return [blob.name for blob in self._bucket.list_blobs()]

    def get(self, key: str) -> bytes:
        return self._bucket.blob(key).download_as_bytes()

    def put(self, key: str, body: bytes) -> None:
        self._bucket.blob(key).upload_from_string(body)

    def delete(self, key: str) -> None:
        self._bucket.blob(key).delete()


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    must_be_installed()
    with storage_emulator(tmp_path_factory.mktemp("storage")) as url:
        yield url


@pytest.fixture(params=[OfAmazon, OfGoogle])
def bucket(request: pytest.FixtureRequest, made_up_credentials: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bucket:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-05-10T00:00:00Z")
    if request.param is OfAmazon:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", request.getfixturevalue("endpoint"))
    else:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", request.getfixturevalue("storage"))
    made: Bucket = request.param(f"landing-{tmp_path.name.lower().replace('_', '-')[:50].strip('-')}")
    return made


@pytest.fixture
def organisation(tmp_path: Path, bucket: Bucket) -> Organisation:
    return Organisation(tmp_path, landing=f"{bucket.uri}/ledger")


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


def test_a_delivery_goes_up_is_read_from_the_mirror_and_the_mirror_may_go(organisation: Organisation, bucket: Bucket) -> None:
    organisation.deliver([bill_line(1.0)], at="2026-05-02")
    assert organisation.outcomes() == {"landed": 1}
    assert sum(key.endswith("/_generation.json") for key in bucket.listed()) == 1
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
    organisation: Organisation, bucket: Bucket
) -> None:
    organisation.deliver([bill_line(1.0)], at="2026-05-02")
    organisation.refresh()
    (record,) = [key for key in bucket.listed() if key.endswith("/_generation.json")]
    bucket.delete(record)  # as if killed just before the record was put
    assert organisation.line.elect().members == ()
    assert organisation.outcomes() == {"landed": 1}
    assert organisation.raw(UNBLENDED) == [(1.0,)]


# the emulator of Cloud Storage knows no conditions: tests/bigquery/test_buckets.py asks a server that refuses them
@pytest.mark.parametrize("bucket", [OfAmazon], indirect=True)
def test_of_two_writers_the_first_record_stays(
    organisation: Organisation, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    organisation.deliver([bill_line(1.0)], at="2026-05-02")
    other = Organisation(tmp_path, home="./other-home", landing=organisation.settings.landing)
    line = other.line
    plan = line.plan()
    organisation.refresh()
    (record,) = [key for key in bucket.listed() if key.endswith("/_generation.json")]
    first = bucket.get(record)
    # it looked before the first one's record was there
    monkeypatch.setattr(line.landing, "read", lambda *_: SourceLanding())
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-05-11T00:00:00Z")
    line.land_all(plan)
    assert bucket.get(record) == first


def test_other_bytes_than_were_landed_are_refused(organisation: Organisation, bucket: Bucket) -> None:
    organisation.deliver([bill_line(1.0)], at="2026-05-02")
    organisation.refresh()
    (data,) = [key for key in bucket.listed() if key.endswith(".parquet")]
    bucket.put(data, b"other")
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


def test_verify_reads_the_bucket_and_not_the_mirror(organisation: Organisation, bucket: Bucket) -> None:
    organisation.deliver([bill_line(1.0)], at="2026-05-02")
    organisation.refresh()
    told: list[str] = []
    assert verify_landing(organisation.settings, told.append) == 0
    data, manifest = sorted(key for key in bucket.listed() if "cur-" in key)
    bucket.put(data, b"other")
    bucket.delete(manifest)
    assert verify_landing(organisation.settings, told.append) == 1
    assert "found" in told[1] and told[2].endswith("gone") and told[3].startswith("0 of 2")


def test_a_removed_generation_leaves_only_its_tombstone(
    organisation: Organisation, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day, cost in (("2026-04-10", 1.0), ("2026-04-20", 2.0)):
        monkeypatch.setenv("TRAINLEDGER_NOW", f"{day}T12:00:00Z")
        organisation.deliver([bill_line(cost)], at=day)
        organisation.refresh()
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-04-29T00:00:00Z")
    (removal,) = prune(organisation.settings.sources, organisation.line.landing, organisation.issued, yes=True)
    left = [key for key in bucket.listed() if removal.generation.name in key]
    assert left == [f"ledger/cur/2026-04/{removal.generation.name}.tombstone.json"]
    assert organisation.raw(UNBLENDED) == [(2.0,)]


def test_a_missing_bucket_is_reported_with_what_is_needed(tmp_path: Path, bucket: Bucket) -> None:
    organisation = Organisation(tmp_path, landing=f"{bucket.uri}-that-is-not-there/x")
    with pytest.raises(SourceError, match=r"cannot be listed.*(s3:PutObject|storage\.objects\.list, get, create and delete)"):
        organisation.line.elect()


@pytest.mark.parametrize("landing", ["s3://", "gs://x", "gs://acme-ledger/*", "bq://p.d.t", "az://container"])
def test_a_landing_that_is_no_folder_and_no_bucket_is_a_mistake_in_the_configuration(tmp_path: Path, landing: str) -> None:
    with pytest.raises(UsageError, match=r"trainledger\.yaml"):
        Organisation(tmp_path, landing=landing).line.elect()


def test_which_reports_were_issued_of_it_is_known_in_a_bucket_too(organisation: Organisation, bucket: Bucket) -> None:
    store = organisation.line.landing.store
    assert store.issued() == []
    lines = [
        IssuedLine(report_id=f"2026Q{n}-1", number=n, line_sha256=f"{n}" * 64, issued_at=datetime(2026, 3 * n + 1, 1, tzinfo=UTC))
        for n in (1, 2)
    ]
    for line in lines:
        store.put_record(line)
    assert organisation.line.landing.store.issued() == lines
    assert bucket.listed() == ["ledger/_issued/2026Q1-1.json", "ledger/_issued/2026Q2-1.json"]


def test_bundles_of_a_bucket_are_read_compared_and_derived_from_again(tmp_path: Path, bucket: Bucket) -> None:
    organisation = Organisation(tmp_path, {"name": "neuron", "kind": "neuron_monitor"}, landing=f"{bucket.uri}/ledger")
    for hour in (1, 2, 3):
        name = f"run=a/host=i-0123456789abcdef0/2026-05-01T{hour:02}-00-00Z.jsonl"
        write_samples(tmp_path / "exports/neuron" / name, f"2026-05-01T{hour:02}:05:00Z", at=f"2026-05-01T{hour:02}:10")
    organisation.refresh()
    before, rows = organisation.line.landing.read("neuron"), organisation.raw(SAMPLES)
    [made] = compact(organisation.settings.sources, organisation.line.landing)
    assert (made.deliveries, bucket.listed()) == (3, [f"ledger/neuron/{made.bundle}"])
    for _ in ("with what is kept here", "without, as in a new home"):
        line = organisation.line
        assert line.plan().is_empty
        assert line.landing.read("neuron") == line.landing.store.read("neuron") == before
        assert organisation.raw(SAMPLES) == rows
        shown: list[str] = []
        assert verify_landing(organisation.settings, shown.append) == 0 and shown[-1].startswith("3 of 3 landed objects")
        shutil.rmtree(organisation.settings.cache)
    data = bucket.get(f"ledger/neuron/{made.bundle}")
    bucket.put(f"ledger/neuron/{made.bundle}", data.replace(b"2026-05-01T02:05", b"2026-05-01T02:06"))
    shown.clear()
    assert verify_landing(organisation.settings, shown.append) == 1
    assert f"of {bucket.uri}/ledger/neuron/{made.bundle}: sha256 " in shown[0] and shown[-1].startswith("2 of 3")
    with pytest.raises(SourceError, match="other bytes than were landed"):
        organisation.line.elect()
