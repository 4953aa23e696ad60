"""Result logs of MLPerf as run records: when, on which machines, how many tokens."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from connectors.deliveries import Converted
from connectors.errors import ExportContentError
from tests.connectors.kit import converted, found, write_bytes
from tests.connectors.mlperf import START, SYSTEM, event, node_log, run_log, write_result
from tests.connectors.records import part
from tests.shared import SHARED, SHARED_REASON

RUN = "4xTPU/bert/result_0"
GPT3 = ("gpt3", 8, 2048)


def read(tmp_path: Path, log: str) -> Converted:
    return converted(
        "training_runs", write_result(tmp_path / "in", result_0=log, node_0=node_log([(20, 1)])), tmp_path / "landing"
    )


def of_system(tmp_path: Path, **more: Any) -> Converted:
    """A result whose description of the system has something else or more."""
    location = write_result(tmp_path / "in", result_0=run_log())
    write_bytes(location / "Acme/systems/4xTPU.json", json.dumps({**SYSTEM, **more}).encode())
    return converted("training_runs", location, tmp_path / "landing")


def sized(benchmark: str, batch: int, length: int | None) -> list[str]:
    more = [event(START, "submission_benchmark", benchmark), event(START, "global_batch_size", batch)]
    return more + ([event(START, "max_sequence_length", length)] if length else [])


def test_the_description_of_the_system_names_the_machines_and_the_log_the_run(tmp_path: Path) -> None:
    """Logs of Trillium say that their platform is tpu-v5p."""
    log = event(START, "submission_platform", "tpu-v5p") + "\n" + run_log(100, event(START, "submission_org", "Google"))
    result = read(tmp_path, log)
    (run,), (attempt,), nodes = part(result, "run"), part(result, "attempt"), part(result, "node")
    assert (run["recorded_id"], run["provider_name"], run["framework"]) == (RUN, "Google Cloud", "maxtext")
    assert (attempt["state"], (attempt["ended_at"] - attempt["started_at"]).total_seconds()) == ("succeeded", 100)
    assert [(row["resource_id"], row["accelerator_type"], row["chips"]) for row in nodes] == [
        (f"{RUN}/node_0", "v6e", 4),
        (f"{RUN}/node_1", "v6e", 4),
    ]
    deliveries = found("training_runs", tmp_path / "in")
    assert len(deliveries) == 1  # neither the system nor the power logs are records


@pytest.mark.parametrize("count", ["", "N/A", "4 per host", "\u0664", "12345678", None, -4])
def test_a_count_that_a_description_does_not_write_as_a_number_is_unknown(tmp_path: Path, count: Any) -> None:
    nodes = part(of_system(tmp_path, accelerators_per_node=count), "node")
    assert [row.get("chips") for row in nodes] == [None, None]


@pytest.mark.parametrize(
    ("stack", "versions"),
    [
        ({"jax": "0.4.30", "libtpu": "0.1.dev20240701"}, ("0.4.30", "libtpu", "0.1.dev20240701")),
        ([{"PyTorch": "2.4.0"}, {"cuda_version": "12.5"}], ("2.4.0", "CUDA", "12.5")),
        ("cuDNN 9", (None, None, None)),
    ],
)
def test_versions_are_those_of_the_further_software_in_an_object_or_a_list(
    tmp_path: Path, stack: Any, versions: tuple[str | None, ...]
) -> None:
    (run,) = part(of_system(tmp_path, other_software_stack=stack), "run")
    assert tuple(run.get(name) for name in ("framework_version", "sdk_name", "sdk_version")) == versions


def test_an_aborted_run_is_stopped_and_one_without_a_start_is_none(tmp_path: Path) -> None:
    assert part(read(tmp_path, run_log(status="aborted")), "attempt")[0]["state"] == "stopped"
    with pytest.raises(ExportContentError) as caught:
        read(tmp_path / "b", event(START, "init_start"))
    assert (caught.value.reason, caught.value.column_name) == ("missing_value", "run_start")


@pytest.mark.parametrize(
    ("facts", "block", "samples", "tokens", "steps"),
    [
        (GPT3, 8 * 2048 * 3, 8 * 2048 * 6, 8 * 2048 * 6, 6),  # blocks of whole steps of tokens: it counts tokens
        (GPT3, 24, 48, 48 * 2048, 6),  # blocks that are no multiple of batch and length: it counts sequences, all of them full
        (("bert", 8, 512), 24, 48, None, 6),  # padded sequences: their tokens are unknown
        (("stable_diffusion", 8, None), 24, 47, None, None),  # no whole number of steps
    ],
)
def test_tokens_are_counted_by_rule(
    tmp_path: Path, facts: tuple[str, int, int | None], block: int, samples: int, tokens: int | None, steps: int | None
) -> None:
    size = event(START - 1, "train_samples", 3901)  # before the run it is the size of the data set
    log = "\n".join(
        [
            *sized(*facts),
            size,
            run_log(100, event(START, "block_start", epoch_count=block), event(START, "train_samples", samples)),
        ]
    )
    (run,) = part(read(tmp_path, log), "run")
    assert (run.get("tokens"), run.get("steps")) == (tokens, steps)


@pytest.mark.skipif(SHARED is None, reason=SHARED_REASON)
@pytest.mark.parametrize(
    ("log", "system", "benchmark", "seconds", "chips", "type_", "tokens", "steps"),
    [
        # 1,207,959,552 tokens = 288 steps x 2,048 sequences x 2,048; 128 hosts x 4 chips, and the name counts TensorCores
        ("v40_tpu-v5p-1024_gpt3", "v40_tpu-v5p-1024", "gpt3", 6887.633, 512, "v5p", 1_207_959_552, 288),
        # 2,560,000 images = 2,500 steps x 1,024; 64 hosts x 4 chips
        ("v50_tpu-trillium-256_sd", "v50_tpu-trillium-256", "stable_diffusion", 248.459, 256, "v6e", None, 2500),
        ("v50_b200_bert", "v50_b200", "bert", 220.176, 8, "NVIDIA Blackwell GPU (B200-SXM-180GB)", None, None),
    ],
)
def test_published_logs_give_their_known_answers(
    tmp_path: Path,
    log: str,
    system: str,
    benchmark: str,
    seconds: float,
    chips: int,
    type_: str,
    tokens: int | None,
    steps: int | None,
) -> None:
    assert SHARED is not None
    samples, folder = SHARED / "samples/telemetry", tmp_path / f"in/results/{system}/{benchmark}"
    folder.mkdir(parents=True)
    (tmp_path / "in/systems").mkdir()
    shutil.copy(samples / f"mlperf_{log}_result_0.txt", folder / "result_0.txt")
    shutil.copy(samples / f"mlperf_{system}_system.json", tmp_path / f"in/systems/{system}.json")
    result = converted("training_runs", tmp_path / "in", tmp_path / "landing")
    (run,), (attempt,), nodes = part(result, "run"), part(result, "attempt"), part(result, "node")
    assert run["recorded_id"] == f"{system}/{benchmark}/result_0"
    assert (attempt["ended_at"] - attempt["started_at"]).total_seconds() == seconds
    assert sum(row["chips"] for row in nodes) == chips
    assert {row["accelerator_type"] for row in nodes} == {type_}
    assert (run.get("tokens"), run.get("steps")) == (tokens, steps)
