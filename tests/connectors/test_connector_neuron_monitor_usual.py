"""Usual documents are read in a few steps, odd ones with care: both ways give the same rows and the same refusals."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from connectors.deliveries import Converted
from connectors.telemetry import converting, neuron_monitor
from tests.connectors.kit import rows_of
from tests.connectors.neuron import document, read, runtime, wrapped

SMALL = settings(max_examples=60, deadline=None)

percents = st.one_of(st.floats(0, 100), st.sampled_from([0, 100, 100.5, 1e308, 33.333333333333336, -0.0]))
oddities = st.sampled_from([None, None, -1.0, "12", "NaN", True, 10**400, {}])
rates = st.one_of(st.none(), st.integers(0, 10**15), st.floats(0, 1e308))
core_names = st.sampled_from([*"01234567", "00", "07", "8", "x"])
halves = st.dictionaries(
    st.sampled_from(["nc_v3.0", "nc_v3.1"]), st.fixed_dictionaries({"neuroncore_utilization": st.one_of(percents, st.none())})
)


@st.composite
def listed_cores(draw: st.DrawFn) -> Any:
    """Cores in any order; of some lists each, of others a few, of others not even a core is what it should be."""
    some = st.lists(st.sampled_from("01234567"), unique=True)
    names = draw(st.one_of(st.permutations("01234567"), some, some, st.lists(core_names, unique=True)))
    name_of_rates = draw(st.sampled_from(["flops", "effective_flops", "other"]))
    cores: dict[str, Any] = {}
    for name in names:
        cores[name] = {"neuroncore_utilization": draw(percents), name_of_rates: draw(st.integers(0, 10**14))}
    for name in draw(st.sampled_from([[], [], [*names][:1], [*names][-2:]])):
        field = draw(st.sampled_from(["neuroncore_utilization", "flops", "effective_flops", "v3d"]))
        cores[name][field] = draw(st.one_of(oddities, rates, halves))
        if draw(st.sampled_from([False, False, True])):
            cores[name].pop("neuroncore_utilization", None)
    return cores


@st.composite
def drawn_documents(draw: st.DrawFn) -> dict[str, Any]:
    runtimes = []
    for _ in range(draw(st.integers(0, 3))):
        one = runtime()
        one["report"]["neuroncore_counters"]["neuroncores_in_use"] = draw(listed_cores())
        one["neuron_runtime_tag"] = draw(st.sampled_from(["4711", "job-9"]))
        runtimes.append(one)
    runtimes += runtimes[: draw(st.integers(0, 1))]  # the same one twice
    devices, cores = draw(st.sampled_from([(4, 2), (4, 2), (2, 4), (8, 1), (1, 8), (3, 3), (1, 1)]))
    made = document(*runtimes, devices=devices, cores=cores)
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
        steps = draw(st.lists(st.integers(0, 9), min_size=5, max_size=5))
        _spoil(made, steps, draw(st.sampled_from([None, "broken", [], 0, -5])))
    return made


def _spoil(value: Any, steps: list[int], put: Any) -> None:
    """Take away or replace something, at some depth."""
    for step in steps:
        inner = value.keys() if isinstance(value, dict) else range(len(value))
        if not inner:
            return
        key = [*inner][step % len(inner)]
        if step >= 7 or not isinstance(value[key], dict | list):
            value[key] = put
            if step == 9 and isinstance(value, dict):
                del value[key]
            return
        value = value[key]


def with_rates(*flops: float | None) -> dict[str, Any]:
    """A runtime whose cores have operations per second; None leaves a core out."""
    made = runtime(*[None if rate is None else 50 for rate in flops])
    for name, core in made["report"]["neuroncore_counters"]["neuroncores_in_use"].items():
        core["effective_flops"] = flops[int(name)]
    return made


def outcome_of(result: Converted) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Rows as written, so that also the sign of a zero counts, and what was left out."""
    return [repr(row) for row in rows_of(result)], [
        (one.reason, one.row_number, one.value, one.message) for one in result.refusals
    ]


