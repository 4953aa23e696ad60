"""A number in a file sizes nothing: what a small file would become is read in seconds, or refused by its field."""

from __future__ import annotations

import copy
import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connectors.errors import ExportContentError
from connectors.formats.costs import MOST, allowance, spend
from connectors.power.neuron_exporters import Scrapes
from connectors.power.readings import Owner
from connectors.runs.host_lists import hosts_of
from connectors.runs.run_records import RecordError
from connectors.telemetry.samples import Problems
from tests.connectors import mlperf
from tests.connectors.forms import BESIDE, JSON_BASES, TEXT_BASES, content_of
from tests.connectors.kit import converted, write_bytes
from tests.connectors.records import part, read, refused
from tests.connectors.test_connector_job_forms import PARENT

SECONDS = 10.0  # of a machine with other work; a usual file takes hundredths


@pytest.fixture(autouse=True)
def in_seconds() -> Iterator[None]:
    begun = time.process_time()
    yield
    assert time.process_time() - begun < SECONDS


def changed(document: Any, at: tuple[Any, ...], value: Any) -> Any:
    """The document with another value at a path."""
    if not at:
        return value
    document = copy.copy(document)
    document[at[0]] = changed(document[at[0]], at[1:], value)
    return document


def form(tmp_path: Path, name: str, content: bytes, beside: dict[str, str] | None = None) -> Any:
    """What the connector makes of a file of a form."""
    kind, key, _ = {**JSON_BASES, **TEXT_BASES}[name]
    write_bytes(tmp_path / "source" / key, content)
    for other, text in (BESIDE.get(name, {}) if beside is None else beside).items():
        write_bytes(tmp_path / "source" / other, text.encode())
    return converted(kind, tmp_path / "source", tmp_path / "landing")


def document_of(tmp_path: Path, name: str, at: tuple[Any, ...], value: Any) -> Any:
    _, key, document = JSON_BASES[name]
    return form(tmp_path, name, content_of(changed(document, at, value), key))


@pytest.mark.parametrize(
    "at",
    [(0, "status", "restarts"), (1, "metadata", "labels", "jobset.sigs.k8s.io/restart-attempt")],
    ids=["restarts", "attempt"],
)
def test_a_jobset_that_restarted_a_quarter_of_a_billion_times_is_read(tmp_path: Path, at: tuple[Any, ...]) -> None:
    """The number is a time that an operator wrote into the wrong field; the attempts that have pods are the same as ever."""
    result = document_of(tmp_path, "runs kubernetes", ("items", *at), 253402300799)
    assert [row["attempt_id"] for row in part(result, "attempt")][-1] == "253402300800"
    assert len(part(result, "attempt")) <= 3


@pytest.mark.parametrize(
    "nodes",
    [
        "a" * 20_000 + "[0-99999]",
        "node[" + ",".join(["0-99999"] * 2500) + "]",
        "node" + "[0-999]" * 2500,
        "node[0-99999999]",
        ",".join(f"{letter}[0-29999]" for letter in "abcdefgh"),
    ],
    ids=["long names", "ranges", "brackets", "one range", "many"],
)
def test_a_list_of_machines_costs_no_more_than_it_may_name(nodes: str) -> None:
    with pytest.raises((RecordError, ExportContentError)) as caught:
        hosts_of(nodes)
    assert caught.value.reason == "too_costly"


def test_many_lists_of_one_file_are_refused_with_their_field(tmp_path: Path) -> None:
    _, _, document = JSON_BASES["runs slurm"]
    [job] = document["jobs"]
    jobs = [{**job, "job_id": number, "nodes": "a[0-59999]", "steps": []} for number in range(7)]
    error = refused(tmp_path, {**document, "jobs": jobs}, "sacct.json")
    assert (error.reason, error.column_name, error.value) == ("too_costly", "nodes", "a[0-59999]")
    assert "sacct.json: nodes makes more than" in error.message and "in parts" in error.remedy


def test_a_system_of_a_million_nodes_is_refused(tmp_path: Path) -> None:
    system = json.dumps({**mlperf.SYSTEM, "number_of_nodes": "999999"})
    with pytest.raises(ExportContentError) as caught:
        form(tmp_path, "runs text mllog", mlperf.run_log().encode(), {"Acme/systems/4xTPU.json": system})
    assert (caught.value.reason, caught.value.column_name) == ("too_costly", "number_of_nodes")


def test_attempts_of_one_name_stay_apart_however_many_they_are(tmp_path: Path) -> None:
    result = read(tmp_path, {"training_run_id": "a", "attempts": [{"attempt_id": "x"}] * 20_000})
    names = [row["attempt_id"] for row in part(result, "attempt")]
    assert names[:3] == ["x", "x'", "x''"]
    assert len({*names}) == 20_000


