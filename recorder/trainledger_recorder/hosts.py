"""Which machine this is: what was asked for, else what its metadata service or its firmware answers. The bill's name of it, not
the network's.

The metadata service is asked once, without a proxy, and no longer than a second a call: a job never waits for it. In a
container that it does not answer, EC2's firmware still has the instance's id.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from trainledger_recorder.files import names_in, text_of

SECONDS = 1.0
_AWS, _GOOGLE = "http://169.254.169.254", "169.254.169.254"  # no name: nothing bounds how long one is looked up
_INSTANCE = re.compile(r"i-[0-9a-f]{8,17}")
_MACHINE_OF_TPU = re.compile(r"-\d+t$")
_DEVICES = {
    "dev": re.compile(r"(?:neuron|accel|nvidia)\d+"),
    "dev/vfio": re.compile(r"\d+"),  # TPU v5e and later
}


@dataclass(frozen=True)
class Host:
    """A machine. `is_billed_name`: its id is the one that bills use."""

    resource_id: str
    provider_name: str | None = None
    instance_type: str | None = None
    accelerator_type: str | None = None
    region: str | None = None
    chips: int | float | None = None
    is_billed_name: bool = True

    def document(self) -> dict[str, str]:
        """The machine as each line has it."""
        named = {
            "resource_id": self.resource_id,
            "instance_type": self.instance_type or self.accelerator_type,
            "region": self.region,
        }
        return {name: value for name, value in named.items() if value}


def host_of(
    environment: Mapping[str, str], asked: str | None, type_: str | None, chips: int | float | None, root: Path = Path("/")
) -> Host:
    """The machine that this process runs on. `root` is where `/sys` and `/dev` are."""
    vendor = text_of(root / "sys/class/dmi/id/sys_vendor")
    found = _sagemaker(environment)
    if found is None and "Google" not in vendor:
        found = _amazon(environment, root, is_amazon="Amazon" in vendor)
    if found is None and "Amazon" not in vendor:
        found = _google(environment)
    found = found or Host(environment.get("HOSTNAME") or socket.gethostname(), is_billed_name=False)
    if asked:
        found = replace(found, resource_id=asked, is_billed_name=True)
    counted = _devices(root) or None if chips is None else chips
    return replace(found, accelerator_type=type_ or found.accelerator_type, chips=counted)


def _sagemaker(environment: Mapping[str, str]) -> Host | None:
    """A machine of a SageMaker job: it has no id of its own in the bill, which has the job's name instead."""
    job, host = environment.get("TRAINING_JOB_NAME"), environment.get("SM_CURRENT_HOST")
    if not (job and host):
        return None
    type_ = environment.get("SM_CURRENT_INSTANCE_TYPE", "").removeprefix("ml.") or None
    return Host(f"{job}/{host}", "AWS", type_, type_, environment.get("AWS_REGION"), is_billed_name=False)


def _amazon(environment: Mapping[str, str], root: Path, *, is_amazon: bool) -> Host | None:
    """An EC2 instance, by its metadata service (version 2), else by its firmware."""
    answer: dict[str, Any] = {}
    if environment.get("AWS_EC2_METADATA_DISABLED", "").lower() != "true":
        url = environment.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", _AWS)
        token = _ask(url, "/latest/api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "60"}, method="PUT")
        if token:
            answer = _object(_ask(url, "/latest/dynamic/instance-identity/document", {"X-aws-ec2-metadata-token": token.strip()}))
    if is_amazon and not answer:
        firmware = root / "sys/class/dmi/id"
        answer = {"instanceId": text_of(firmware / "board_asset_tag"), "instanceType": text_of(firmware / "product_name")}
    if not _INSTANCE.fullmatch(str(answer.get("instanceId"))):
        return None
    type_ = answer.get("instanceType") or None
    return Host(answer["instanceId"], "AWS", type_, type_, answer.get("region"))


def _google(environment: Mapping[str, str]) -> Host | None:
    """A VM of Compute Engine. Its numeric id is what bills and Google's own metrics have."""
    address = environment.get("GCE_METADATA_HOST") or environment.get("GCE_METADATA_IP") or _GOOGLE
    flavour = {"Metadata-Flavor": "Google"}
    answer = _object(_ask(f"http://{address}", "/computeMetadata/v1/instance/?recursive=true", flavour))
    if not answer.get("id"):
        return None
    machine = str(answer.get("machineType", "")).rpartition("/")[2] or None
    zone = str(answer.get("zone", "")).rpartition("/")[2]
    attributes = answer.get("attributes") if isinstance(answer.get("attributes"), dict) else {}
    # v5litepod-16 is the whole slice: its kind counts here, and how many chips this machine has is counted
    slice_type = re.sub(r"-\d+$", "", str((attributes or {}).get("accelerator-type", ""))) or None
    type_ = machine if machine and _MACHINE_OF_TPU.search(machine) else slice_type or machine
    return Host(str(answer["id"]), "Google Cloud", machine, type_, zone.rpartition("-")[0] or None)


def _ask(url: str, path: str, headers: dict[str, str], method: str = "GET") -> str | None:
    """An answer of a metadata service; None where there is none."""
    place = urlsplit(url)
    try:
        connection = http.client.HTTPConnection(place.hostname or "", place.port or 80, timeout=SECONDS)
        try:
            connection.request(method, path, headers=headers)
            response = connection.getresponse()
            return response.read(1 << 20).decode("utf-8", "replace") if response.status == 200 else None
        finally:
            connection.close()
    except (OSError, http.client.HTTPException):
        return None


def _object(text: str | None) -> dict[str, Any]:
    try:
        answer = json.loads(text or "{}")
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _devices(root: Path) -> int:
    """How many accelerators are to be seen here; in a container only those that it was given."""
    return sum(1 for folder, name in _DEVICES.items() for entry in names_in(root / folder) if name.fullmatch(entry))
