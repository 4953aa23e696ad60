"""Servers of metrics as a store whose objects are the days of an exporter: one client of PromQL's HTTP API for five places.

An object is the answers to every question about an exporter's day, one to a line with its query, times and step. A day is asked
in windows whose answers stay small: one that grows too large, or that the server refuses for its size, is asked again in halves.
An answer with a line in `warnings`, or that is cut off, stops the landing of its object: half a fleet would seem idle. Only
windows that are over are asked for, by `end_day`. The API: https://prometheus.io/docs/prometheus/latest/querying/api/.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
import pyarrow as pa
import requests
from botocore.exceptions import BotoCoreError, ClientError
from google.auth.exceptions import GoogleAuthError
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from connectors.errors import ConnectorError, Place, SourceUnreadableError
from connectors.stores import READ_LIMIT, ObjectInfo, Question, StoreOptions
from connectors.stores.prometheus_access import DAY, place_of
from connectors.stores.transfer import CHUNK, Remote, broken, hash_of

STEP = 60  # seconds
MOST = 16 << 20  # bytes of an answer: some 500,000 points
_TIMES = (10, 120)  # seconds to connect, and between two pieces of an answer: a server ends its queries after two minutes
_ENDING = ".jsonl.zst"
_TOO_LARGE = {422, 503}  # too many samples; timed out


class _Data(msgspec.Struct):
    result_type: str = msgspec.field(default="", name="resultType")
    result: list[msgspec.Raw] = []


class _Answer(msgspec.Struct):
    """What is looked at of an answer before it is kept; its points are read when it is derived."""

    status: str
    data: _Data | list[str] | None = None
    warnings: list[str] | None = None


_ANSWER = msgspec.json.Decoder(_Answer)


class _TooMuchError(Exception):
    """An answer that is to be asked for in smaller windows."""

    def __init__(self, error: SourceUnreadableError) -> None:
        super().__init__(error.message)
        self.error = error


class PrometheusStore(Remote):
    """The days of prom://host, as `2026-04-12/dcgm.jsonl.zst`. The constructor asks nothing.

    The etag of an object is its step: a day that is over does not change, and is asked for once.
    """

    def __init__(self, location: str, options: StoreOptions | None = None) -> None:
        self.uri = location.rstrip("/")
        self.options = options or StoreOptions()
        self.place, self._login = place_of(location, self.options)
        self._names_of: dict[date, frozenset[str] | None] = {}
        self._windows: dict[str, int] = {}  # seconds, by exporter: what was once too much is not tried again

    def list_objects(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Ask for the names of the metrics of each day, and list the exporters that any of them is of."""
        if not self.options.questions:
            remedy = "Give the source `kind: prometheus`; docs/sources names what each kind is read from."
            what = f"{self.uri}: a source of this kind is not read from a server of metrics."
            raise SourceUnreadableError(what, reason="bad_location", remedy=remedy)
        first, end = self.options.first_day, self.options.end_day
        assert first and end, "whoever opens the store knows which days are over"
        for day in (first + timedelta(days=number) for number in range((end - first).days)):
            over = datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)
            for exporter in dict.fromkeys(question.exporter for question in self._questions(day)):
                if (key := f"{day}/{exporter}{_ENDING}").startswith(prefix):
                    yield ObjectInfo(key, 0, f"{STEP}s", over)

    def read(self, info: ObjectInfo, limit: int = READ_LIMIT) -> bytes:
        """A day is no small object: what is read whole are manifests, which no server of metrics has."""
        raise NotImplementedError(info.key)

    def fetch(self, info: ObjectInfo, path: Path) -> str:
        """Ask all questions about an exporter's day, and write their answers as they come."""
        day, exporter = date.fromisoformat(info.key[:10]), info.key[11:].removesuffix(_ENDING)
        asked = [question for question in self._questions(day) if question.exporter == exporter]
        try:
            with pa.output_stream(path, compression="zstd") as target:
                for line in self._day(day, exporter, asked):
                    target.write(line)
        except ConnectorError:
            path.unlink(missing_ok=True)
            raise
        return hash_of(path)

    def _questions(self, day: date) -> list[Question]:
        """Those whose metric the server has on a day; all of them where it does not list names."""
        if day not in self._names_of:
            self._names_of[day] = self._names(day) if self.place.lists_names else None
        names = self._names_of[day]
        return [question for question in self.options.questions if names is None or question.metric in names]

    def _names(self, day: date) -> frozenset[str]:
        start = _midnight(day)
        where = f"{self.uri}, {day}"
        try:
            body = self._get("label/__name__/values", {"start": start, "end": start + DAY - 1})
        except _TooMuchError as error:
            raise error.error from error
        names = self._checked(body, where).data
        if not isinstance(names, list):
            raise broken(where, "", "its answer has no list of names")
        return frozenset(names)

    def _day(self, day: date, exporter: str, questions: Iterable[Question]) -> Iterator[bytes]:
        start = _midnight(day)
        end = start + DAY
        while start < end:
            until = min(start + self._windows.get(exporter, self.place.longest), end)
            try:
                lines = [*self._lines(questions, start, until)]
            except _TooMuchError as error:
                if until - start <= STEP:
                    raise error.error from error
                self._windows[exporter] = max((until - start) // 2 // STEP * STEP, STEP)
                continue
            yield from lines
            start = until

    def _lines(self, questions: Iterable[Question], start: int, until: int) -> Iterator[bytes]:
        for question in questions:
            try:
                yield self._line(question, start, until)
            except SourceUnreadableError as error:
                # without the number of readings they are taken to be a step apart: no reason to land nothing
                if not question.is_of_window or error.reason != "bad_query":
                    raise

    def _line(self, question: Question, start: int, until: int) -> bytes:
        """A question with its answer as it came. A line end in it can only be between two words of JSON."""
        asked = {"query": question.query, "start": start if question.is_counter else start + STEP, "end": until, "step": STEP}
        if question.is_of_window:
            # as of a step: older servers count both ends of a range
            query = question.query.replace("WINDOW", f"{(until - start) * 1000 - 1}ms")
            asked |= {"query": query, "start": until, "step": until - start}
        body = self._get("query_range", asked)
        where = f"{self.uri}, {question.metric} of {datetime.fromtimestamp(start, UTC):%Y-%m-%dT%H:%MZ}"
        data = self._checked(body, where).data
        if not isinstance(data, _Data) or data.result_type != "matrix":
            raise broken(where, "", "its answer is no matrix")
        if self.place.most_series and len(data.result) >= self.place.most_series:
            raise _incomplete(where, f"it has {len(data.result)} series, the most that an answer may have")
        head = msgspec.json.encode(asked).removesuffix(b"}")
        return head + b',"answer":' + body.replace(b"\n", b" ").replace(b"\r", b" ").strip() + b"}\n"

    def _checked(self, body: bytes, where: str) -> _Answer:
        """An answer that is whole."""
        try:
            answer = _ANSWER.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise broken(where, "", "its answer is cut off, or is none of PromQL") from error
        if answer.warnings:
            raise _incomplete(where, f"the server warns of it in {len(answer.warnings)} line{'s'[: len(answer.warnings) > 1]}")
        if answer.status != "success":
            raise broken(where, "", "the server states an error")
        return answer

    @cached_property
    def _session(self) -> requests.Session:
        session = requests.Session()
        # 422 and 503 of a query call for a smaller one
        again = Retry(total=3, connect=1, backoff_factor=0.5, status_forcelist=(429, 500, 502, 504), raise_on_status=False)
        session.mount("https://", HTTPAdapter(max_retries=again))
        session.mount("http://", HTTPAdapter(max_retries=again))
        session.auth = self._login()  # of any kind, so that no ~/.netrc is looked into
        return session

    def _get(self, method: str, asked: dict[str, Any]) -> bytes:
        """The body of an answer, at most MOST bytes of it."""
        query = asked.get("query", "the names of metrics")
        try:
            # a space as %20: of a plus sign AWS signs another text
            url = f"{self.place.api}/{method}?{urlencode(asked, quote_via=quote)}"
            with self._session.get(url, timeout=_TIMES, stream=True, allow_redirects=False) as answer:
                if answer.status_code != 200:
                    raise self._refused(answer.status_code, query)
                body = bytearray()
                for chunk in answer.iter_content(CHUNK):
                    body += chunk
                    if len(body) > MOST:
                        what = f"{self.uri}: the answer to {query} has more than {MOST} bytes, also for one step."
                        raise _TooMuchError(SourceUnreadableError(what, reason="too_large"))
                return bytes(body)
        except (requests.RequestException, OSError) as error:
            what = f"{self.uri}: no answer ({type(error).__name__})."
            remedy = "Check host, port, certificate and network; then try again."
            raise SourceUnreadableError(what, reason="broken_stream", remedy=remedy) from error
        except (BotoCoreError, ClientError, GoogleAuthError) as error:
            what = f"{self.uri}: there is no login ({type(error).__name__})."
            raise SourceUnreadableError(what, reason="no_credentials", remedy=self.place.grant) from error

    def _refused(self, status: int, query: str) -> Exception:
        """What a status other than 200 calls for; the text beside it may repeat labels and is left out."""
        if status in {401, 403}:
            what = f"{self.uri}: the request was refused with status {status}."
            return SourceUnreadableError(what, reason="permission_denied", remedy=self.place.grant)
        if status in {400, 422, 503}:
            what = f"{self.uri}: status {status} for {query}."
            remedy = "Ask the server for it by hand: it may be too old for this query, or its limits too low for one step."
            error = SourceUnreadableError(what, place=Place(value=query), reason="bad_query", remedy=remedy)
            return _TooMuchError(error) if status in _TOO_LARGE else error
        if status == 429 or status >= 500:
            remedy = "The server is busy or out of order: try again later, and look into its log if it stays."
        else:
            remedy = "Check host, port and prefix: what follows the prefix is /api/v1/query_range."
        return SourceUnreadableError(f"{self.uri}: status {status} for {query}.", remedy=remedy)


def _midnight(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())


def _incomplete(where: str, what: str) -> SourceUnreadableError:
    remedy = (
        "Look why the server left series out (a store behind it that did not answer, or its limit of series); nothing of this "
        "day is landed until an answer is whole."
    )
    return SourceUnreadableError(f"{where}: {what}.", reason="incomplete_answer", remedy=remedy)
