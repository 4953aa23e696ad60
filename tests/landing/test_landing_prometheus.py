"""A month of a real Prometheus, landed day by day: guarded, interrupted, small; and answers that stop a landing."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pyarrow as pa
import pytest

from connectors.stores import ObjectInfo, StoreOptions
from connectors.stores.opening import open_store
from dagster_project.landing.land import Landed
from dagster_project.landing.planning import land_all
from tests.browser import free_port
from tests.connectors.test_connector_prometheus import answer
from tests.landing.kit import Organisation
from tests.prometheus import PASSWORD, prometheus, serving, write_blocks

pytestmark = pytest.mark.slow

DAYS, DAY = 30, 1440
APRIL = int(dt.datetime(2026, 4, 1, tzinfo=dt.UTC).timestamp())
GAP = range(9 * DAY + 600, 9 * DAY + 720)  # two hours of the tenth in which nothing was scraped
POWER = "DCGM_FI_DEV_POWER_USAGE"
ANSWER = answer(({"gpu": "0", "instance_id": "i-1"}, [(1, 300)]))


def month() -> Iterator[str]:
    """A GPU that draws 300 W and a machine of 3,000 W, each minute of April; scraped five seconds after it."""
    for name, labels, watts in (
        (POWER, '{gpu="0",instance_id="i-1"}', 300),
        ("ipmi_dcmi_power_consumption_watts", '{node="n-1"}', 3000),
    ):
        yield f"# TYPE {name} gauge"
        yield from (f"{name}{labels} {watts} {APRIL + 60 * at + 5}" for at in range(DAYS * DAY) if at not in GAP)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_blocks(tmp_path_factory.mktemp("prometheus"), month()).parent


@pytest.fixture(autouse=True)
def now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-05-01T00:30:00Z")


def organisation(folder: Path, location: str, **more: Any) -> Organisation:
    source = {"name": "metrics-1", "kind": "prometheus", "location": location, "look_back_days": DAYS, **more}
    return Organisation(folder, {"name": "runs", "kind": "training_runs"}, source)


def wrong(made: Organisation) -> list[tuple[str, str]]:
    """What could not be listed or read, by its reason, and what to do; the other source is listed."""
    plan = made.line.plan()
    return [(problem.reason, problem.remedy) for problem in plan.unreadable] + [
        (one.error.reason, one.error.remedy) for one in made.line.land_all(plan) if one.error
    ]


def test_a_month_is_landed_once_by_day_over_tls_and_goes_on_where_it_was_ended(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    made = organisation(tmp_path, f"prom://127.0.0.1:{port}/metrics-of/a")
    assert [reason for reason, _ in wrong(made)] == ["broken_stream"]
    with prometheus(data, port=port, is_guarded=True) as server:
        assert [reason for reason, _ in wrong(made)] == ["broken_stream"]  # a certificate that this machine does not trust
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(data / "certificate.pem"))
        [(reason, remedy)] = wrong(made)
        assert reason == "permission_denied" and "TRAINLEDGER_USER_METRICS_1 and TRAINLEDGER_PASSWORD_METRICS_1" in remedy
        monkeypatch.setenv("TRAINLEDGER_USER_METRICS_1", "reader")
        monkeypatch.setenv("TRAINLEDGER_PASSWORD_METRICS_1", PASSWORD)
        seen: list[Landed] = []

        def end_the_server(landed: Landed) -> None:
            seen.append(landed)
            if len(seen) == 7:
                server.process.kill()

        line = made.line
        land_all(line.landing, line.plan(), end_the_server)
    # the day that is not over for an hour is not asked for: 29 days of two exporters
    assert Counter(one.outcome for one in seen) == {"landed": 7, "unreadable": 2 * (DAYS - 1) - 7}
    with prometheus(data, port=port, is_guarded=True):
        assert made.outcomes() == {"landed": 2 * (DAYS - 1) - 7}
        monkeypatch.setenv("TRAINLEDGER_NOW", "2026-05-01T01:00:00Z")
        assert made.outcomes() == {"landed": 2}
        assert made.line.plan().is_empty and made.outcomes() == {}
    rows = "select meter, count(*), min(power_w), max(power_w), min(sample_start), max(sample_end) from raw.prometheus group by 1"
    begins, ends = (dt.datetime.fromtimestamp(APRIL + 86_400 * days, dt.UTC).replace(tzinfo=None) for days in (0, DAYS))
    shown = sorted((*row[:4], *(at.replace(tzinfo=None) for at in row[4:])) for row in made.raw(rows))
    assert shown == [
        (meter, DAYS * DAY - len(GAP), watts, watts, begins, ends) for meter, watts in (("bmc", 3000), ("dcgm", 300))
    ]
    gap = "select count(*) from raw.prometheus where sample_end > '2026-04-10 10:00:00' and sample_start < '2026-04-10 12:00:00'"
    assert made.raw(gap) == [(0,)]


def test_a_server_that_answers_little_at_once_is_asked_in_smaller_windows(data: Path, tmp_path: Path) -> None:
    with prometheus(data, "--query.max-samples=400") as server:
        store = open_store(f"prom+http://{server.address}", base=Path(), options=options())
        store.fetch(ObjectInfo("2026-04-02/dcgm.jsonl.zst", 0, "", dt.datetime.now(dt.UTC)), tmp_path / "day")
    lines = [json.loads(line) for line in pa.input_stream(tmp_path / "day", "zstd").read().splitlines()]
    means, counts = ([line for line in lines if line["query"].startswith(how)] for how in ("avg", "count"))
    assert len(means) > DAY / 400
    points = [point for line in means for point in line["answer"]["data"]["result"][0]["values"]]
    assert points == [[APRIL + 86_400 + 60 * at, "300"] for at in range(1, DAY + 1)]
    assert {(line["query"], line["step"]) for line in means} == {(f"avg_over_time({POWER}[59999ms])", 60)}
    for mean, counted in zip(means, counts, strict=True):
        window = mean["end"] - mean["start"] + 60
        assert (counted["query"], counted["step"]) == (f"count_over_time({POWER}[{window * 1000 - 1}ms])", window)
        assert counted["answer"]["data"]["result"][0]["values"] == [[mean["end"], str(window // 60)]]


def test_a_server_that_counts_no_readings_is_landed_all_the_same(tmp_path: Path) -> None:
    class Old(Server):
        says = 200, WHOLE

        def do_GET(self) -> None:
            if "count_over_time" in self.path:
                self.send_error(400)
            else:
                super().do_GET()

    with serving(Old) as port:
        assert organisation(tmp_path, f"prom+http://127.0.0.1:{port}", look_back_days=1).outcomes() == {"landed": 1}


def test_the_spacing_of_scrapes_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU is scraped each 20 s but for the last time of the day, another each minute."""
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-04-02T01:00:00Z")
    gpus = ((0, 20), (1, 60))
    times = ((gpu, at) for gpu, every in gpus for at in range(APRIL + 5, APRIL + 86_390 - every, every))
    lines = (f'{POWER}{{gpu="{gpu}",instance_id="i-1"}} 300 {at}' for gpu, at in times)
    data = write_blocks(tmp_path / "server", (f"# TYPE {POWER} gauge", *lines)).parent
    with prometheus(data) as server:
        made = organisation(tmp_path / "line", f"prom+http://{server.address}", look_back_days=1)
        assert made.outcomes() == {"landed": 1}
    found = made.raw("select device_index, spacing_us, count(*) from raw.prometheus group by all order by all")
    assert found == [(0, 20_000_000, DAY), (1, 60_000_000, DAY - 1)]