@SMALL
@given(st.lists(drawn_documents(), min_size=1, max_size=4), st.booleans())
@example([document(runtime(60, 150), devices=2), document(runtime(80, 90), runtime(30, 5), devices=2)], False)
@example([document(runtime(50, -1)), document(with_rates(1), devices=2), document(with_rates(1e308, 1e308))], False)
@example([document(with_rates(1e308, None, 1e308), with_rates(None, -1e308), cores=3)], True)
@example([document(runtime(1e308, 1e308), runtime(1e308, 1e308))], True)
@example([document(runtime(-0.0, -0.0, -0.0, -0.0), devices=2)], True)
def test_both_ways_read_every_document_alike(
    tmp_path_factory: pytest.TempPathFactory, documents: list[dict[str, Any]], is_bare: bool
) -> None:
    lines = [one if is_bare else wrapped(one, f"2026-04-01T12:00:{5 * n:02}Z") for n, one in enumerate(documents, start=1)]
    folder = tmp_path_factory.mktemp("ways")
    usual = outcome_of(read(folder / "usual", *lines, key="host=h/20260401T120000Z.jsonl"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neuron_monitor, "usual_devices", lambda document: None)
        careful = outcome_of(read(folder / "careful", *lines, key="host=h/20260401T120000Z.jsonl"))
    assert usual == careful


@pytest.mark.parametrize(
    "runtimes",
    [
        [runtime(*range(32))],
        [runtime(*range(32)), runtime(*[50] * 32)],  # every runtime lists every core
        [runtime(*[None] * (2 * rank), 10, 20) for rank in range(16)],  # each lists its own
        [runtime(10)],
        [],
    ],
)
def test_a_usual_document_takes_no_step_per_core(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runtimes: list[dict[str, Any]]
) -> None:
    """Also one in which the names of the cores stand as Go writes them: 0, 1, 10, 11."""
    for one in runtimes:
        counters = one["report"]["neuroncore_counters"]
        counters["neuroncores_in_use"] = dict(sorted(counters["neuroncores_in_use"].items()))
    monkeypatch.setattr(neuron_monitor, "devices_of", None)
    assert read(tmp_path, wrapped(document(*runtimes, devices=16))).rows == 16


@SMALL
@given(st.lists(st.one_of(st.floats(0, 1), st.integers(0, 10**12).map(lambda whole: (whole + 0.5) / 1e12), st.none())))
@example([0.0, 1.0, 5e-13, 1.5e-12, math.nextafter(0.5, 0), None])
def test_ratios_are_rounded_as_each_would_be_by_itself(ratios: list[float | None]) -> None:
    found = converting._rounded(pa.array(ratios, pa.float64())).to_pylist()
    assert found == [None if ratio is None else round(ratio, 12) for ratio in ratios]


def test_a_large_file_is_written_in_small_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(converting, "_FLUSH", 10)
    lines = [wrapped(document(runtime(n, n), devices=4), f"2026-04-01T12:00:{n:02}Z") for n in range(20)]
    result = read(tmp_path, *lines)
    file = pq.ParquetFile(result.parts[0].path)
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [12] * 6 + [8]
    assert [row["line_number"] for row in rows_of(result)] == [1 + n // 4 for n in range(80)]


def test_texts_are_texts_in_the_parquet(tmp_path: Path) -> None:
    """They are written from dictionaries, which no reader should meet."""
    (part,) = read(tmp_path, wrapped(document(runtime(1, 2)))).parts
    assert pq.read_schema(part.path).equals(converting.measured_schema(neuron_monitor.COLUMNS_HERE))


def test_a_core_with_a_number_of_thousands_of_digits_is_out_of_range(tmp_path: Path) -> None:
    one = runtime()
    one["report"]["neuroncore_counters"]["neuroncores_in_use"] = {"9" * 5000: {"neuroncore_utilization": 1}}
    result = read(tmp_path, wrapped(document(one)), json.dumps(wrapped(document(runtime(1)))))
    assert (result.rows, [refusal.reason for refusal in result.refusals]) == (1, ["core_out_of_range"])
