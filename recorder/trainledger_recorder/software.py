"""Which software a run uses, as far as it can be read without running any of it: packages beside this one, drivers of the
kernel."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from trainledger_recorder.files import text_of

# the first that is installed names it: whoever has torch-neuronx has torch as well
_FRAMEWORKS = ("torch-neuronx", "jax-neuronx", "torch-xla", "jax", "torch", "tensorflow")
_SDKS = ("neuronx-cc", "libtpu")
_NVIDIA = re.compile(r"Kernel Module(?: for \S+)?\s+(\d+(?:\.\d+)+)")


def software_here(sysfs: Path, proc: Path = Path("/proc")) -> dict[str, str]:
    """Names and versions by the run record's fields; absent where they cannot be read."""
    framework, framework_version = _installed(_FRAMEWORKS)
    sdk, sdk_version = _installed(_SDKS)
    nvidia = _NVIDIA.search(text_of(proc / "driver/nvidia/version"))
    found = {
        "framework": framework,
        "framework_version": framework_version,
        "sdk_name": sdk,
        "sdk_version": sdk_version,
        "driver_version": text_of(sysfs / "module/neuron/version") or (nvidia and nvidia[1]),
    }
    return {name: value for name, value in found.items() if value}


def _installed(names: Iterable[str]) -> tuple[str | None, str | None]:
    """The first of some packages that is installed, and its version."""
    for name in names:
        with contextlib.suppress(metadata.PackageNotFoundError):
            return name, metadata.version(name)
    return None, None
