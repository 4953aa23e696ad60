"""Delivering to a real S3 server, also one that is gone for a while, and to one of Cloud Storage."""

from __future__ import annotations

import datetime as dt
import gzip
from pathlib import Path
from typing import Any

import botocore.client
import botocore.endpoint
import pytest

from tests.bigquery.servers import must_be_installed, storage_emulator
from tests.connectors.buckets import BUCKET
from tests.recorder.kit import Node, answering
from tests.s3 import s3_server
from trainledger_recorder.errors import DeliveryError
from trainledger_recorder.spool import Session
from trainledger_recorder.targets import Options, open_target
from trainledger_recorder.uploading import deliver
from trainledger_recorder.uploads import Uploads
from trainledger_recorder.writing import Writer

pytestmark = pytest.mark.slow

NOON = dt.datetime(2026, 4, 12, 12, tzinfo=dt.UTC)
LOCATION = f"s3://{BUCKET}/recorded"


def waiting(parent: Path, count: int) -> Session:
    """A session with finished files of one line each, and a run record."""
    session = Session.begin(parent, NOON)
    writer = Writer(session, "run-a", "i-1", 1, 600.0, lambda: 0.0, print)
    for number in range(count):
        writer.write("neuron_power", f"{session.name} {number}\n".encode(), NOON)
    session.write_record("runs/run=run-a/host=i-1/a.run.json", {"training_run_id": "run-a"})
    return session


def lines_of(client: Any) -> list[str]:
    listed = client.list_objects_v2(Bucket=BUCKET, Prefix="recorded/neuron_power/").get("Contents", ())
    bodies = (client.get_object(Bucket=BUCKET, Key=one["Key"])["Body"].read() for one in listed)
    return sorted(line for body in bodies for line in gzip.decompress(body).decode().splitlines())


