"""Weights & Biases as a store whose objects are runs: GraphQL over HTTPS. The only client of W&B.

`wandb://ENTITY/PROJECT` has the system metrics of each run, `run=<id>/events.jsonl`; `wandb://ENTITY/PROJECT/runs` its record,
`run=<id>/run.json`. Both begin with the run as the API answers it, and with wandb-metadata.json, which names host and devices;
behind it are the lines of events as they were logged. The API key comes from the environment (WANDB_API_KEY) and goes to the
API's host alone. Queries are those of wandb/apis/public/runs.py, https://github.com/wandb/wandb (read 2026-11-24 at b6e2950).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urljoin, urlsplit

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from connectors.errors import Place, SourceUnreadableError
from connectors.stores import READ_LIMIT, ObjectInfo, StoreOptions
from connectors.stores.transfer import CHUNK, Remote, broken, changed, check_size, write_hashed
from connectors.times import parse_utc

KEY = "WANDB_API_KEY"
MOST = 20_000  # lines of events of a run: more are answered as an even sample of so many
_BYTES = 256 << 20  # of an answer
_PAGE = 200  # runs
_TIMES = (10, 120)  # seconds to connect, and between two pieces of an answer
_API = "https://api.wandb.ai"
_LOCATION = re.compile(r"wandb://([^/]+)/([^/]+?)(/runs)?/?")
_RUN = "name displayName state createdAt heartbeatAt group jobType tags eventsLineCount historyLineCount"
_RUNS = f"""query Runs($entity: String!, $project: String!, $cursor: String, $perPage: Int!) {{
  project(name: $project, entityName: $entity) {{
    runs(after: $cursor, first: $perPage) {{ edges {{ node {{ {_RUN} }} }} pageInfo {{ endCursor hasNextPage }} }} }} }}"""
_ONE = """query Run($entity: String!, $project: String!, $name: String!) {{
  project(name: $project, entityName: $entity) {{ run(name: $name) {{ {fields}
    files(names: ["wandb-metadata.json"], first: 1) {{ edges {{ node {{ directUrl }} }} }} }} }} }}"""
_RECORD = _ONE.format(fields=f"{_RUN} config summaryMetrics")
_EVENTS = _ONE.format(fields=f"{_RUN} events(samples: {MOST})")


class WandbStore(Remote):
    """The runs of wandb://ENTITY/PROJECT. The constructor asks nothing.

    The etag of a run's events is how many lines it has, that of a record its state and its last sign of life.
    """

    def __init__(self, location: str, options: StoreOptions | None = None) -> None:
        found = _LOCATION.fullmatch(location)
        if not found:
            raise SourceUnreadableError(
                f"{location}: this is no project of W&B.",
                reason="bad_location",
                remedy="Write wandb://ENTITY/PROJECT for system metrics, wandb://ENTITY/PROJECT/runs for run records.",
            )
        self.uri, self.options = location.rstrip("/"), options or StoreOptions()
        self._project = {"entity": unquote(found[1]), "project": unquote(found[2])}
        self._name = "run.json" if found[3] else "events.jsonl"
        self._api = (self.options.endpoint_url or _API).rstrip("/")

    def list_objects(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Ask for the runs of the project, page by page."""
        cursor, is_more, found = None, True, list[ObjectInfo]()
        while is_more:
            with self._shaped():
                runs = self._asked(_RUNS, cursor=cursor, perPage=_PAGE)["runs"]
                found += [self._info(edge["node"]) for edge in runs["edges"]]
                cursor, is_more = runs["pageInfo"]["endCursor"], runs["pageInfo"]["hasNextPage"]
        return iter(sorted((info for info in found if info.key.startswith(prefix)), key=lambda info: info.key))

    def read(self, info: ObjectInfo, limit: int = READ_LIMIT) -> bytes:
        """Return a record whole; of events the run alone, by which a file of theirs is recognised."""
        content = next(self._lines(info, _RECORD))
        check_size(self.uri_of(info.key), replace(info, size=len(content)), limit)
        return content

    def fetch(self, info: ObjectInfo, path: Path) -> str:
        """Write the run, and behind it its lines of events where these were asked for."""
        return write_hashed(self._lines(info, _RECORD if self._name == "run.json" else _EVENTS), path)

    def _info(self, run: dict[str, Any]) -> ObjectInfo:
        seen = run.get("heartbeatAt") or run["createdAt"]
        is_record = self._name == "run.json"
        etag = f"{run['state']}-{seen}" if is_record else f"{run.get('eventsLineCount') or 0}"
        return ObjectInfo(f"run={quote(run['name'], safe='')}/{self._name}", 0, etag, parse_utc(seen))

    def _lines(self, info: ObjectInfo, query: str) -> Iterator[bytes]:
        with self._shaped(info.key):
            run = self._asked(query, info.key, name=unquote(info.key.partition("/")[0].removeprefix("run=")))["run"]
            if run is None:
                raise changed(self.uri_of(info.key), info.key)
            events = [line.encode() for line in run.pop("events", None) or ()]
            files = [edge["node"]["directUrl"] for edge in run.pop("files")["edges"]]
            metadata = json.loads(self._file(files[0], info.key)) if files else None
        yield json.dumps({"run": run, "metadata": metadata}).encode() + b"\n"
        for line in events:
            yield line + b"\n"

    def _file(self, url: str, key: str) -> bytes:
        """A file of a run; the key goes to the API's own host, not to that of a signed address."""
        url = urljoin(f"{self._api}/", url)
        is_own = urlsplit(url)[:2] == urlsplit(self._api)[:2]
        return self._answer("GET", url, key, auth=self._login if is_own else None)

    def _asked(self, query: str, key: str = "", **variables: Any) -> dict[str, Any]:
        """The project of an answer; an error in it stops the landing."""
        body = {"query": query, "variables": self._project | variables}
        answer = json.loads(self._answer("POST", f"{self._api}/graphql", key, json=body, auth=self._login))
        if errors := answer.get("errors"):
            raise broken(self.uri_of(key), key, f"W&B answers: {str(errors[0].get('message'))[:200]}")
        project = (answer.get("data") or {}).get("project")
        if project is None:
            raise SourceUnreadableError(
                f"{self.uri}: there is no such project, or this key may not read it.",
                reason="missing_project",
                remedy=f"Check entity and project, and whose key {KEY} is.",
            )
        return dict(project)

    def _answer(self, method: str, url: str, key: str, **more: Any) -> bytes:
        with self._named(key), self._session.request(method, url, timeout=_TIMES, stream=True, **more) as answer:
            if answer.status_code in (401, 403):
                raise SourceUnreadableError(
                    f"{self.uri}: W&B refuses the key ({answer.status_code}).",
                    reason="permission_denied",
                    remedy=f"Set {KEY} to a key of somebody who may read the project; W&B shows it under User settings.",
                )
            answer.raise_for_status()
            body = bytearray()
            for chunk in answer.iter_content(CHUNK):
                body += chunk
                if len(body) > _BYTES:
                    raise broken(self.uri_of(key), key, f"its answer has more than {_BYTES} bytes")
        return bytes(body)

    @contextmanager
    def _shaped(self, key: str = "") -> Iterator[None]:
        """Whatever else answers, such as the page of a proxy, is no API."""
        try:
            yield
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            what = f"its answer is none of W&B's API ({type(error).__name__})"
            raise broken(self.uri_of(key) if key else self.uri, key, what) from error

    @contextmanager
    def _named(self, key: str) -> Iterator[None]:
        """A failure of the network is the source's; its message may hold a signed address, so its class alone is named."""
        try:
            yield
        except requests.RequestException as error:
            status = f" ({error.response.status_code})" if error.response is not None else ""
            raise SourceUnreadableError(
                f"{self.uri}: W&B cannot be asked: {type(error).__name__}{status}.",
                place=Place(key),
                remedy="Try again; if it stays, check the network and `endpoint_url`.",
            ) from None

    @property
    def _login(self) -> tuple[str, str]:
        if not (found := os.environ.get(KEY)):
            remedy = f"Set {KEY}; W&B shows your key under User settings."
            raise SourceUnreadableError(f"{self.uri}: {KEY} is not set.", reason="no_credentials", remedy=remedy)
        return "api", found

    @cached_property
    def _session(self) -> requests.Session:
        session = requests.Session()
        session.auth = lambda request: request  # no other login from a .netrc; proxy and certificates are the environment's
        retry = Retry(
            4, backoff_factor=0.5, status_forcelist=(429, 500, 502, 503, 504), allowed_methods=None, raise_on_status=False
        )
        session.mount(self._api, HTTPAdapter(max_retries=retry))
        return session
