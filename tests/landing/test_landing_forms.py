"""Every form of file, its values replaced by other types and by numbers that are valid and huge: read in seconds, or refused.

One base a form; the seed of a mutant chooses form, place and value, and a failure names it. Each is read by its connector, each
tenth by the whole reading that lands it. A process of its own, whose memory is measured file by file.
"""

from __future__ import annotations

import copy
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from connectors.deliveries import Converted, Delivery
from connectors.errors import ConnectorError
from connectors.power import gpu_monitoring, neuron_power
from connectors.registry import DESCRIPTORS, KINDS, connector_for
from connectors.runs import training_runs
from connectors.runs.training_runs import FORMS, REGISTRATION, TEXT_FORMS
from connectors.stores import ObjectStore
from connectors.stores.local import LocalStore
from connectors.telemetry import tpu_monitoring
from dagster_project.base.failures import UsageError
from dagster_project.landing.deriving.derive import Deriver
from dagster_project.landing.fetching import Fetched
from dagster_project.landing.records import LandedObject
from dagster_project.settings import load_settings
from tests import nightly
from tests.connectors.forms import BESIDE, JSON_BASES, TEXT_BASES, content_of

pytestmark = pytest.mark.slow

ALL, FEW = 10_000, 400
RUNS = ALL if nightly.IS_NIGHTLY else FEW
FIRST_SEED = int(os.environ.get("TRAINLEDGER_FUZZ_SEED") or (1 if RUNS > FEW else 1 + nightly.seed() % (ALL // FEW) * FEW))
CPU_SECONDS, MEMORY = 8, 700 << 10  # of one file; KiB above what the process held before it
DERIVED = 10  # one mutant of so many is read as landing reads it
NUMBERS = [0, -1, 5, 1.5, 10**6, 99_999, 253402300799, 2**62, 2**63 - 1, 2**64, 10**30, 1e308, -1e308, int("9" * 400)]
TEXTS = [
    *("", "x", "\x00", "\ud800", "nan", "1e999", "-1", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-04-01T00:00:00Z"),
    *("253402300799", "9" * 20, "9" * 5000, "a" * 70_000, "[" * 3000, "10^2.%", "65536x65536"),
    *("node[0-99999999]", "node[0-99999,0-99999]", "n[0-999][0-999]", "a" * 20_000 + "[0-99999]"),
]
VALUES = [None, True, False, [], {}, [5], [None], [[]], [{}], {"a": 5}, *NUMBERS, *TEXTS]
CONFIGURATION = """organisation: {name: Example AG, reporting_currency: USD}
home: ./home
memory_limit: 1500MB
publish_mode: 0640
run_tag_keys: [training_run_id]
reporting: {restatement_threshold: 0.05, base_year: 2026}
sources:
- {name: cur, kind: aws_cur, location: ./cur, months: 2026-04.., retention: {open_month_days: 3}, book: true}
- {name: bill, kind: gcp_billing, location: bq://acme-billing.exports.bill, maximum_bytes_billed: 100000000, look_back_days: 95}
"""
BASES: dict[str, tuple[str, str, Any]] = {**JSON_BASES, **TEXT_BASES, "configuration": ("", "trainledger.yaml", CONFIGURATION)}
NAMES = sorted(BASES)
_WORD = re.compile(r"\d+(?:\.\d+)?|[A-Za-z_]+")


def places(document: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value of a document."""
    yield at
    for key in document if isinstance(document, dict) else range(len(document)) if isinstance(document, list) else ():
        yield from places(document[key], (*at, key))


def changed(document: Any, at: tuple[Any, ...], value: Any) -> Any:
    if not at:
        return value
    document = copy.copy(document)
    document[at[0]] = changed(document[at[0]], at[1:], value)
    return document


def mutant(name: str, draw: random.Random) -> bytes:
    """One or two values of a base replaced; of a text one or two numbers or words."""
    _, key, document = BASES[name]
    for _ in range(draw.choice([1, 1, 2])):
        if isinstance(document, str):
            found = draw.choice([*_WORD.finditer(document)] or [re.match("", document)])
            assert found
            document = f"{document[: found.start()]}{draw.choice([*NUMBERS, *TEXTS])}{document[found.end() :]}"
        else:
            document = changed(document, draw.choice([*places(document)]), draw.choice(VALUES))
    return content_of(document, key)


def read(name: str, folder: Path, deriver: Deriver | None) -> str:
    """What becomes of a file: rows, or the reason why not. Anything else is raised."""
    kind = BASES[name][0]
    if not kind:
        try:
            load_settings(folder / "source/trainledger.yaml")
        except UsageError:
            return "refused"
        return "taken"
    store: ObjectStore = LocalStore(str(folder / "source"), folder)
    outcome = "nothing"
    try:
        for one in connector_for(kind).find_deliveries(store):
            outcome = converted(kind, one, folder, deriver) if isinstance(one, Delivery) else "refused"
    except ConnectorError:
        return "refused"
    return outcome


def converted(kind: str, one: Delivery, folder: Path, deriver: Deriver | None) -> str:
    files = {info.key: folder / "source" / info.key for info in (*one.objects, one.manifest) if info}
    if deriver:
        infos = [info for info in (*one.objects, one.manifest) if info]
        objects = [LandedObject(**asdict(info), file=info.key, role="data", sha256="") for info in infos]
        [contents] = deriver.derive([Fetched(one, folder / "source", objects, folder / "made", "0" * 64, "source", "1")])
        return "taken" if contents.is_taken else "refused"
    found: Converted = connector_for(kind).convert(one, files, folder / "made", "source")
    return "taken" if found.rows else "refused"


def write(name: str, content: bytes, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "made").mkdir(parents=True)
    for key, data in {**{other: text.encode() for other, text in BESIDE.get(name, {}).items()}, BASES[name][1]: content}.items():
        path = folder / "source" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def held() -> tuple[int, int]:
    """KiB that this process holds, and held at most since the last call."""
    status = Path("/proc/self/status").read_text()
    now, most = (int(re.findall(rf"{name}:\s+(\d+) kB", status)[0]) for name in ("VmRSS", "VmHWM"))
    Path("/proc/self/clear_refs").write_text("5")
    return now, most


def fuzz(folder: Path) -> dict[str, Any]:
    """Read mutants one after another; what became of them, and the costliest."""
    deriver = Deriver(folder / "spill", "500MB")
    outcomes: Counter[str] = Counter()
    longest, largest = (0.0, ""), (0, "")
    for seed in range(FIRST_SEED, FIRST_SEED + RUNS):
        draw = random.Random(seed)
        name = NAMES[seed % len(NAMES)]
        try:
            content = mutant(name, draw)
        except (ValueError, UnicodeError):  # what JSON or UTF-8 cannot hold
            continue
        write(name, content, folder / "file")
        before, _ = held()
        begun = time.process_time()
        signal.alarm(60)  # a hang ends the process with its seed in the traceback
        try:
            outcomes[read(name, folder / "file", deriver if seed % DERIVED == 0 else None)] += 1
        except BaseException as error:
            raise AssertionError(f"seed {seed}, {name}: {content[:2000]!r}") from error
        signal.alarm(0)
        longest = max(longest, (round(time.process_time() - begun, 2), f"seed {seed}, {name}"))
        largest = max(largest, (held()[1] - before, f"seed {seed}, {name}"))
    return {"outcomes": outcomes, "longest": longest, "largest": largest, "cpu_seconds": round(time.process_time())}


def _hangs(*_: object) -> None:
    raise TimeoutError("it never ended")


def main(folder: Path) -> None:
    """The fuzzer as a process of its own, which may not take the machine with it."""
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    signal.signal(signal.SIGALRM, _hangs)
    print(json.dumps(fuzz(folder)))


def test_no_value_of_any_form_hangs_bursts_or_surprises(tmp_path: Path) -> None:
    """What fails is made again by `TRAINLEDGER_FUZZ_SEED=<seed> pytest tests/landing/test_landing_forms.py`."""
    command = [sys.executable, "-m", "tests.landing.test_landing_forms", str(tmp_path)]
    done = subprocess.run(command, cwd=Path(__file__).resolve().parents[2], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    stated = json.loads(done.stdout)
    print(f"seeds {FIRST_SEED} to {FIRST_SEED + RUNS - 1}: {stated}")
    assert stated["outcomes"].keys() <= {"taken", "refused", "nothing"} and stated["outcomes"]["taken"] > RUNS / 10
    assert stated["longest"][0] < CPU_SECONDS, stated["longest"]
    assert stated["largest"][0] < MEMORY, stated["largest"]


def test_every_form_has_a_base() -> None:
    """Forms as their connectors list them, readers as their kinds list them, and every kind at least once."""
    forms = {f"runs {form.name}" for form in (*FORMS, REGISTRATION)} | {"runs text mllog"}
    forms |= {f"runs text {form.name}" for form in TEXT_FORMS}
    assert forms == {name for name, (kind, _, _) in BASES.items() if kind == training_runs.KIND}
    tables: dict[str, Any] = {
        kind: connector_for(kind)
        for kind in KINDS
        if DESCRIPTORS[kind].fact == "inputs" and kind not in ("gcp_prices", "aws_water")
    }
    listed = {f"{kind} {form.name}": (form, connector) for kind, connector in tables.items() for form in connector.FORMS}
    assert listed.keys() | {"provider_totals answer"} == {name for name, (kind, _, _) in BASES.items() if kind in tables}
    for name, (form, connector) in listed.items():  # and is of that form, not of one before it
        header = BASES[name][2].partition("\n")[0].split(",")
        assert next(one for one in connector.FORMS if one.mark in (None, *header)) is form
    for module in (tpu_monitoring, neuron_power, gpu_monitoring):
        keys = [key for kind, key, _ in BASES.values() if kind == module.KIND]
        assert all(any(key.endswith(endings) for key in keys) for endings in module._READERS)
    assert {*KINDS} == {kind for kind, _, _ in BASES.values() if kind}


@pytest.mark.parametrize("name", NAMES)
def test_every_base_is_read_with_rows(tmp_path: Path, name: str) -> None:
    write(name, content_of(BASES[name][2], BASES[name][1]), tmp_path / "file")
    assert read(name, tmp_path / "file", None) == "taken"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
