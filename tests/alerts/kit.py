"""A mail server and a web server of this machine that take what alerts send, and a configuration that sends to them."""

from __future__ import annotations

import datetime as dt
import email
import ipaddress
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import Message as Letter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

USER, PASSWORD, TOKEN = "ledger-user", "pass-Wort-4711", "T000-s3cr3t-token"
SECRETS = (USER, PASSWORD, TOKEN)


@dataclass
class Received:
    """What arrived, and how the servers answer: 0 is as they should."""

    letters: list[Letter] = field(default_factory=list)
    calls: list[Any] = field(default_factory=list)
    http_status: int = 200
    port: int = 0  # of the mail server
    url: str = ""

    @property
    def subjects(self) -> list[str]:
        unfolded = (" ".join(str(letter["Subject"]).split()) for letter in self.letters)
        return [subject.removeprefix("[trainledger] ") for subject in unfolded]

    @property
    def titles(self) -> list[str]:
        return [call["title"] for call in self.calls]

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        assert session.ssl and session.authenticated
        self.letters.append(email.message_from_bytes(envelope.content))
        return "250 taken"


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of this machine that its own key signed; who trusts it names its file in SSL_CERT_FILE."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    begins = dt.datetime.now(dt.UTC) - dt.timedelta(days=1)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), begins, begins + dt.timedelta(days=9))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    paths[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return paths


@contextmanager
def servers(folder: Path) -> Iterator[Received]:
    """A mail server that wants STARTTLS and a login, and a web server, for as long as the block runs."""
    received, context = Received(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate(folder))

    def login(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        return AuthResult(success=(data.login, data.password) == (USER.encode(), PASSWORD.encode()), handled=False)

    class Web(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if received.http_status == 200 and self.path.endswith(TOKEN):
                received.calls.append(json.loads(body))
            self.send_response(received.http_status)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    web = ThreadingHTTPServer(("127.0.0.1", 0), Web)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    with socket.create_server(("127.0.0.1", 0)) as free:
        received.port = free.getsockname()[1]
    mail = Controller(
        received,
        hostname="127.0.0.1",
        port=received.port,
        tls_context=context,
        require_starttls=True,
        authenticator=login,
        auth_required=True,
    )
    mail.start()
    received.url = f"http://127.0.0.1:{web.server_address[1]}/services/{TOKEN}"
    try:
        yield received
    finally:
        mail.stop()
        web.shutdown()
        web.server_close()


def environment(received: Received, folder: Path) -> dict[str, str]:
    """The variables that the configuration names, and the certificate that is trusted."""
    names = {"TEST_URL": received.url, "TEST_USER": USER, "TEST_PASSWORD": PASSWORD}
    return {**names, "SSL_CERT_FILE": str(folder / "certificate.pem")}


def alerts_of(received: Received, **more: Any) -> dict[str, Any]:
    """`alerts:` with both ways."""
    mail = {"host": "localhost", "port": received.port, "sender": "ledger@example.com", "to": ["team@example.com"]}
    login = {"user_env": "TEST_USER", "password_env": "TEST_PASSWORD"}
    return {"webhook": {"url_env": "TEST_URL"}, "mail": {**mail, **login}, **more}
