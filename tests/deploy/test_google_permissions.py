"""The roles of deploy/google have the permissions of the calls that the code makes, and no other.

Calls are recorded as Google's unmodified clients send them to fakes: BigQuery's over HTTP and gRPC, Cloud Storage's over HTTP.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

pytest.importorskip("google.cloud.bigquery", reason="google-cloud-bigquery is not installed")

from connectors.stores import StoreOptions
from connectors.stores.opening import open_bucket, open_store
from dagster_project.commands.providers import source_folder
from dagster_project.doctor.examination import diagnose
from dagster_project.warehouse.home import Home
from tests.bigquery.exported import TABLE, Exported
from tests.connectors.gcp import CARBON, EMISSION, line
from tests.landing.kit import Organisation, hour, instant

# what Google asks for: https://docs.cloud.google.com/bigquery/docs/access-control and .../storage/docs/access-control/iam-json
PERMISSIONS = {
    r"POST /bigquery/v2/projects/[^/]+/(queries|jobs)": "bigquery.jobs.create",
    r"GET /bigquery/v2/projects/[^/]+/(queries|jobs)/[^/]+": None,  # of a job of one's own
    r"GET /bigquery/v2/projects/[^/]+/datasets/[^/]+/tables/[^/]+": "bigquery.tables.get",
    r"GET /bigquery/v2/projects/[^/]+/datasets/[^/]+/tables/[^/]+/data": "bigquery.tables.getData",
    r"POST /bigquery/v2/.*:testIamPermissions": None,
    r"GET /storage/v1/b/[^/]+/o": "storage.objects.list",
    r"GET /download/storage/v1/b/[^/]+/o/[^/]+": "storage.objects.get",
    r"POST /upload/storage/v1/b/[^/]+/o": "storage.objects.create",  # over an object that is there also delete
    r"DELETE /storage/v1/b/[^/]+/o/[^/]+": "storage.objects.delete",
}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Permissions that the calls over HTTP ask for; a call that is not in the table is an error."""
    from requests.adapters import HTTPAdapter

    seen: set[str] = set()
    original = HTTPAdapter.send

    def noting(self: Any, request: Any, **options: Any) -> Any:
        called = f"{request.method} {request.path_url.partition('?')[0]}"
        [permission] = [found for form, found in PERMISSIONS.items() if re.fullmatch(form, called)]
        seen.update({permission} - {None})
        return original(self, request, **options)

    monkeypatch.setattr(HTTPAdapter, "send", noting)
    return seen


def permissions_of(*roles: str) -> set[str]:
    return {
        one
        for role in roles
        for one in json.loads((source_folder("google") / f"{role}-role.json").read_text())["includedPermissions"]
    }


def asked_of(exported: Exported) -> set[str]:
    """What the texts of the queries and the calls over gRPC ask for."""
    found = {"bigquery.tables.getData" for text in exported.statements}
    found |= {"bigquery.tables.list" for text in exported.statements if "INFORMATION_SCHEMA.PARTITIONS" in text}
    found |= {"bigquery.readsessions.create"} if exported.storage.sessions else set()
    return found | ({"bigquery.readsessions.getData"} if exported.storage.offsets else set())


def test_roles_on_tables_have_the_permissions_that_a_refresh_and_doctor_ask_for_and_no_other(
    calls: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-20T00:00:00Z")
    monkeypatch.setattr("dagster_project.doctor.examination._questions", lambda *_: iter(()))  # those ask no store
    day = [line(**hour("2026-04-10T06:00", export_time=instant("2026-04-11")))]
    bill = Exported({"2026-04-10": day})
    carbon = Exported(
        {"2026-04-01": [EMISSION]},
        schema=CARBON,
        more={
            "timePartitioning": {"type": "MONTH", "field": "usage_month"},
            "location": "EU",
            "lastModifiedTime": "1781000000000",
        },
        written={"202604": instant("2026-05-15")},
    )
    for kind, exported in (("gcp_billing", bill), ("gcp_carbon", carbon)):
        with exported.serving(monkeypatch) as url:
            source = {"name": "google", "kind": kind, "location": f"bq://{TABLE}", "endpoint_url": url}
            organisation = Organisation(tmp_path / kind, source)
            assert diagnose(Home.of(organisation.settings), lambda _: None) == 0
            assert organisation.outcomes() == {"landed": 1}
        calls |= asked_of(exported)
    assert calls == permissions_of("query", "tables")


class OneObject(BaseHTTPRequestHandler):
    """A bucket with one object."""

    def do_GET(self) -> None:
        item = {"name": "runs/a.run.json", "size": "3", "generation": "1", "timeCreated": "2026-04-01T00:00:00Z"}
        content = b"abc" if self.path.startswith("/download") else json.dumps({"items": [item]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    do_DELETE = do_GET

    def log_message(self, *_: Any) -> None:
        """Nothing on the terminal of the tests."""


@pytest.fixture
def bucket() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), OneObject)
    Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_the_role_on_a_bucket_has_the_permissions_of_listing_and_reading_and_no_other(
    calls: set[str], bucket: str, tmp_path: Path
) -> None:
    store = open_store("gs://acme-runs/runs", base=tmp_path, options=StoreOptions(endpoint_url=bucket))
    [found] = store.list_objects()
    store.fetch(found, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"abc"
    assert calls == permissions_of("objects")


def test_the_role_on_a_landing_has_the_permissions_of_keeping_objects_and_no_other(
    calls: set[str], bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", bucket)
    landing, copy = open_bucket("gs://acme-landing/ledger"), tmp_path / "copy"
    assert len(list(landing.list_objects())) == 1
    landing.download_hashed("runs/a.run.json", copy)
    landing.upload(copy, "runs/b.run.json")
    assert landing.put_new("runs/_generation.json", b"{}")
    landing.put("runs/accepted.json", landing.get("runs/a.run.json"))
    landing.delete("runs/b.run.json")
    assert calls == permissions_of("landing")