def options(**more: Any) -> StoreOptions:
    from connectors.power.promql import QUESTIONS

    return StoreOptions(questions=QUESTIONS, first_day=dt.date(2026, 4, 2), end_day=dt.date(2026, 4, 3), **more)


class Server(BaseHTTPRequestHandler):
    """Answers names, and each query by what stands in `says`: a status and a body, or more bytes than come."""

    says: tuple[int, bytes] = 200, b""
    cut = 0

    def do_GET(self) -> None:
        is_query = urlsplit(self.path).path.endswith("query_range")
        status, body = self.says if is_query else (200, json.dumps({"status": "success", "data": [POWER]}).encode())
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) + (self.cut if is_query else 0)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None: ...


WHOLE = json.dumps(ANSWER).encode()
WRONG = {
    "a warning": (
        200,
        json.dumps(ANSWER | {"warnings": ["series were left out"]}).encode(),
        0,
        "incomplete_answer",
        "left series",
    ),
    "a body that ends early": (200, WHOLE, 9, "broken_stream", "try again"),
    "json that ends early": (200, WHOLE[:-9], 0, "broken_stream", "Try again"),
    "no matrix": (200, b'{"status": "success", "data": {"resultType": "vector", "result": []}}', 0, "broken_stream", "Try again"),
    "no query of it": (400, b"{}", 0, "bad_query", "too old for this query"),
    "too much for one step": (422, b"{}", 0, "bad_query", "limits too low"),
    "no right": (403, b"{}", 0, "permission_denied", "TRAINLEDGER_TOKEN_METRICS_1"),
    "no such api": (404, b"", 0, "source_unreadable", "Check host, port and prefix"),
    "somewhere else": (302, b"", 0, "source_unreadable", "Check host, port and prefix"),
}


