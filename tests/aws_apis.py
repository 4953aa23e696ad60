"""Three APIs of AWS on a local port, as their service models describe what goes over the wire: boto3's own clients ask them.

Cost Explorer and Data Exports are JSON over POST with a target in a header, Sustainability has paths, STS answers in XML. What a
server answers is given; what it was asked is kept. It is no AWS: it checks no signature and knows no page but those given.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

ACCOUNT = "000000000017"
_STS = "https://sts.amazonaws.com/doc/2011-06-15/"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error as AWS answers it."""

    status: int
    code: str
    message: str = "User: arn:aws:iam::000000000017:user/planted is not allowed"


@dataclass
class Apis:
    """What is answered by the name of an operation: an answer, or a function of the request."""

    answers: dict[str, Any] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # operation and request

    def requests(self, operation: str) -> list[dict[str, Any]]:
        return [request for name, request in self.asked if name == operation]

    def answer(self, operation: str, request: dict[str, Any]) -> Any:
        self.asked.append((operation, request))
        found = self.answers.get(operation, Refusal(404, "UnknownOperationException"))
        return found(request) if isinstance(found, Callable) else found  # type: ignore[arg-type]

    @contextmanager
    def serving(self) -> Iterator[str]:
        """The address, until the block ends."""
        apis = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                assert self.headers["Authorization"].startswith("AWS4-HMAC-SHA256 ")
                if target := self.headers.get("X-Amz-Target"):
                    self._json(apis.answer(target.rpartition(".")[2], json.loads(body)))
                elif self.path == "/":
                    self._xml({name: values[0] for name, values in parse_qs(body.decode()).items()})
                else:
                    name = "".join(part.capitalize() for part in self.path.rpartition("/")[2].split("-"))
                    self._json(apis.answer(f"Get{name}", json.loads(body)))

            def _json(self, answer: Any) -> None:
                if isinstance(answer, Refusal):
                    self._send(
                        answer.status, {"__type": answer.code, "message": answer.message, "Message": answer.message}, answer.code
                    )
                else:
                    self._send(200, answer)

            def _send(self, status: int, document: Mapping[str, Any], error: str = "") -> None:
                self._write(status, json.dumps(document).encode(), "application/x-amz-json-1.1", error)

            def _xml(self, request: dict[str, str]) -> None:
                action = request["Action"]
                apis.asked.append((action, request))
                if action == "AssumeRole":
                    result = (
                        "<Credentials><AccessKeyId>ASIAPLANTED</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"
                        "<SessionToken>t</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials>"
                    )
                else:
                    result = f"<Arn>arn:aws:iam::{ACCOUNT}:user/planted</Arn><UserId>u</UserId><Account>{ACCOUNT}</Account>"
                text = f'<{action}Response xmlns="{_STS}"><{action}Result>{result}</{action}Result></{action}Response>'
                self._write(200, text.encode(), "text/xml")

            def _write(self, status: int, content: bytes, type_: str, error: str = "") -> None:
                self.send_response(status)
                self.send_header("Content-Type", type_)
                self.send_header("Content-Length", str(len(content)))
                if error:
                    self.send_header("x-amzn-ErrorType", error)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                """Silent."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def costs(month: str, end: str, *groups: tuple[str, str], estimated: bool = False, token: str | None = None) -> dict[str, Any]:
    """A page of Cost Explorer's answer about a month."""
    page: dict[str, Any] = {
        "GroupDefinitions": [{"Type": "DIMENSION", "Key": "RECORD_TYPE"}],
        "ResultsByTime": [
            {
                "TimePeriod": {"Start": f"{month}-01", "End": f"{end}-01"},
                "Total": {},
                "Groups": [
                    {"Keys": [name], "Metrics": {"UnblendedCost": {"Amount": amount, "Unit": "USD"}}} for name, amount in groups
                ],
                "Estimated": estimated,
            }
        ],
        "DimensionValueAttributes": [],
    }
    return page | ({"NextPageToken": token} if token else {})


def water(year: int, m3: float, version: str = "v1.0.0", **dimensions: str) -> dict[str, Any]:
    """A group of Sustainability's answer about a year: what was withdrawn."""
    return {
        "TimePeriod": {"Start": f"{year}-01-01T00:00:00Z", "End": f"{year + 1}-01-01T00:00:00Z"},
        "DimensionsValues": {"USAGE_ACCOUNT_ID": "012345678901", "REGION": "us-east-1"} | dimensions,
        "ModelVersion": version,
        "AllocationValues": {"TOTAL_WATER_WITHDRAWALS": {"Value": m3, "Unit": "m3"}},
    }


def emissions(month: str, end: str, tonnes: float, version: str = "v3.0.1", **dimensions: str) -> dict[str, Any]:
    """A group of Sustainability's answer: all of it Scope 2."""
    masses = {
        "LBM": tonnes,
        "MBM": 0.0,
        "SCOPE_1": 0.0,
        "SCOPE_2_LBM": tonnes,
        "SCOPE_2_MBM": 0.0,
        "SCOPE_3_LBM": 0.0,
        "SCOPE_3_MBM": 0.0,
    }
    return {
        "TimePeriod": {"Start": f"{month}-01T00:00:00Z", "End": f"{end}-01T00:00:00Z"},
        "DimensionsValues": {"USAGE_ACCOUNT_ID": "012345678901", "REGION": "us-east-1", "SERVICE": "AmazonEC2"} | dimensions,
        "ModelVersion": version,
        "EmissionsValues": {
            f"TOTAL_{name}_CARBON_EMISSIONS": {"Value": value, "Unit": "MTCO2e"} for name, value in masses.items()
        },
    }
