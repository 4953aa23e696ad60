"""Which software a run uses, as far as it can be read without running any of it: packages beside this one, drivers of the
kernel."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

from trainledger_recorder.files import text_of

# the first that is installed names it: whoever has torch-neuronx has torch as well
_FRAMEWORKS = ("torch-neuronx", "jax-neuronx", "torch-xla", "jax", "torch", "tensorflow")
_SDKS = (("neuronx-cc", "neuronx-cc"), ("libtpu", "libtpu"))
_NVIDIA = re.compile(r"Kernel Module(?: for \S+)?\s+(\d+(?:\.\d+)+)")


def software_here(sysfs: Path, proc: Path = Path("/proc")) -> dict[str, str]:
    """Names and versions by the run record's fields; absent where they cannot be read."""
    framework = next(((name, version) for name in _FRAMEWORKS if (version := _version(name))), None)
    sdk = next(((shown, version) for name, shown in _SDKS if (version := _version(name))), None)
    nvidia = _NVIDIA.search(text_of(proc / "driver/nvidia/version"))
    found = {
        "framework": framework and framework[0],
        "framework_version": framework and framework[1],
        "sdk_name": sdk and sdk[0],
        "sdk_version": sdk and sdk[1],
        "driver_version": text_of(sysfs / "module/neuron/version") or (nvidia and nvidia[1]),
    }
    return {name: value for name, value in found.items() if value}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
