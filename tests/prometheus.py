"""A real Prometheus for tests, over blocks that promtool writes. Without one: a failure under CI, a listed skip elsewhere."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from typing import NamedTuple
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.browser import free_port

PASSWORD = "test"
# of that word, from the page on web configuration of Prometheus' exporter toolkit
_BCRYPT = "$2b$12$hNf2lSsxfm0.i4a.1kVpSOVyBCfIB51VRjgBUyv6kdnyTlgWj81Ay"


class Server(NamedTuple):
    """A server that answers: host, port and prefix as a location has them, and its process."""

    address: str
    process: subprocess.Popen[bytes]


def write_blocks(folder: Path, lines: Iterable[str]) -> Path:
    """A server's data of OpenMetrics text with times: lines of a metric together."""
    if not shutil.which("promtool"):
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no Prometheus here; `make test` installs it where it may")
    folder.mkdir(parents=True, exist_ok=True)
    text, data = folder / "metrics.txt", folder / "data"
    with text.open("w") as file:
        file.writelines(f"{line}\n" for line in lines)
        file.write("# EOF\n")
    made = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=744h", str(text), str(data)]
    subprocess.run(made, check=True, capture_output=True)
    text.unlink()
    return data


def write_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate for this machine, which is its own authority, and its key."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "a test")])
    begins = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, begins, begins + dt.timedelta(days=36500))
    signed = made.add_extension(names, critical=False).add_extension(x509.BasicConstraints(True, None), critical=True)
    certificate, private = folder / "certificate.pem", folder / "key.pem"
    certificate.write_bytes(signed.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    private.write_bytes(key.private_bytes(*form))
    return certificate, private


@contextmanager
def prometheus(folder: Path, *options: str, port: int | None = None, is_guarded: bool = False) -> Iterator[Server]:
    """The server of a folder's data until the block ends; guarded by TLS and a password below the prefix /metrics-of/a."""
    port = port or free_port()
    (folder / "prometheus.yml").write_text("global: {}\n")
    command = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data", *options]
    command += [f"--web.listen-address=127.0.0.1:{port}", "--storage.tsdb.retention.time=100y", "--log.level=warn"]
    address, scheme = f"127.0.0.1:{port}", "http"
    if is_guarded:
        certificate, key = write_certificate(folder)
        tls = f"tls_server_config: {{cert_file: {certificate}, key_file: {key}}}\n"
        (folder / "web.yml").write_text(f"{tls}basic_auth_users: {{reader: {_BCRYPT}}}\n")
        address, scheme = f"{address}/metrics-of/a", "https"
        command += [f"--web.config.file={folder}/web.yml", f"--web.external-url={scheme}://{address}/"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stderr=log, stdout=log)
    try:
        while not _is_ready(f"{scheme}://{address}/-/ready"):
            assert process.poll() is None, (folder / "log").read_text()
            time.sleep(0.05)
        yield Server(address, process)
    finally:
        process.terminate()
        process.wait(timeout=60)


def _is_ready(url: str) -> bool:
    try:
        return bool(urlopen(url).status == 200)
    except HTTPError as error:
        return error.code == 401  # it is ready to ask for the password
    except URLError as error:
        return "CERTIFICATE_VERIFY_FAILED" in str(error)


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """A server that answers as the handler does; its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
