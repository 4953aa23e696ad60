"""Who asks a server of metrics: signatures that the server checks by itself, Google's login, bearer tokens; addresses."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from connectors.errors import SourceUnreadableError
from connectors.power.promql import QUESTIONS
from connectors.stores import StoreOptions
from connectors.stores.opening import open_store
from connectors.stores.prometheus_access import place_of
from tests.connectors.test_connector_prometheus import answer
from tests.prometheus import serving

pytestmark = pytest.mark.slow

POWER = "DCGM_FI_DEV_POWER_USAGE"
KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
BODY = json.dumps(answer(({"gpu": "0", "instance_id": "i-1"}, [(1, 300)]))).encode()
NAMES = json.dumps({"status": "success", "data": [POWER]}).encode()
Check = Callable[[BaseHTTPRequestHandler], bool]


@contextmanager
def checked(
    check: Check, posted: Callable[[BaseHTTPRequestHandler, bytes], bytes] | None = None
) -> Iterator[tuple[str, list[str]]]:
    """A server of metrics that answers whom a check lets in; its address, and the paths that were asked."""
    asked: list[str] = []

    class Guarded(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            is_allowed = check(self)
            self.answer(200 if is_allowed else 403, (BODY if "query_range" in self.path else NAMES) if is_allowed else b"{}")

        def do_POST(self) -> None:
            assert posted is not None
            self.answer(200, posted(self, self.rfile.read(int(self.headers["Content-Length"]))))

        def answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    with serving(Guarded) as port:
        yield f"http://127.0.0.1:{port}", asked


def fetched(location: str, folder: Path, **more: Any) -> list[str]:
    """List a day, fetch the GPUs' part of it, and return the keys that were listed."""
    options = StoreOptions(
        source="metrics-1", questions=QUESTIONS, first_day=dt.date(2026, 4, 1), end_day=dt.date(2026, 4, 2), **more
    )
    store = open_store(location, base=Path(), options=options)
    listed = list(store.list_objects())
    store.fetch(next(info for info in listed if "dcgm" in info.key), folder / "day")
    return [info.key for info in listed]


def is_signed(request: BaseHTTPRequestHandler, service: str, key: str = KEY, secret: str = SECRET) -> bool:
    """Whether a request has AWS's signature, version 4, for us-east-1: worked out from what came, as AWS describes it."""
    algorithm, _, rest = request.headers["Authorization"].partition(" ")
    parts = dict(one.strip().split("=", 1) for one in rest.split(","))
    stamp = request.headers["X-Amz-Date"]
    scope = f"{stamp[:8]}/us-east-1/{service}/aws4_request"
    path, _, query = request.path.partition("?")
    pairs = sorted(
        (quote(name, safe="-_.~"), quote(value, safe="-_.~")) for name, value in parse_qsl(query, keep_blank_values=True)
    )
    names = parts["SignedHeaders"].split(";")
    assert "host" in names and "x-amz-date" in names
    canonical = "\n".join(
        [
            request.command,
            quote(unquote(path), safe="/-_.~"),
            "&".join(f"{name}={value}" for name, value in pairs),
            *(f"{name}:{request.headers[name].strip()}" for name in names),
            "",
            parts["SignedHeaders"],
            hashlib.sha256(b"").hexdigest(),
        ]
    )
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    signing = f"AWS4{secret}".encode()
    for word in scope.split("/"):
        signing = hmac.digest(signing, word.encode(), "sha256")
    expected = hmac.digest(signing, text.encode(), "sha256").hex()
    return (algorithm, parts["Credential"], parts["Signature"]) == ("AWS4-HMAC-SHA256", f"{key}/{scope}", expected)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_SESSION_TOKEN", "AWS_PROFILE", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)


def test_cloudwatch_is_asked_signed_for_half_days_and_for_every_metric(tmp_path: Path) -> None:
    with checked(lambda request: is_signed(request, "monitoring")) as (url, asked):
        keys = fetched("prom+aws://us-east-1", tmp_path, endpoint_url=url)
    assert keys == [f"2026-04-01/{name}.jsonl.zst" for name in dict.fromkeys(one.exporter for one in QUESTIONS)]
    gpus = sum(question.exporter == "dcgm" for question in QUESTIONS)
    assert len(asked) == 2 * gpus and all(path.startswith("/api/v1/query_range?query=") for path in asked)


