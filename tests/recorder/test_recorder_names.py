"""Which run and which machine a recorder names, from schedulers' environments and machines' metadata."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from connectors.telemetry.samples import facts_of
from tests.recorder.kit import answering
from trainledger_recorder import software
from trainledger_recorder.errors import RecordError, UsageError
from trainledger_recorder.hosts import Host, host_of
from trainledger_recorder.jobs import Job, attempt_name, encoded, job_of
from trainledger_recorder.run_record import RunFile, chips_of, faults_of, fields_of, tags_of

START = dt.datetime(2026, 4, 12, 8, 0, 0, 250_000, tzinfo=dt.UTC)
NOWHERE = {"AWS_EC2_METADATA_DISABLED": "true", "GCE_METADATA_HOST": "127.0.0.1:9"}


@pytest.mark.parametrize(
    ("environment", "run", "attempt", "alias"),
    [
        ({"SLURM_JOB_ID": "48213"}, "48213", "48213.1", ("slurm", "48213")),
        ({"SLURM_JOB_ID": "48213", "SLURM_RESTART_COUNT": "2"}, "48213", "48213.3", ("slurm", "48213")),
        ({"SLURM_JOB_ID": "48213", "NEURON_PROCESS_TAG": "llama"}, "llama", "48213.1", ("slurm", "48213")),
        ({"SLURM_JOB_ID": "7", "SLURM_CLUSTER_NAME": "trn"}, "trn/7", "7.1", ("slurm", "trn/7")),
        ({"AWS_BATCH_JOB_ID": "4f0e#3", "AWS_BATCH_JOB_ATTEMPT": "2"}, "4f0e", "4f0e.2", ("batch", "4f0e")),
        (
            {"TRAINING_JOB_NAME": "pt-1", "TRAINING_JOB_ARN": "arn:aws:sagemaker:us-east-1:1:training-job/pt-1"},
            "pt-1",
            "pt-1",
            ("sagemaker", "arn:aws:sagemaker:us-east-1:1:training-job/pt-1"),
        ),
        (
            {"JOBSET_NAME": "llama", "POD_NAMESPACE": "ml", "JOBSET_RESTART_ATTEMPT": "1", "JOB_COMPLETION_INDEX": "0"},
            "llama",
            "llama.2",
            ("kubernetes", "ml/llama"),
        ),
        ({"JOB_COMPLETION_INDEX": "3", "HOSTNAME": "train-3"}, "train", "2026-04-12T08:00:00.250Z", ("kubernetes", "train")),
    ],
)
def test_a_run_is_called_what_its_scheduler_calls_it(
    environment: dict[str, str], run: str, attempt: str, alias: tuple[str, str]
) -> None:
    job = job_of(environment, None, None, "made")
    assert (job.run_id, attempt_name(job, START), job.is_named) == (run, attempt, True)
    assert alias in job.aliases


def test_what_was_asked_for_goes_before_every_environment_and_a_name_is_made_where_none_is() -> None:
    assert job_of({"SLURM_JOB_ID": "1"}, "mine", "second", "made").run_id == "mine"
    made = job_of({}, None, None, "node-1-20260412T080000Z")
    assert (made.run_id, made.is_named, made.attempt_id) == ("node-1-20260412T080000Z", False, None)
    assert job_of({}, None, None, None).run_id is None


def test_a_hostile_id_is_one_part_of_a_key_and_the_connectors_read_it_back() -> None:
    for run in ("a/b", "../../etc/passwd", "..", "a=b", "run id\n", "Größe", "%2F", "a\\b"):
        key = f"neuron_monitor/run={encoded(run)}/host={encoded('x/y')}/2026-04-12T08-00-00Z-12-ab-000001.jsonl.gz"
        assert key.count("/") == 3 and ".." not in key.split("/")
        facts = facts_of(key)
        assert (facts.run, facts.host) == (run, "x/y")
        assert facts.started_at == 1_775_980_800_000_000  # 2026-04-12T08:00:00Z
    for wrong in (" ", "x" * 201, "/" * 67):
        with pytest.raises(UsageError):
            job_of({}, wrong, None, None)


def test_an_ec2_instance_is_its_instance_id(tmp_path: Path) -> None:
    document = {"instanceId": "i-0123456789abcdef0", "instanceType": "trn1.32xlarge", "region": "us-east-1"}
    answers = {
        ("PUT", "/latest/api/token"): "planted-token",
        ("GET", "/latest/dynamic/instance-identity/document"): json.dumps(document),
    }
    for name in ("neuron0", "neuron1", "neuron15", "neuronx", "null"):
        (tmp_path / "dev").mkdir(exist_ok=True)
        (tmp_path / "dev" / name).touch()
    with answering(answers, {"X-aws-ec2-metadata-token": "planted-token"}) as address:
        host = host_of({"AWS_EC2_METADATA_SERVICE_ENDPOINT": f"http://{address}"}, None, None, None, tmp_path)
    assert (host.provider_name, host.accelerator_type, host.chips) == ("AWS", "trn1.32xlarge", 3)
    assert host.document() == {"resource_id": "i-0123456789abcdef0", "instance_type": "trn1.32xlarge", "region": "us-east-1"}


def test_where_the_metadata_service_is_out_of_reach_the_firmware_has_the_instance_id(tmp_path: Path) -> None:
    firmware = tmp_path / "sys/class/dmi/id"
    firmware.mkdir(parents=True)
    for name, text in (
        ("sys_vendor", "Amazon EC2"),
        ("board_asset_tag", "i-0123456789abcdef0"),
        ("product_name", "trn2.48xlarge"),
    ):
        (firmware / name).write_text(f"{text}\n")
    host = host_of(NOWHERE, None, None, None, tmp_path)
    assert (host.resource_id, host.accelerator_type, host.is_billed_name) == ("i-0123456789abcdef0", "trn2.48xlarge", True)


@pytest.mark.parametrize(
    ("machine", "slice_type", "expected"),
    [
        ("ct6e-standard-4t", None, "ct6e-standard-4t"),
        ("ct5lp-hightpu-4t", "v5litepod-16", "ct5lp-hightpu-4t"),
        ("n2d", "v4-32", "v4"),
    ],
)
def test_a_google_machine_is_its_numeric_id_and_a_slice_is_not_taken_for_the_machine(
    machine: str, slice_type: str | None, expected: str, tmp_path: Path
) -> None:
    document = {
        "id": 4519384756201,
        "machineType": f"projects/1/machineTypes/{machine}",
        "zone": "projects/1/zones/us-central2-b",
        "attributes": {"accelerator-type": slice_type} if slice_type else {},
    }
    (tmp_path / "dev/vfio").mkdir(parents=True)
    for name in ("0", "1", "2", "3", "vfio"):
        (tmp_path / "dev/vfio" / name).touch()
    (tmp_path / "sys/class/dmi/id").mkdir(parents=True)
    (tmp_path / "sys/class/dmi/id/sys_vendor").write_text("Google\n")
    answers = {("GET", "/computeMetadata/v1/instance/?recursive=true"): json.dumps(document)}
    with answering(answers, {"Metadata-Flavor": "Google"}) as address:
        host = host_of({"GCE_METADATA_HOST": address}, None, None, None, tmp_path)
    assert (host.resource_id, host.provider_name, host.region) == ("4519384756201", "Google Cloud", "us-central2")
    assert (host.accelerator_type, host.chips) == (expected, 4)


def test_versions_are_those_of_the_first_framework_and_of_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = {"torch": "2.9.0", "torch-neuronx": "2.9.0.2.10", "neuronx-cc": "2.22.1"}
    monkeypatch.setattr(software, "_installed", lambda names: next((one, installed[one]) for one in names if one in installed))
    (tmp_path / "module/neuron").mkdir(parents=True)
    (tmp_path / "module/neuron/version").write_text("2.31.7.0\n")
    found = software.software_here(tmp_path, tmp_path)
    assert (found["framework"], found["framework_version"]) == ("torch-neuronx", "2.9.0.2.10")
    assert (found["sdk_name"], found["sdk_version"], found["driver_version"]) == ("neuronx-cc", "2.22.1", "2.31.7.0")
    fields, tags = fields_of(["sdk_version=2.33.0", "tokens=1e9"], found | {"colour": "blue"})
    assert (fields["sdk_version"], fields["tokens"], tags) == ("2.33.0", 1e9, {"colour": "blue"})
    (tmp_path / "driver/nvidia").mkdir(parents=True)
    (tmp_path / "driver/nvidia/version").write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31\n")
    assert software.software_here(tmp_path / "none", tmp_path)["driver_version"] == "550.90.07"


@pytest.mark.parametrize(
    ("wrong", "fault"),
    [
        ("tokens=1e999", "--record tokens is no number"),
        ("tokens=nan", "--record tokens is no number"),
        ("tokens=" + "9" * 5000, "--record tokens is no number"),
        ("tokens=99999999999999999999", "--record tokens is no count"),
        ("tokens=many", "--record tokens is no number"),
        ("tokens", "--record tokens is no FIELD=VALUE"),
        ("steps=1.5", "--record steps is no count"),
        ("provider_name=ibm", "--record provider_name is neither AWS nor Google Cloud"),
        ("token=1", "--record token is no field of a run record, which are"),
    ],
)
def test_a_wrong_field_is_named_and_the_others_are_taken(wrong: str, fault: str) -> None:
    fields, _ = fields_of(["team=core", wrong, "model_flops=1e20"], {})
    assert fields == {"team": "core", "model_flops": 1e20}
    [found] = faults_of(["team=core", wrong], ["a=b"])
    assert found.startswith(fault) and len(found) < 500


def test_what_is_no_tag_is_named_and_the_others_are_taken() -> None:
    assert (tags_of(["a=b", "=c", "d"]), faults_of([], ["a=b", "=c", "d"])) == (
        {"a": "b"},
        ["--tag =c is no KEY=VALUE", "--tag d is no KEY=VALUE"],
    )


@pytest.mark.parametrize(
    ("written", "taken", "faults"),
    [
        ('{"tokens": 1e999, "steps": 5}', {"steps": 5}, ["tokens is no number"]),
        ('{"tokens": NaN, "steps": 5}', {"steps": 5}, ["tokens is no number"]),
        (f'{{"tokens": {"9" * 5000}, "steps": 5}}', {"steps": 5}, ["tokens is no number"]),
        ('{"team": 5, "steps": 5}', {"steps": 5}, ["team is no text"]),
        ('{"steps": [5], "tokens": 7}', {"tokens": 7}, ["steps is no number"]),
        ('{"loss": 2.5, "steps": 5}', {"steps": 5}, ["loss is no field of a run record"]),
    ],
)
def test_of_what_a_job_writes_a_wrong_field_is_left_out_by_name(written: str, taken: dict[str, Any], faults: list[str]) -> None:
    file = RunFile(Job("run-a", "1", ()), Host("i-1"), START, "token")
    found = file.add(written)
    assert (file.fields, len(found)) == (taken, len(faults))
    assert all(one.startswith(fault) for one, fault in zip(found, faults, strict=True))


@pytest.mark.parametrize("written", ["[" * 100_000, "{", "[1]", "\x00"])
def test_what_is_no_object_costs_the_added_fields_alone(written: str) -> None:
    file = RunFile(Job("run-a", "1", ()), Host("i-1"), START, "token", {"steps": 5})
    with pytest.raises(RecordError):
        file.add(written)
    assert file.fields == {"steps": 5}


def test_bytes_that_are_no_text_do_not_make_a_reader_refuse_the_record(tmp_path: Path) -> None:
    """An environment may hold any bytes; as half a pair of UTF-16 in JSON they would cost the whole record."""
    file = RunFile(Job("run-a", "1", ()), Host("i-1"), START, "token", {"team": "\ud800"}, {"note": "\udcff"})
    text = json.dumps(file.document("succeeded", START))
    record = msgspec.json.decode(text.encode())
    assert (record["team"], record["tags"]) == ("?", {"note": "?"})


def test_a_machine_of_sagemaker_is_named_below_its_job_and_an_unknown_one_by_itself(tmp_path: Path) -> None:
    job = {"TRAINING_JOB_NAME": "pt-1", "SM_CURRENT_HOST": "algo-2", "SM_CURRENT_INSTANCE_TYPE": "ml.trn1.32xlarge"}
    host = host_of({**NOWHERE, **job}, None, None, None, tmp_path)
    assert (host.resource_id, host.accelerator_type) == ("pt-1/algo-2", "trn1.32xlarge")
    host = host_of({**NOWHERE, "HOSTNAME": "node-1"}, None, None, None, tmp_path)
    assert (host.resource_id, host.is_billed_name, host.provider_name) == ("node-1", False, None)
    assert host_of(NOWHERE, "i-1", "trn1.2xlarge", 1, tmp_path).accelerator_type == "trn1.2xlarge"


def test_chips_may_be_parts_and_what_is_no_number_of_chips_is_none() -> None:
    assert [chips_of(text) for text in ("16", "1e2", "0.5", "0.1428571428", "0")] == [16, 100, 0.5, 0.142857, 0]
    nonsense = (None, "", "1e+30", "-1", "-0.5", "nan", "inf", "1e999", "0.0000001", "half", "1_0x", "1000000.5")
    assert [chips_of(text) for text in nonsense] == [None] * len(nonsense)
