"""Access to the five places that answer PromQL: their addresses, how a request is signed, and what each refusal calls for.

A server of one's own takes a bearer token or a name and password from the environment, by variables that carry the source's
name, so that no secret reaches another server. Google and AWS take the identity of their default chains. Which limits a place
has is in docs/sources/prometheus.md. Nothing is asked here but by Google's library, where its token has run out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from connectors.errors import SourceUnreadableError
from connectors.stores import StoreOptions

Sign = Callable[[Any], Any]  # a prepared request of `requests`, and the same with what proves who asks

DAY = 86_400
_REMEDY = (
    "Write prom://host[:port][/prefix], prom+http://host[:port][/prefix], prom+google://PROJECT, prom+aws://REGION or "
    "prom+aws://REGION/WORKSPACE."
)
_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:]+\])(?::\d{1,5})?")
_PATH = re.compile(r"(?:/[A-Za-z0-9._~-]+)*")
_PROJECT = re.compile(r"(?:[a-z0-9][a-z0-9.-]*:)?[a-z0-9-]{6,30}")
_REGION = re.compile(r"[a-z]{2,4}(?:-[a-z]+)+-\d{1,2}")
_WORKSPACE = re.compile(r"ws-[A-Za-z0-9-]{1,60}")
_MONITORING = ("https://www.googleapis.com/auth/monitoring.read",)


@dataclass(frozen=True, slots=True)
class Place:
    """Where PromQL is answered."""

    api: str  # what the names of the API's methods follow
    grant: str  # what to do where the identity is refused
    longest: int = DAY  # seconds that a question may cover
    lists_names: bool = True  # false: what is there is known when it is asked for
    most_series: int | None = None  # of an answer


def place_of(location: str, options: StoreOptions) -> tuple[Place, Callable[[], Sign]]:
    """Take a location apart: its place, and what makes the signature of its requests when the first one is sent."""
    scheme, _, rest = location.partition("://")
    rest = rest.rstrip("/")
    if scheme == "prom+google":
        return _google(rest, location, options)
    if scheme == "prom+aws":
        return _aws(rest, location, options)
    host, slash, path = rest.partition("/")
    if not _HOST.fullmatch(host) or not _PATH.fullmatch(slash + path):
        raise _bad(location, "names no host and prefix")
    names = _variables(options.source)
    grant = f"Set {names[0]} (bearer token), or {names[1]} and {names[2]}, in the environment to what {host} takes."
    api = f"{'http' if scheme == 'prom+http' else 'https'}://{rest}/api/v1"
    return Place(api, grant), partial(_plain, *names)


def _variables(source: str) -> tuple[str, str, str]:
    name = re.sub(r"[^A-Z0-9]", "_", source.upper())
    return f"TRAINLEDGER_TOKEN_{name}", f"TRAINLEDGER_USER_{name}", f"TRAINLEDGER_PASSWORD_{name}"


def _plain(token: str, user: str, password: str) -> Sign:
    if bearer := os.environ.get(token):
        return _with_header("Authorization", f"Bearer {bearer}")
    if name := os.environ.get(user):
        from requests.auth import HTTPBasicAuth

        return HTTPBasicAuth(name, os.environ.get(password, ""))
    return lambda request: request


def _with_header(name: str, value: str) -> Sign:
    def sign(request: Any) -> Any:
        request.headers[name] = value
        return request

    return sign


def _google(project: str, location: str, options: StoreOptions) -> tuple[Place, Callable[[], Sign]]:
    if not _PROJECT.fullmatch(project):
        raise _bad(location, "names no project of Google Cloud")
    host = (options.endpoint_url or "https://monitoring.googleapis.com").rstrip("/")
    api = f"{host}/v1/projects/{project}/location/global/prometheus/api/v1"
    grant = f"Grant roles/monitoring.viewer on project {project} to the identity that asks."
    return Place(api, grant), partial(_google_login, replace(options, endpoint_url=None))


def _google_login(options: StoreOptions) -> Sign:
    from google.auth.transport.requests import Request

    from connectors.stores.google_access import credentials_of

    credentials, transport = credentials_of(options, _MONITORING), Request()

    def sign(request: Any) -> Any:
        credentials.before_request(transport, request.method, request.url, request.headers)
        return request

    return sign


def _aws(rest: str, location: str, options: StoreOptions) -> tuple[Place, Callable[[], Sign]]:
    region, slash, workspace = rest.partition("/")
    if not _REGION.fullmatch(region) or (slash and not _WORKSPACE.fullmatch(workspace)):
        raise _bad(location, "names no region, or a workspace that is none")
    domain = f"{region}.amazonaws.com{'.cn' if region.startswith('cn-') else ''}"
    # the role is assumed at AWS, whatever the endpoint of the metrics is
    login = partial(_aws_login, replace(options, endpoint_url=None), region)
    if workspace:
        api = f"{(options.endpoint_url or f'https://aps-workspaces.{domain}').rstrip('/')}/workspaces/{workspace}/api/v1"
        grant = f"Grant aps:QueryMetrics and aps:GetLabels on workspace {workspace}{_to(options)}."
        return Place(api, grant), partial(login, "aps")
    api = f"{(options.endpoint_url or f'https://monitoring.{domain}').rstrip('/')}/api/v1"
    grant = f"Grant cloudwatch:GetMetricData and cloudwatch:ListMetrics{_to(options)}."
    # CloudWatch scans 24 hours at most, the look back from the first step among them, and returns 500 series
    return Place(api, grant, longest=DAY // 2, lists_names=False, most_series=500), partial(login, "monitoring")


def _to(options: StoreOptions) -> str:
    return f" to {options.role_arn}" if options.role_arn else " to the identity of the AWS credential chain"


def _aws_login(options: StoreOptions, region: str, service: str) -> Sign:
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.exceptions import NoCredentialsError

    from connectors.stores.s3_access import session_of

    credentials = session_of(options, region)[0].get_credentials()
    if credentials is None:
        raise NoCredentialsError()

    def sign(request: Any) -> Any:
        # of a temporary identity what is valid now
        signed = AWSRequest(request.method, request.url, {"Host": urlsplit(request.url).netloc})
        SigV4Auth(credentials.get_frozen_credentials(), service, region).add_auth(signed)
        request.headers.update(signed.headers.items())
        return request

    return sign


def _bad(location: str, what: str) -> SourceUnreadableError:
    shown = re.sub(r"//[^/]*@", "//", location)  # a password belongs into the environment, and not into a message
    return SourceUnreadableError(f"{shown} {what}.", reason="bad_location", remedy=_REMEDY)
