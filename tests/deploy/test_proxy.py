"""The proxy of a deployment, as Caddy runs it: Dagster's pages and the page of the ledger, neither without the login."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.browser import free_port

CADDYFILE = Path(__file__).resolve().parents[2] / "deploy" / "Caddyfile"
# of "open sesame", by as few rounds as bcrypt has
LOGIN = {"LOGIN_USER": "ana", "LOGIN_HASH": "$2a$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy"}
pytestmark = pytest.mark.slow


class Pages(BaseHTTPRequestHandler):
    """In Dagster's place."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"Dagster's {self.path}".encode())

    def log_message(self, *_: object) -> None:
        """Nothing on the terminal of the tests."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running proxy, on a folder with a page, its data and a file that is not finished."""
    if not (caddy := shutil.which("caddy")):
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no Caddy on this machine; `make test` installs it where it may")
    folder, port = tmp_path_factory.mktemp("proxy"), free_port()
    (ledger := folder / "ledger").mkdir()
    for name in ("index.html", "month-2026-05-a.js", ".index.html.tmp"):
        (ledger / name).write_text(f"the ledger's {name}")
    (folder / "trainledger.duckdb").write_text("every row")
    pages = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    Thread(target=pages.serve_forever, args=[0.01], daemon=True).start()
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "LEDGER": str(ledger), **LOGIN}
    environment |= {"SITE": f"http://127.0.0.1:{port}", "PAGES": f"127.0.0.1:{pages.server_port}"}
    adapted = subprocess.run([caddy, "adapt", "--config", CADDYFILE], env=environment, capture_output=True, check=True)
    config = folder / "caddy.json"
    config.write_text(json.dumps({**json.loads(adapted.stdout), "admin": {"disabled": True}}))  # its port is another's
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([caddy, "run", "--config", config], env=environment, stdout=log, stderr=log)
    try:
        until = time.monotonic() + 30
        while asked(f"http://127.0.0.1:{port}/") is None:
            assert process.poll() is None and time.monotonic() < until, (folder / "log").read_text()
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()
        pages.shutdown()
        pages.server_close()


def asked(url: str, login: str = "") -> tuple[int, str] | None:
    """Status and text of an answer; None where nobody listens."""
    headers = {"Authorization": f"Basic {b64encode(login.encode()).decode()}"} if login else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""
    except (urllib.error.URLError, ConnectionError):
        return None


@pytest.mark.parametrize("path", ["/", "/ledger", "/ledger/", "/ledger/month-2026-05-a.js", "/graphql"])
def test_without_the_login_nothing_is_shown(site: str, path: str) -> None:
    assert asked(site + path) == (401, "")
    assert asked(site + path, "ana:open barley") == (401, "")


def test_with_the_login_there_are_dagsters_pages_and_below_ledger_its_page_with_its_data(site: str) -> None:
    login = "ana:open sesame"
    assert asked(f"{site}/runs?a=1", login) == (200, "Dagster's /runs?a=1")
    assert asked(f"{site}/ledgers", login) == (200, "Dagster's /ledgers")
    for path in ("/ledger", "/ledger/"):
        assert asked(site + path, login) == (200, "the ledger's index.html")
    assert asked(f"{site}/ledger/month-2026-05-a.js", login) == (200, "the ledger's month-2026-05-a.js")
    assert asked(f"{site}/ledger/.index.html.tmp", login) == (404, "")
    for above in ("/ledger/../trainledger.duckdb", "/ledger/%2e%2e/trainledger.duckdb", "/ledger/%2e%2e%2ftrainledger.duckdb"):
        found = asked(site + above, login)
        assert found and "every row" not in found[1], above
