"""gs:// through the unmodified client: listing, fetching and landing from a running server; conditions from a small fake."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("google.cloud.storage", reason="google-cloud-storage is not installed")

from google.api_core.client_options import ClientOptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import storage
from typer.testing import CliRunner

from connectors.errors import ExportChangedError, ExportContentError, SourceUnreadableError
from connectors.stores import ObjectInfo, StoreOptions
from connectors.stores.gcs import BucketStore
from connectors.stores.opening import open_bucket, open_store
from dagster_project.cli import app
from tests.bigquery.servers import must_be_installed, storage_emulator
from tests.landing.kit import Organisation, instant

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    must_be_installed()
    with storage_emulator(tmp_path_factory.mktemp("storage")) as url:
        yield url


@pytest.fixture(scope="module")
def bucket(server: str) -> storage.Bucket:
    client = storage.Client("acme", client_options=ClientOptions(api_endpoint=server), credentials=AnonymousCredentials())
    return client.create_bucket("acme-exports")


def store_at(url: str, prefix: str = "") -> BucketStore:
    store = open_store(f"gs://acme-exports/{prefix}", base=Path(), options=StoreOptions(endpoint_url=url))
    assert isinstance(store, BucketStore)
    return store


def test_objects_are_listed_in_the_order_of_their_keys_below_a_prefix(server: str, bucket: storage.Bucket) -> None:
    for key in ("list/b", "list/a/x", "list/Zürich", "list/folder/", "list2/not-ours"):
        bucket.blob(key).upload_from_string(b"abc")
    infos = list(store_at(server, "list").list_objects())
    assert [(info.key, info.size) for info in infos] == [("Zürich", 3), ("a/x", 3), ("b", 3)]
    assert [info.key for info in store_at(server, "list/").list_objects("a/")] == ["a/x"]
    assert infos[0].etag.isdecimal() and infos[0].last_modified.tzinfo is not None


def test_a_fetched_object_has_its_bytes_and_sha256(server: str, bucket: storage.Bucket, tmp_path: Path) -> None:
    content = bytes(range(256)) * 9000
    bucket.blob("fetch/big.parquet").upload_from_string(content)
    store = store_at(server, "fetch")
    [info] = store.list_objects()
    assert store.fetch(info, tmp_path / "copy") == hashlib.sha256(content).hexdigest()
    assert (tmp_path / "copy").read_bytes() == content
    assert store.uri_of(info.key) == "gs://acme-exports/fetch/big.parquet"
    with pytest.raises(ExportContentError, match="limit"):
        store.read(info, 10)


def test_an_object_that_was_removed_after_the_listing_changed(server: str, bucket: storage.Bucket, tmp_path: Path) -> None:
    bucket.blob("gone/a.parquet").upload_from_string(b"abc")
    store = store_at(server, "gone")
    [info] = store.list_objects()
    bucket.blob("gone/a.parquet").delete()
    with pytest.raises(ExportChangedError):
        store.fetch(info, tmp_path / "copy")


def test_a_bucket_that_is_not_there_is_reported(server: str) -> None:
    with pytest.raises(SourceUnreadableError) as caught:
        list(open_store("gs://acme-typo/x", base=Path(), options=StoreOptions(endpoint_url=server)).list_objects())
    assert caught.value.reason == "missing_bucket"


def test_an_export_in_a_bucket_is_landed_with_the_bytes_it_has_in_a_folder(
    server: str, bucket: storage.Bucket, tmp_path: Path
) -> None:
    of_files = Organisation(tmp_path / "files", {"name": "google", "kind": "gcp_billing"})
    of_files.deliver_google("2026-04-01", {}, {"cost": 2.0}, at="2026-04-02")
    folder = tmp_path / "files/exports/google"
    for path in folder.rglob("*.parquet"):
        bucket.blob(f"bill/{path.relative_to(folder).as_posix()}").upload_from_filename(str(path))
    source = {"name": "google", "kind": "gcp_billing", "location": "gs://acme-exports/bill", "endpoint_url": server}
    of_bucket = Organisation(tmp_path / "bucket", source)
    [in_files], [in_bucket] = of_files.refresh(), of_bucket.refresh()
    assert in_files.generation and in_bucket.generation
    assert in_bucket.generation.content_hash == in_files.generation.content_hash
    assert of_bucket.refresh() == []


class Conditional(BaseHTTPRequestHandler):
    """One object in generation 7, with the conditions and refusals that the emulator does not know."""

    asked: ClassVar[list[str]] = []
    status = 200
    checksum = ""

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        self.asked.append(self.path)
        status, content = type(self).status, b"seven"
        if query.get("ifGenerationMatch", ["7"]) != ["7"]:
            status = 412
        if status != 200:
            reason = {403: "forbidden", 412: "conditionNotMet", 429: "rateLimitExceeded"}[status]
            error = {"code": status, "message": "no", "errors": [{"reason": reason, "message": "no"}]}
            content = json.dumps({"error": error}).encode()
        self.send_response(status)
        if type(self).checksum:
            self.send_header("X-Goog-Hash", type(self).checksum)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, *_: Any) -> None:
        """Nothing on the terminal of the tests."""


@pytest.fixture
def conditional() -> Iterator[tuple[str, type[Conditional]]]:
    handler = type("Handler", (Conditional,), {"asked": [], "status": 200, "checksum": ""})
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=http.serve_forever, args=[0.01], daemon=True).start()
    yield f"http://127.0.0.1:{http.server_port}", handler
    http.shutdown()
    http.server_close()


def info_of(generation: int) -> ObjectInfo:
    return ObjectInfo("a.parquet", 5, str(generation), instant("2026-04-01"))


def test_an_object_of_another_generation_is_not_read(conditional: Any, tmp_path: Path) -> None:
    url, handler = conditional
    store = store_at(url)
    assert store.fetch(info_of(7), tmp_path / "copy") == hashlib.sha256(b"seven").hexdigest()
    with pytest.raises(ExportChangedError, match=r"gs://acme-exports/a\.parquet changed"):
        store.fetch(info_of(6), tmp_path / "copy")
    objects = [urlsplit(path) for path in handler.asked]
    assert [(one.path, parse_qs(one.query)["ifGenerationMatch"]) for one in objects] == [
        ("/download/storage/v1/b/acme-exports/o/a.parquet", [generation]) for generation in "76"
    ]


@pytest.mark.parametrize(("act", "permission"), [("list", "storage.objects.list"), ("read", "storage.objects.get")])
def test_a_missing_permission_names_its_role(conditional: Any, tmp_path: Path, act: str, permission: str) -> None:
    url, handler = conditional
    handler.status = 403
    store = store_at(url)
    with pytest.raises(SourceUnreadableError) as caught:
        list(store.list_objects()) if act == "list" else store.fetch(info_of(7), tmp_path / "copy")
    assert caught.value.reason == "permission_denied"
    assert permission in caught.value.remedy and "roles/storage.objectViewer" in caught.value.remedy


def test_of_two_writers_of_a_landing_the_second_finds_the_key_taken_and_whoever_may_not_write_is_shown_the_role(
    conditional: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, handler = conditional
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", url)
    bucket = open_bucket("gs://acme-landing/ledger")
    assert bucket.put_new("cur/_generation.json", b"{}") is False  # generation 0 is asked for, and there is one
    assert "ifGenerationMatch=0" in handler.asked[-1]
    handler.status = 403
    with pytest.raises(SourceUnreadableError) as caught:
        bucket.put("cur/_generation.json", b"{}")
    assert "storage.objects.create and storage.objects.delete" in caught.value.remedy
    assert "roles/storage.objectUser" in caught.value.remedy


def test_doctor_names_the_role_that_a_bucket_wants_before_a_refresh_meets_it(conditional: Any, tmp_path: Path) -> None:
    url, handler = conditional
    handler.status = 403
    source = {"name": "google", "kind": "gcp_billing", "location": "gs://acme-exports/bill", "endpoint_url": url}
    config = tmp_path / "trainledger.yaml"
    config.write_text(json.dumps({"organisation": {"name": "Example AG"}, "home": "./home", "sources": [source]}))
    result = CliRunner().invoke(app, ["doctor", "--json", "--config", str(config)])
    [stated] = [check for check in json.loads(result.stdout)["checks"] if check["about"] == "google"]
    assert (result.exit_code, stated["outcome"], stated["facts"]) == (3, "problem", {"reason": "permission_denied"})
    assert "roles/storage.objectViewer" in stated["remedy"]


def test_bytes_that_are_not_those_stored_are_not_taken(conditional: Any, tmp_path: Path) -> None:
    url, handler = conditional
    handler.checksum = "crc32c=AAAAAA==,md5=1B2M2Y8AsgTpgAmY7PhCfg=="  # of no bytes
    with pytest.raises(SourceUnreadableError) as caught:
        store_at(url).fetch(info_of(7), tmp_path / "copy")
    assert caught.value.reason == "broken_stream"
    assert list(tmp_path.iterdir()) == []
