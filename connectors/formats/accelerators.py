"""What an accelerator is called, whoever names it: the one normaliser, and the only list of AWS families in Python.

Bills, run records and telemetry must mean one type by one name: `ml.trn1.32xlarge` is trn1.32xlarge, `ct6e-standard-8t` is v6e,
`NVIDIA_H100_80GB` is nvidia-h100-80gb, which is Google's name of it; `gpu:h100` of Slurm and `NVIDIA H100 80GB HBM3` of NVIDIA's
driver are h100, in whosever machine.
An unknown name keeps its own spelling. The SQL of the ledger decides by the same expression of families
(dbt/models/intermediate/costs/int_aws_lines.sql); a test compares them.
"""

from __future__ import annotations

import re
from functools import lru_cache

from connectors.formats.tpu_names import tpu_type_of

# Trainium, Inferentia, GPUs (P, G and Gr with a generation: p5, g6e, gr6), Gaudi; UltraServers have no size: u-p6e-gb200x72
AWS_FAMILIES = "trn|inf|p[0-9]|g[0-9]|gr[0-9]|dl"
ULTRASERVERS = "u-(trn|p[0-9])"
_AWS = re.compile(rf"(?:{AWS_FAMILIES})[0-9a-z-]*\.[0-9a-z-]+|{ULTRASERVERS}[0-9a-z.-]*", re.I)
# of Google Cloud. A machine type keeps its size, because the size is how many GPUs it has: a3-highgpu-8g. The ending of
# a4-highgpu-8g-lowmem is about disks or memory, that of a4x-maxgpu-4g-metal about the hypervisor, and the GPUs are the same
_GPU_MACHINE = re.compile(r"([a-z]\d{1,2}[a-z]?-[a-z]+gpu-\d{1,3}g)(-[a-z]+)?")
# NVIDIA_H100_80GB of Vertex AI is nvidia-h100-80gb of Compute Engine and of GKE's node label
_GPU = re.compile(r"nvidia(-[a-z0-9]+)+")
_GOOGLES = {
    "nvidia-tesla-a100",
    "nvidia-a100-80gb",
    "nvidia-h100-80gb",
    "nvidia-h100-mega-80gb",
    "nvidia-h200-141gb",
    "nvidia-b200",
    "nvidia-gb200",
    "nvidia-gb300",
    "nvidia-rtx-pro-6000",
}
# a chip as schedulers and drivers write it: h100, gpu:h100, nvidia_h100_80gb_hbm3, A100-SXM4-40GB, trainium2. On a PCIe card the
# same chip draws less: that name means itself
_CHIP = re.compile(
    r"(?:gres/)?(?:(?:gpu|neuron|neuron-?device)[:-])?(?:nvidia-)?"
    r"(?:(a100|h100|h200|g?b[23]00|l40s|l4|a10g)(?:-(?:sxm\d?|ac|\d{2,3}gb|hbm\d?e?))*|(trainium|inferentia)(\d?)|"
    r"(rtx-pro-6000)(?:-blackwell-server-edition)?)"
)
_NEURON = {"trainium": "trn", "inferentia": "inf"}


@lru_cache(maxsize=256)
def accelerator_type_of(name: str | None) -> str | None:
    """The type that a name means; a name of no known shape means itself, an empty one nothing."""
    name = re.sub(r"^ml\.", "", (name or "").strip(), flags=re.I)  # as SageMaker writes the types of EC2
    return name.lower() if is_aws_accelerator(name) else _chip_type_of(name) or tpu_type_of(name) or name or None


def is_aws_accelerator(instance_type: str) -> bool:
    """Whether a machine of this type has accelerators."""
    return _AWS.fullmatch(instance_type) is not None


def gpu_machine_of(name: str | None) -> str | None:
    """The machine type of Google Cloud that a name means, or None when it is no machine with GPUs in its name."""
    match = _GPU_MACHINE.fullmatch((name or "").strip().lower())
    return match[1] if match else None


def _chip_type_of(name: str) -> str | None:
    """The type that the name of a chip or of Google's GPUs means: the machine type, else the accelerator's own name."""
    spelled = name.strip().lower().replace("_", "-")
    # NVIDIA's driver writes spaces where Google writes hyphens
    if spelled not in _GOOGLES and (match := _CHIP.fullmatch(re.sub(r"[- ]+", "-", spelled))):
        return match[1] or match[4] or f"{_NEURON[match[2]]}{match[3] or 1}"
    return gpu_machine_of(spelled) or (spelled if _GPU.fullmatch(spelled) else None)
