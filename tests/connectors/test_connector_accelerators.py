"""One name for one accelerator, whoever writes it: run records, telemetry, managed jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from connectors.formats.accelerators import accelerator_type_of
from connectors.formats.tpu_names import node_chips_of
from connectors.runs.run_records import run_json_rows
from connectors.telemetry.samples import KeyFacts
from connectors.telemetry.tpu_monitoring import SHARED, series_of
from tests.connectors.kit import rows_of
from tests.connectors.neuron import document, read, wrapped


def nodes(*nodes: dict[str, Any]) -> list[tuple[str | None, int | None]]:
    times = {"started_at": "2026-04-01T00:00:00Z", "ended_at": "2026-04-01T01:00:00Z"}
    named = [{"resource_id": f"node-{number}"} | node for number, node in enumerate(nodes)]
    rows = run_json_rows({"training_run_id": "a", "attempts": [{"nodes": named} | times]})
    return [(row["accelerator_type"], row["chips"]) for row in rows if row["part"] == "node"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("v6e-8", "v6e"), ("ct6e-standard-8t", "v6e"), ("ml.trn1.32xlarge", "trn1.32xlarge"), ("tpu7x", "v7x"),
        ("TPU_V5_LITEPOD", "v5e"), ("trn2u.48xlarge", "trn2u.48xlarge"), (" Trn1.2xlarge ", "trn1.2xlarge"), ("v5p", "v5p"),
        ("ML.P5.48xlarge", "p5.48xlarge"), ("Wafer 9", "Wafer 9"), ("a2-highgpu-8g", "a2-highgpu-8g"), ("", None), (None, None),
        ("A3-HighGPU-8g", "a3-highgpu-8g"), ("a4-highgpu-8g-lowmem", "a4-highgpu-8g"), ("NVIDIA_H100_80GB", "nvidia-h100-80gb"),
        ("nvidia-tesla-a100", "nvidia-tesla-a100"), ("NVIDIA H100 80GB HBM3", "h100"), ("nvidia_h100_80gb_hbm3", "h100"),
        ("gres/gpu:h100", "h100"), ("gpu:h100", "h100"), ("a100", "a100"), ("NVIDIA A100-SXM4-40GB", "a100"), ("b200", "b200"),
        ("NVIDIA L40S", "l40s"), ("trainium2", "trn2"), ("neuron:Trainium", "trn1"), ("inferentia2", "inf2"),
        ("NVIDIA B300 SXM6 AC", "b300"), ("GB200", "gb200"), ("NVIDIA GB300", "gb300"), ("NVIDIA B200", "b200"),
        ("a4x-maxgpu-4g-metal", "a4x-maxgpu-4g"), ("tpu8i", "v8i"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000"), ("nvidia-rtx-pro-6000", "nvidia-rtx-pro-6000"),
        ("g4-standard-48", "g4-standard-48"), ("ml.p6e-gb200.36xlarge", "p6e-gb200.36xlarge"), ("TPU 8t", "v8t"),
        # cards of other watts, and a part of one
        ("NVIDIA H100 PCIe", "NVIDIA H100 PCIe"), ("NVIDIA_A100_80GB_PCIe_MIG", "nvidia-a100-80gb-pcie-mig"), ("l40", "l40"),
    ],
)  # fmt: skip
def test_every_spelling_of_a_type_is_one_and_an_unknown_name_stays_itself(name: str | None, expected: str | None) -> None:
    assert accelerator_type_of(name) == expected


@pytest.mark.parametrize(
    ("name", "count", "chips"),
    [
        ("v6e-8", 1, 8), ("v6e-8", 2, 8), ("v5litepod-4", 1, 4),
        # TensorCores, two on a chip
        ("v5p-8", 1, 4), ("v4-8", 1, 4), ("v3-8", 1, 4), ("tpu7x-8", 1, 4), ("v5p-1024", 1, 512),
        # a slice host by host, and two slices that are one node each
        ("v6e-16", 4, 4), ("v5p-1024", 128, 4), ("v6e-256", 2, 256),
        # what the number of an unknown generation counts is not known; a machine type's ending is chips
        ("v8t-16", 1, None), ("ct8t-standard-4t", 3, 4), ("trn1.32xlarge", 1, None), ("v6e", 1, None), (None, 1, None),
    ],
)  # fmt: skip
def test_a_name_states_the_chips_of_a_node(name: str | None, count: int, chips: int | None) -> None:
    assert node_chips_of(name, count) == chips


def test_a_record_gets_the_chips_of_the_name_only_where_it_counts_none() -> None:
    assert nodes({"accelerator_type": "v6e-8"}) == [("v6e", 8)]
    assert nodes({"accelerator_type": "v6e-8", "chips": 4}) == [("v6e", 4)]
    assert nodes({"accelerator_type": "ml.trn1.32xlarge"}, {"accelerator_type": "tpu8t-standard-4t"}) == [
        ("trn1.32xlarge", None),
        ("v8t", 4),
    ]


def test_a_slice_that_is_listed_host_by_host_has_its_chips_once() -> None:
    assert nodes(*[{"accelerator_type": "v6e-16"}] * 4) == [("v6e", 4)] * 4
    one = {"accelerator_type": "v6e-16", "resource_id": "node"}
    twice = [one | {"ended_at": "2026-04-01T00:30:00Z"}, one | {"started_at": "2026-04-01T00:40:00Z"}]
    assert nodes(*twice) == [("v6e", 16)] * 2, "one node that was held twice"


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"cloud.google.com/gke-tpu-accelerator": "tpu-v6e-slice"}, ["v6e"]),
        ({"label_cloud_google_com_gke_tpu_accelerator": "tpu8t-podslice"}, ["v8t"]),
        ({"cloud.google.com/gke-tpu-topology": "4x4"}, [None]),
        ({"make": "cloud-tpu", "model": "zeta"}, ["zeta"]),
        ({"make": "nvidia", "model": "h100"}, []),
        ({"pod": "web"}, []),
    ],
)
def test_a_point_with_the_labels_of_a_tpu_node_is_a_tpus(labels: dict[str, str], expected: list[str | None]) -> None:
    facts = KeyFacts(None, "host", None)
    series = series_of("duty_cycle", labels, None, facts, is_complete=True)
    groups = series.groups([(1, None, 10, 50.0)]) if series else ()
    assert [group.shared[SHARED.index("accelerator_type")] for group in groups] == expected


def test_a_document_of_a_managed_machine_has_the_type_of_its_instance(tmp_path: Path) -> None:
    instance = {"instance_id": "", "instance_type": "ml.trn1.2xlarge", "error": ""}
    rows = rows_of(read(tmp_path, wrapped(document({}, instance_info=instance))))
    assert {row["accelerator_type"] for row in rows} == {"trn1.2xlarge"}