@pytest.mark.parametrize(("status", "body", "cut", "reason", "remedy"), WRONG.values(), ids=WRONG)
def test_an_answer_that_is_not_whole_lands_nothing_until_one_is(
    tmp_path: Path, status: int, body: bytes, cut: int, reason: str, remedy: str
) -> None:
    class Wrong(Server):
        says = status, body

    Wrong.cut = cut
    with serving(Wrong) as port:
        made = organisation(tmp_path, f"prom+http://127.0.0.1:{port}", look_back_days=1)
        (tmp_path / "exports/runs/a.run.json").write_text('{"training_run_id": "a", "attempts": []}')
        results = made.refresh()
        assert [one.outcome for one in results if one.source == "runs"] == ["landed"]
        [error] = [one.error for one in results if one.source == "metrics-1"]
        assert error is not None and error.reason == reason and remedy in error.remedy
        if reason == "bad_query":
            assert f"avg_over_time({POWER}[59999ms])" in error.message
        Wrong.says, Wrong.cut = (200, WHOLE), 0
        assert made.outcomes() == {"landed": 1}


def test_a_server_that_is_overloaded_when_names_are_asked_is_unreadable(tmp_path: Path) -> None:
    class Busy(Server):
        def do_GET(self) -> None:
            self.send_error(503)

    with serving(Busy) as port:
        made = organisation(tmp_path, f"prom+http://127.0.0.1:{port}")
        assert [reason for reason, _ in wrong(made)] == ["bad_query"]


def test_an_answer_larger_than_may_come_is_asked_for_in_halves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    class Large(Server):
        def do_GET(self) -> None:
            query = parse_qs(urlsplit(self.path).query)
            minutes = (int(query["end"][0]) - int(query["start"][0])) // 60 + 1
            if query.get("query", [""])[0].startswith("avg"):
                asked.append(minutes)
            padding = {"padding": "x" * 200 * minutes}
            self.says = 200, json.dumps(ANSWER | padding).encode()
            super().do_GET()

    monkeypatch.setattr("connectors.stores.prometheus.MOST", 100_000)
    with serving(Large) as port:
        store = open_store(f"prom+http://127.0.0.1:{port}", base=Path(), options=options())
        [info] = store.list_objects()
        store.fetch(info, tmp_path / "day")
    assert asked[:4] == [DAY, DAY // 2, DAY // 4, DAY // 4]
    assert (
        sum(
            json.loads(line)["end"] - json.loads(line)["start"] + 60
            for line in pa.input_stream(tmp_path / "day", "zstd").read().splitlines()
            if b"avg_over_time" in line
        )
        == 86_400
    )