def test_managed_prometheus_is_asked_signed_below_its_workspace_by_the_role(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def assumed(request: BaseHTTPRequestHandler, body: bytes) -> bytes:
        form = dict(parse_qsl(body.decode()))
        assert (form["Action"], form["RoleArn"], form["ExternalId"]) == ("AssumeRole", "arn:aws:iam::123456789012:role/r", "x-1")
        given = "<AccessKeyId>AKIDROLE</AccessKeyId><SecretAccessKey>of-the-role</SecretAccessKey><SessionToken>t</SessionToken>"
        given += "<Expiration>2099-01-01T00:00:00Z</Expiration>"
        result = f"<AssumeRoleResult><Credentials>{given}</Credentials></AssumeRoleResult>"
        return f'<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">{result}</AssumeRoleResponse>'.encode()

    def check(request: BaseHTTPRequestHandler) -> bool:
        return request.headers["X-Amz-Security-Token"] == "t" and is_signed(request, "aps", "AKIDROLE", "of-the-role")

    with checked(check, assumed) as (url, asked):
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", url)
        role = {"role_arn": "arn:aws:iam::123456789012:role/r", "external_id": "x-1"}
        assert fetched("prom+aws://us-east-1/ws-12ab", tmp_path, endpoint_url=url, **role) == ["2026-04-01/dcgm.jsonl.zst"]
    assert {urlsplit(path).path for path in asked} == {
        "/workspaces/ws-12ab/api/v1/label/__name__/values",
        "/workspaces/ws-12ab/api/v1/query_range",
    }


def test_a_wrong_secret_is_refused_and_what_to_grant_is_named_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another-secret")
    with checked(lambda request: is_signed(request, "monitoring")) as (url, _), pytest.raises(SourceUnreadableError) as caught:
        fetched("prom+aws://us-east-1", tmp_path, endpoint_url=url)
    assert caught.value.reason == "permission_denied" and "cloudwatch:GetMetricData" in caught.value.remedy
    assert "another-secret" not in f"{caught.value.message} {caught.value.remedy}"
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    with pytest.raises(SourceUnreadableError, match="NoCredentialsError") as caught:
        fetched("prom+aws://us-east-1", tmp_path, endpoint_url=url)
    assert caught.value.reason == "no_credentials"


def test_google_is_asked_with_the_token_for_which_its_default_login_signs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = rsa.generate_private_key(65537, 2048)
    claims: list[dict[str, Any]] = []

    def token(request: BaseHTTPRequestHandler, body: bytes) -> bytes:
        head, claim, signature = dict(parse_qsl(body.decode()))["assertion"].split(".")

        def decoded(text: str) -> bytes:
            return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

        key.public_key().verify(decoded(signature), f"{head}.{claim}".encode(), padding.PKCS1v15(), hashes.SHA256())
        claims.append(json.loads(decoded(claim)))
        return json.dumps({"access_token": "of-google", "expires_in": 3600, "token_type": "Bearer"}).encode()

    with checked(lambda request: request.headers["Authorization"] == "Bearer of-google", token) as (url, asked):
        form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        account = {
            "type": "service_account",
            "client_email": "reader@example.iam.gserviceaccount.com",
            "private_key": key.private_bytes(*form).decode(),
            "private_key_id": "1",
            "token_uri": f"{url}/token",
        }
        (tmp_path / "account.json").write_text(json.dumps(account))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "account.json"))
        assert fetched("prom+google://my-project", tmp_path, endpoint_url=url) == ["2026-04-01/dcgm.jsonl.zst"]
    api = "/v1/projects/my-project/location/global/prometheus/api/v1"
    assert {urlsplit(path).path for path in asked} == {f"{api}/label/__name__/values", f"{api}/query_range"}
    assert [(claim["iss"], claim["scope"]) for claim in claims] == [
        ("reader@example.iam.gserviceaccount.com", "https://www.googleapis.com/auth/monitoring.read")
    ]


def test_a_bearer_token_is_that_of_its_source_and_no_netrc_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login somebody password else\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    monkeypatch.setenv("TRAINLEDGER_TOKEN_OTHER", "not-for-this-one")
    seen: list[str | None] = []

    def check(request: BaseHTTPRequestHandler) -> bool:
        seen.append(request.headers["Authorization"])
        return seen[-1] == "Bearer mine"

    with checked(check) as (url, _):
        location = url.replace("http://", "prom+http://")
        with pytest.raises(SourceUnreadableError, match="refused with status 403"):
            fetched(location, tmp_path)
        monkeypatch.setenv("TRAINLEDGER_TOKEN_METRICS_1", "mine")
        fetched(location, tmp_path)
    assert seen[0] is None and {*seen[1:]} == {"Bearer mine"}


@pytest.mark.parametrize(("status", "remedy"), [(404, "Check host, port and prefix"), (507, "try again later")])
def test_a_status_has_the_remedy_that_it_calls_for(tmp_path: Path, status: int, remedy: str) -> None:
    def check(request: BaseHTTPRequestHandler) -> bool:
        request.send_error(status)
        return True

    with checked(check) as (url, _), pytest.raises(SourceUnreadableError, match=f"status {status}") as caught:
        fetched(url.replace("http://", "prom+http://"), tmp_path)
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("location", "api"),
    [
        ("prom://metrics.example.com", "https://metrics.example.com/api/v1"),
        ("prom://metrics.example.com:9090/a/b/", "https://metrics.example.com:9090/a/b/api/v1"),
        ("prom+http://[::1]:9090", "http://[::1]:9090/api/v1"),
        (
            "prom+google://example.com:my-project",
            "https://monitoring.googleapis.com/v1/projects/example.com:my-project/location/global/prometheus/api/v1",
        ),
        ("prom+aws://eu-central-1", "https://monitoring.eu-central-1.amazonaws.com/api/v1"),
        ("prom+aws://cn-north-1/ws-1", "https://aps-workspaces.cn-north-1.amazonaws.com.cn/workspaces/ws-1/api/v1"),
    ],
)
def test_a_location_is_an_address(location: str, api: str) -> None:
    assert place_of(location, StoreOptions())[0].api == api


@pytest.mark.parametrize(
    "location",
    [
        *("prom://", "prom://user:secret@host", "prom://host/a?b=c", "prom://host:port", "prom://host/../a b", "prom+http:///a"),
        *("prom+google://", "prom+google://My_Project", "prom+aws://", "prom+aws://here", "prom+aws://us-east-1/other"),
    ],
)
def test_another_location_is_refused_with_the_forms_there_are(location: str) -> None:
    with pytest.raises(SourceUnreadableError) as caught:
        place_of(location, StoreOptions())
    assert caught.value.reason == "bad_location" and "prom+aws://REGION/WORKSPACE" in caught.value.remedy
    assert "secret" not in caught.value.message
