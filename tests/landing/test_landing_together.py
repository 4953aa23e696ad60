"""Small deliveries of a source are read by the statements of one, and each becomes what it becomes by itself."""

from __future__ import annotations

import datetime as dt
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from connectors.deliveries import Delivery
from connectors.stores import ObjectInfo
from dagster_project.landing import fetching
from dagster_project.landing.deriving import derive
from dagster_project.landing.deriving.derive import Deriver
from dagster_project.landing.fetching import SMALL, TOGETHER, batches
from dagster_project.landing.land import Landed
from dagster_project.settings import SourceSettings
from tests import nightly
from tests.connectors.prices import price
from tests.landing.kit import (
    Organisation,
    bill_line,
    carbon_row,
    hour,
    instant,
    set_time,
    write_points,
    write_profile,
    write_run,
    write_samples,
)
from tests.landing.whole_company import EVENTS, GPU, METRICS, OWN, POWER, RACK, RATES, SOURCES, TOTALS, WATER, whole_company

RUNS = {"name": "runs", "kind": "training_runs"}


@pytest.fixture(autouse=True)
def _fixed_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-10T00:00:00Z")


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many deliveries each reading was of."""
    found: list[int] = []
    original = derive.read_once

    def counted(con: Any, schema: Any, deliveries: Any, *rest: Any) -> None:
        found.append(len(deliveries))
        original(con, schema, deliveries, *rest)

    monkeypatch.setattr(derive, "read_once", counted)
    return found


def two_of_every_kind(folder: Path) -> Organisation:
    """Two deliveries of each source, with other rows and keys."""
    organisation, exports = whole_company(folder), folder / "exports"
    organisation.deliver(
        [bill_line(4.0, day="2026-05-03", number=3, bill_payer_account_id="000000000018")], at="2026-06-02", month="2026-05"
    )
    organisation.deliver_aws_focus(
        [bill_line(4.0, day="2026-05-03")], at="2026-06-02", month="2026-05", BillingAccountId="000000000f0d"
    )
    organisation.deliver_carbon(
        [carbon_row(3.0, month="2026-05", version="v3.0.10")], at="2026-06-01", month="2026-05", version="v3.0.10"
    )
    organisation.deliver_google("2026-04-04", hour("2026-03-31T23:00", invoice_month="202605"), at="2026-04-05")
    organisation.deliver_focus("2026-04-04", hour("2026-03-31T23:00"), at="2026-04-05", BillingAccountId="G")
    organisation.deliver_google_carbon("2026-05", {}, at="2026-06-05")
    organisation.deliver_prices("2026-05-04", price("TpuV6e", "2.7", "us-east5", "us-south1", day="2026-05-04"), at="2026-05-05")
    write_samples(exports / "neuron/run=b/host=i-2/20260501T000000Z.jsonl", "2026-05-01T00:00:30Z", at="2026-05-02")
    write_points(exports / "tpu/more.json", "2026-05-01T00:01:00Z", at="2026-05-02", run="b")
    write_profile(exports / "profiles/plugins/profile/s/host-2.xplane.pb", at="2026-05-02")
    write_run(exports / "runs/b.run.json", "b", at="2026-05-02", aliases=[{"system": "slurm", "id": "7"}])
    metered = {
        "neuron-power/host=i-2/neuron0.txt": POWER,
        "gpu/host=i-3/dcgm.prom": GPU,
        "rack/b.csv": RACK.replace("i-1", "i-2"),
        "metrics/b.json": METRICS.replace("i-3", "i-4"),
        "events/run=b/host=i-5/wandb-events.jsonl": EVENTS,
        "water/payer=000011112222/2026.json": WATER.replace("1.5", "3.5"),
        "totals/b.csv": TOTALS.replace("2026-0", "2025-0"),
    }
    for name, text in metered.items():
        (exports / name).parent.mkdir(parents=True, exist_ok=True)
        (exports / name).write_text(text)
        set_time(exports / name, "2026-05-02")
    for name, text in (("fx/more.csv", RATES.replace("2026-04-0", "2026-04-2")), ("own/more.csv", OWN.replace("us-", "eu-"))):
        (exports / name).write_text(text)
        set_time(exports / name, "2026-05-02")
    return organisation


def told(landed: list[Landed]) -> dict[tuple[str, str], Any]:
    """What became of each delivery."""
    return {
        (one.source, one.partition): (
            one.outcome,
            one.generation,
            one.contents,
            one.refusal and replace(one.refusal, refusals=[]),
        )
        for one in landed
    }


def test_deliveries_of_every_kind_that_are_read_together_are_what_each_is_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, readings: list[int]
) -> None:
    together = two_of_every_kind(tmp_path / "together")
    found = together.refresh()
    assert readings == [2] * len(SOURCES)
    readings.clear()
    monkeypatch.setattr(fetching, "TOGETHER", 1)
    alone = two_of_every_kind(tmp_path / "alone")
    expected = alone.refresh()
    assert readings == [1] * 2 * len(SOURCES)
    assert told(found) == told(expected)
    assert {one.outcome for one in found} == {"landed"}
    assert together.files() == alone.files()


def a_record(folder: Path, name: str, text: str | None = None) -> None:
    path = folder / f"exports/runs/{name}.run.json"
    write_run(path, name, at="2026-05-02")
    if text is not None:
        path.write_text(text)
        set_time(path, "2026-05-02")


def test_one_bad_record_is_refused_and_the_others_are_still_read_together(tmp_path: Path, readings: list[int]) -> None:
    organisation = Organisation(tmp_path, RUNS)
    for name, text in (("a", None), ("b", "{"), ("c", None)):
        a_record(tmp_path, name, text)
    assert [one.outcome for one in organisation.refresh()] == ["landed", "refused", "landed"]
    assert readings == [2]


def test_where_the_common_reading_fails_each_is_read_by_itself_and_the_wrong_one_is_named(
    tmp_path: Path, readings: list[int]
) -> None:
    organisation = Organisation(tmp_path)
    for month in ("2026-03", "2026-04", "2026-05"):
        line = bill_line(day=f"{month}-01", line_item_usage_type="UsageTypeX")
        organisation.deliver([line], at="2026-06-02", month=month)
    bill = next((tmp_path / "exports/cur/data/BILLING_PERIOD=2026-04").iterdir())
    bill.write_bytes(bill.read_bytes().replace(b"UsageTypeX", b"UsageType\xff"))
    set_time(bill, "2026-06-02")
    march, april, may = organisation.refresh()
    assert [one.outcome for one in (march, april, may)] == ["landed", "refused", "landed"]
    assert april.refusal is not None
    assert april.refusal.refusals[0].column_name == "line_item_usage_type"
    assert readings[:2] == [3, 1]


def test_a_surprise_in_the_common_reading_is_no_judgement_about_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    organisation = Organisation(tmp_path, RUNS)
    for name in ("a", "b"):
        a_record(tmp_path, name)
    derive = Deriver.derive
    monkeypatch.setattr(Deriver, "derive", lambda self, fetched: derive(self, fetched) if len(fetched) == 1 else 1 / 0)
    assert organisation.outcomes() == {"landed": 2}


def listed(partition: str, size: int = 10) -> Delivery:
    return Delivery(
        "training_runs", partition, "", instant("2026-05-02"), (ObjectInfo(partition, size, "", dt.datetime.now(dt.UTC)),)
    )


def test_together_are_small_deliveries_of_one_source_and_never_two_of_a_partition() -> None:
    runs, more = (SourceSettings(name=name, kind="training_runs", location="x") for name in ("runs", "more"))
    wanted = [
        *((runs, listed(name)) for name in ("a", "b", "b", "c")),
        (runs, listed("large", SMALL + 1)),
        (runs, listed("d")),
        (more, listed("e")),
        *((more, listed(str(number))) for number in range(TOGETHER)),
    ]
    found = [(source.name, [one.partition for one in batch]) for source, batch in batches(wanted)]
    numbers = [str(number) for number in range(TOGETHER)]
    assert found == [
        ("runs", ["a", "b"]),
        ("runs", ["b", "c"]),
        ("runs", ["large"]),
        ("runs", ["d"]),
        ("more", ["e", *numbers[:-1]]),
        ("more", numbers[-1:]),
    ]


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.landing.kit import Organisation
calls = 0
def count(event, arguments):
    global calls
    if event in ("open", "os.rename", "os.mkdir", "shutil.rmtree") and {home!r} in str(arguments[0]):
        calls += 1
        if calls == {instant}:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(count)
Organisation(Path({folder!r}), {runs!r}).refresh()
print(calls)
"""