def test_documents_of_many_devices_become_no_more_rows_than_their_file_allows(tmp_path: Path) -> None:
    _, key, document = JSON_BASES["neuron_monitor bare"]
    hardware = {"neuron_device_count": 1024, "neuroncore_per_device_count": 64}
    line = content_of({**document, "neuron_runtime_data": [], "neuron_hardware_info": hardware}, key)
    with pytest.raises(ExportContentError, match="becomes more than") as caught:
        form(tmp_path, "neuron_monitor bare", gzip.compress((line + b"\n") * 700))
    assert caught.value.reason == "too_costly"


def test_a_scrape_of_a_million_cores_is_read_by_those_that_it_has() -> None:
    scrapes, owner = Scrapes(), Owner("i-1", None)
    for second in range(200):
        time_ = 1_775_001_600_000_000 + second
        scrapes.add(owner, time_, 1, "neuron_hardware_info", dict.fromkeys(
            ("neuron_device_count", "neuroncore_per_device_count"), "1024"), 1.0)  # fmt: skip
        scrapes.add(owner, time_, 1, "neuroncore_utilization_ratio", {"neuroncore": "5"}, 0.5)
    first = next(scrapes.readings(Problems(), is_end=True))
    assert first.utilisation_ratio == round(0.5 / 1024, 12)
    assert sum(1 for _ in scrapes.readings(Problems(), is_end=True)) == 199 * 1024


HUGE = "9" * 5000
CUSTOM = ("pipelineJobs", 0, "jobDetail", "taskDetails", 1, "executorDetail", "customJobDetail")
FIELDS: list[tuple[str, tuple[Any, ...], Any, str]] = [
    ("runs vertex_pipeline", (*CUSTOM, "failedJobs"), 5, "failedJobs"),
    ("runs vertex_pipeline", (*CUSTOM, "job"), True, "job"),
    ("runs slurm", ("jobs", 0, "tres", "allocated", 1, "count"), 10**30, "chips"),
    ("runs slurm", ("jobs", 0, "tres", "allocated", 1, "count"), 1e308, "chips"),
    ("runs run_json", ("attempts", 0, "nodes", 0, "chips"), 2**62, "attempts[0].nodes[0].chips"),
    ("runs batch", ("jobs",), [{**PARENT, "nodeProperties": {"numNodes": 2**62}}], "node_count"),
    ("runs maxtext", (0, "perf/per_device_tflops",), 1e300, "device_flops"),
    ("runs maxtext", (0, "perf/step_time_seconds"), 1e13, "seconds"),
    ("runs run_json", ("tokens",), 2**62, "tokens"),
    ("runs run_json", ("model_flops",), 1e308, "model_flops"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "at", "value", "field"), FIELDS)
def test_a_value_of_another_type_or_size_is_refused_by_its_field(
    tmp_path: Path, name: str, at: tuple[Any, ...], value: Any, field: str
) -> None:
    try:
        result = document_of(tmp_path, name, at, value)
    except ExportContentError as error:
        found = [error.column_name]
    else:
        found = [refusal.column_name for refusal in result.refusals]
    assert field in found


TEXTS = [
    ("runs text sacct", "4164_7|", f"{HUGE}_7|", "JobID"),
    ("runs text sacct", "|4170|", f"|{HUGE}|", "JobIDRaw"),
    ("runs text sacct", "h100=24", f"h100={HUGE}", "AllocTRES"),
    ("runs text ray", "start_time=1782864000000", f"start_time={HUGE}", "start_time"),
    ("runs text hyperpod", "Preempted,24,", "Preempted,1e308,", "totalutilizationgpuhours"),
    ("runs text maxtext", "Num_devices: ", f"Num_devices: {HUGE}", "Num_devices"),
    ("power_meters codecarbon", ",3600,", ",9223372036854775807,", "duration"),
    ("power_meters codecarbon", ",3600,", ",1e308,", "duration"),
    ("power_meters mlperf", "0.94", "1e308", "1 left out"),
]


@pytest.mark.parametrize(("name", "old", "new", "field"), TEXTS)
def test_a_number_of_any_length_in_a_text_is_refused_by_its_field(
    tmp_path: Path, name: str, old: str, new: str, field: str
) -> None:
    text = TEXT_BASES[name][2]
    assert old in text
    try:
        result = form(tmp_path, name, text.replace(old, new, 1).encode())
    except ExportContentError as error:
        assert (error.reason, error.column_name) == ("wrong_type", field)
    else:
        assert [refusal.reason for refusal in result.refusals][:1] in (["bad_time"], ["wrong_power"])


def test_joules_that_no_job_can_use_are_unknown(tmp_path: Path) -> None:
    """A counter that ran over: as a figure too large for every table it kept each later build from being published."""
    result = document_of(tmp_path, "runs slurm", ("jobs", 0, "steps", 1, "statistics", "energy", "consumed"), 2**62)
    assert {row["energy_j"] for row in part(result, "reading")} == {500.0}


def test_what_is_made_is_counted_by_file(tmp_path: Path) -> None:
    with allowance("a.json", "s/a.json", 10):
        spend(MOST + 10)
        with pytest.raises(ExportContentError, match=r"s/a\.json: nodes makes more than 500010 rows of this file"):
            spend(1, "nodes", "x")
    spend(MOST)  # by itself each call counts alone
