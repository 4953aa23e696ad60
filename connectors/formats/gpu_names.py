"""Names of GPUs on Google Cloud, where a machine type or the accelerator itself is named: one spelling of each.

A machine type keeps its size, because the size is how many GPUs it has: a3-highgpu-8g. What is no GPU of Google has no type here;
the types of EC2 are in connectors/formats/accelerators.py.
"""

from __future__ import annotations

import re

# a3-highgpu-8g, a4-highgpu-8g-lowmem: the ending is about disks or memory, and the GPUs are the same
_MACHINE = re.compile(r"([a-z]\d{1,2}[a-z]?-[a-z]+gpu-\d{1,3}g)(-[a-z]+)?")
# NVIDIA_H100_80GB of Vertex AI is nvidia-h100-80gb of Compute Engine and of GKE's node label
_ACCELERATOR = re.compile(r"nvidia(-[a-z0-9]+)+")


def gpu_machine_of(name: str | None) -> str | None:
    """The machine type that a name means, or None when it is no machine with GPUs in its name."""
    match = _MACHINE.fullmatch((name or "").strip().lower())
    return match[1] if match else None


def gpu_type_of(name: str | None) -> str | None:
    """The accelerator type of Google's GPUs that a name means: the machine type, else the accelerator's own name."""
    spelled = (name or "").strip().lower().replace("_", "-")
    return gpu_machine_of(spelled) or (spelled if _ACCELERATOR.fullmatch(spelled) else None)
