"""Telemetry names where its machine is, by a region or by a zone; what is neither names nothing and costs no sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from connectors.telemetry.regions import region_in, region_of
from tests.connectors import neuron
from tests.connectors.kit import converted, rows_of, write_bytes


@pytest.mark.parametrize(
    ("place", "region"),
    [
        ("us-east-1", "us-east-1"),
        ("us-east-1a", "us-east-1"),
        ("us-gov-west-1b", "us-gov-west-1"),
        ("us-central2-b", "us-central2"),
        ("us-central1-ai1a", "us-central1"),
        ("northamerica-northeast1", "northamerica-northeast1"),
        ("us-west-2-lax-1a", None),  # a local zone
        ("team-prod1-a", None),  # a project
        ("us-central1-b ", None),
        ("use1-az1", None),
        ("us", None),
        ("", None),
        (None, None),
    ],
)
def test_a_zone_lies_in_its_region_and_what_is_neither_in_none(place: str | None, region: str | None) -> None:
    assert region_of(place) == region


def test_the_path_of_a_machine_names_its_region_unless_it_names_two() -> None:
    assert region_in("us-central2-b/n-1") == "us-central2"
    assert region_in("//tpu.googleapis.com/projects/p/locations/us-west4-a/nodes/n-1") == "us-west4"
    assert region_in("us-central2-b") is region_in("gke-us-central2-b-pool/n") is region_in("us-east1-b/us-west1-a/n") is None


@pytest.mark.parametrize(
    ("instance", "region"),
    [
        ({"instance_region": "us-west-2", "instance_availability_zone": "us-west-2b"}, "us-west-2"),
        ({"instance_region": "", "instance_availability_zone": "us-west-2b"}, "us-west-2"),
        ({"instance_region": "", "instance_availability_zone": ""}, None),
        ({}, None),
    ],
)
def test_a_neuron_document_names_the_region_of_its_instance(tmp_path: Path, instance: dict[str, str], region: str | None) -> None:
    document = neuron.document(neuron.runtime(50, 50), instance_info={"instance_id": "i-0abc", "error": "", **instance})
    (row,) = rows_of(neuron.read(tmp_path, neuron.wrapped(document)))
    assert (row["region_id"], row["utilisation_ratio"]) == (region, 0.5)


def series(labels: dict[str, str], host: str = "7001", **metadata: Any) -> bytes:
    return neuron.packed(
        {
            "metric": {"type": "tpu.googleapis.com/accelerator/duty_cycle", "labels": {"accelerator_id": f"{host}-0"}},
            "resource": {"type": "tpu.googleapis.com/GceTpuWorker", "labels": labels},
            "metadata": metadata,
            "points": [{"interval": {"endTime": "2026-04-01T12:01:00Z"}, "value": {"int64Value": "50"}}],
        }
    )


@pytest.mark.parametrize(
    ("content", "region"),
    [
        (series({"location": "us-central2-b"}), "us-central2"),
        (series({"zone": "us-central2-b", "location": "global"}), "us-central2"),
        (series({"location": "us-east5"}, userLabels={"location": "europe-west4", "zone": "us-west1-a"}), "us-east5"),
        (series({}, userLabels={"zone": "us-west1-a"}, systemLabels={"zone": "a"}), None),  # a user's word, no evidence
        (series({}, host="projects/p/locations/us-west4-a/nodes/n-1"), "us-west4"),
        (series({}), None),
    ],
)
def test_a_tpu_point_names_the_region_of_its_resource(tmp_path: Path, content: bytes, region: str | None) -> None:
    write_bytes(tmp_path / "tpu" / "2026-04-01.jsonl", content)
    (row,) = rows_of(converted("tpu_monitoring", tmp_path / "tpu", tmp_path / "landing"))
    assert (row["region_id"], row["utilisation_ratio"]) == (region, 0.5)


def test_a_scrape_names_the_region_in_its_labels(tmp_path: Path) -> None:
    line = b'duty_cycle{accelerator_id="7001-0",make="cloud-tpu",zone="us-central2-b"} 50\n'
    write_bytes(tmp_path / "tpu" / "2026-04-01T12:00:00Z.prom", line)
    (row,) = rows_of(converted("tpu_monitoring", tmp_path / "tpu", tmp_path / "landing"))
    assert row["region_id"] == "us-central2"