def test_without_a_network_files_wait_and_afterwards_every_line_arrives_once(
    s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, messages = waiting(tmp_path / "spool", 2), list[str]()
    with s3_server() as address:
        asked = tmp_path / "spool", session.name, LOCATION, Options(endpoint_url=address), messages.append
        assert deliver(*asked) == 0
    monkeypatch.setattr(botocore.endpoint.time, "sleep", lambda seconds: None)  # between its own tries
    writer = Writer(session, "run-a", "i-2", 1, 600.0, lambda: 0.0, print)
    for number in (2, 3):
        writer.write("neuron_power", f"{session.name} {number}\n".encode(), NOON)
    assert deliver(*asked) == 75
    assert "s3://exports/recorded/neuron_power/run=run-a/host=i-2/2026-04-12T12-00-00Z-" in messages[-1]
    with s3_server(int(address.rpartition(":")[2])):
        assert deliver(*asked) == 0
    assert lines_of(s3) == [f"{session.name} {number}" for number in range(4)]
    assert session.is_empty()


def test_a_job_ends_when_its_store_is_out_of_reach_and_the_next_start_delivers(node: Node, s3: Any, endpoint: str) -> None:
    node.power(0)
    gone = node.record("--endpoint-url", "http://127.0.0.1:9", "--drain", 0, "--", "sh", "-c", "exit 4", to=LOCATION)
    assert gone.returncode == 4 and "wait in" in gone.stderr, gone.stderr
    done = node.record("--endpoint-url", endpoint, "--", "true", to=LOCATION)
    assert done.returncode == 0 and node.waiting() == [], done.stderr
    keys = [one["Key"] for one in s3.list_objects_v2(Bucket=BUCKET)["Contents"]]
    assert sorted(key.split("/")[1] for key in keys) == ["neuron_power", "neuron_power", "runs", "runs"]


def test_cloud_storage_takes_files_and_replaces_a_record(tmp_path: Path) -> None:
    must_be_installed()
    from google.api_core.client_options import ClientOptions
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import storage

    with storage_emulator(tmp_path) as url:
        client = storage.Client("acme", client_options=ClientOptions(api_endpoint=url), credentials=AnonymousCredentials())
        bucket = client.create_bucket("acme-recorded")
        target = open_target("gs://acme-recorded/p", Options(endpoint_url=url))
        for text in ("first", "second"):
            (tmp_path / "file").write_text(text)
            target.deliver(tmp_path / "file", "neuron_power/a.jsonl")
            target.deliver(tmp_path / "file", "runs/a.run.json", replaces=True)
        assert bucket.blob("p/neuron_power/a.jsonl").exists()
        assert bucket.blob("p/runs/a.run.json").download_as_bytes() == b"second"


def test_a_file_that_cloud_storage_has_already_is_delivered_and_a_record_is_written_over_the_last(tmp_path: Path) -> None:
    """The emulator has no conditions, so this server only refuses them."""
    (tmp_path / "file").write_text("lines")
    asked: list[str] = []
    with answering({}, {}, otherwise=412, asked=asked) as address:
        target = open_target("gs://acme-recorded/p", Options(endpoint_url=f"http://{address}"))
        target.deliver(tmp_path / "file", "neuron_power/a.jsonl")
        target.deliver(tmp_path / "file", "runs/a.run.json", replaces=True)
    assert ["ifGenerationMatch=0" in one for one in asked] == [True, False]


def test_after_failures_it_waits_longer_and_longer_with_one_message_and_begins_again_at_once_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    time, messages, results = [0.0], list[str](), [75, 75, 75, 0]

    class Ended:
        """An upload that has ended."""

        def __init__(self, *_: object, **__: object) -> None:
            self.returncode = results.pop(0)
            self.stderr = None

        def poll(self) -> int:
            return self.returncode

    monkeypatch.setattr("trainledger_recorder.uploads.subprocess.Popen", Ended)
    uploads = Uploads(tmp_path, "own", LOCATION, Options(), lambda: time[0], messages.append, spread=lambda: 1.0)
    waits = []
    for _ in range(3):
        uploads.turn()
        uploads.turn()
        waits.append((uploads.due() or 0.0) - time[0])
        time[0] = uploads.due() or 0.0
    assert waits == [2.0, 4.0, 8.0]
    uploads.ask(now=True)
    uploads.turn()
    uploads.turn()
    assert uploads.is_done and uploads.due() is None
    assert [text.partition(" ")[0] for text in messages] == ["nothing", "what"]


def test_a_role_is_assumed_with_its_external_id_and_delivers_with_its_own_credentials(
    s3: Any, endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, Any, str]] = []
    call = botocore.client.BaseClient._make_api_call

    def watched(client: Any, operation: str, options: Any) -> Any:
        asked.append((operation, options, client._request_signer._credentials.access_key))
        return call(client, operation, options)

    monkeypatch.setattr(botocore.client.BaseClient, "_make_api_call", watched)
    (tmp_path / "file").write_text("lines")
    role = "arn:aws:iam::123456789012:role/recorder"
    target = open_target(LOCATION, Options(role_arn=role, external_id="planted", endpoint_url=endpoint))
    for key in ("neuron_power/a.jsonl", "neuron_power/b.jsonl"):
        target.deliver(tmp_path / "file", key)
    assert [operation for operation, _, _ in asked] == ["AssumeRole", "PutObject", "PutObject"]
    assert (asked[0][1]["RoleArn"], asked[0][1]["ExternalId"]) == (role, "planted")
    assert asked[0][2] == "planted-key-id" and asked[1][2] == asked[2][2] != "planted-key-id"


def test_what_a_store_refuses_is_named_by_its_code_and_what_to_grant(s3: Any, endpoint: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("lines")
    with pytest.raises(DeliveryError, match=r"s3://absent/x/a: PutObject failed with NoSuchBucket\. Check the name of bucket"):
        open_target("s3://absent/x", Options(endpoint_url=endpoint)).deliver(tmp_path / "file", "a")
    with answering({}, {}, otherwise=403) as address:
        for location, granted in (("s3://b/x", "s3:PutObject"), ("gs://bucket/x", "storage.objects.create")):
            with pytest.raises(DeliveryError, match=f"^{location}/a: .* failed with .*Grant {granted}"):
                open_target(location, Options(endpoint_url=f"http://{address}")).deliver(tmp_path / "file", "a")