@pytest.mark.slow
def test_a_kill_while_some_are_landed_together_leaves_whole_generations_and_the_rest_for_the_next_refresh(
    tmp_path: Path, killed_after: Callable[[str, int], tuple[Organisation, subprocess.CompletedProcess[str]]]
) -> None:
    whole, finished = killed_after("whole", 0)
    assert finished.returncode == 0, finished.stderr
    for number in nightly.drawn(3, range(1, int(finished.stdout) + 1, 3)):
        organisation, killed = killed_after(f"killed-{number}", number)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert {name: data for name, data in organisation.files().items() if not name.startswith(".staging")}.items() <= (
            whole.files().items()
        )
        organisation.refresh()
        assert organisation.files() == whole.files()
        assert list((organisation.landing / ".staging").iterdir()) == []


@pytest.fixture
def killed_after(tmp_path: Path) -> Callable[[str, int], tuple[Organisation, subprocess.CompletedProcess[str]]]:
    def run(name: str, number: int) -> tuple[Organisation, subprocess.CompletedProcess[str]]:
        organisation = Organisation(tmp_path / name, RUNS)
        for one in ("a", "b", "c"):
            a_record(tmp_path / name, one)
        script = KILLED.format(
            root=str(Path(__file__).resolve().parents[2]),
            home=str(organisation.folder / "home"),
            folder=str(organisation.folder),
            runs=RUNS,
            instant=number,
        )
        return organisation, subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    return run
