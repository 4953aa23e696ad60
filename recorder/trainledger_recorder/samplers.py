"""What can be asked here, one small class per kind: the driver's power file of Neuron devices, NVML, libtpu. neuron-monitor is
a program of its own.

A sampler knows whether its hardware is here, and gives documents as its kind reads them. What it cannot read is null, or no
document: never 0. Libraries are imported when they are first asked.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import math
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union

from trainledger_recorder.files import names_in, text_of

NEURON_MONITOR = "neuron_monitor"
_MONITOR_PLACES = ("/opt/aws/neuron/bin",)  # where its package puts it, and no PATH names
_DEVICES = "devices/virtual/neuron_device"
_DEVICE = re.compile(r"neuron(\d+)")
_DEEPEST = 4  # neuron0/stats/power/utilization; from driver 2.31 on some nodes are elsewhere below neuron0


def stamped(collected_at: str, host: Mapping[str, str], run: str | None) -> dict[str, Any]:
    """What every document has besides its measurement."""
    return {"collected_at": collected_at, "host": host, **({"run": run} if run else {})}


@dataclass
class NeuronPower:
    """The driver's power utilisation of each Neuron device, which it rolls up once a minute: the same text again is no news."""

    sysfs: Path
    kind: str = "neuron_power"
    _last: dict[Path, str] = field(default_factory=dict)
    _files: list[tuple[int, Path]] = field(default_factory=list)

    def documents(self, stamp: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """One document for each device whose text changed."""
        version = text_of(self.sysfs / "module/neuron/version") or None
        # a device has hundreds of folders: they are searched once, and again after a reset took a file away
        self._files = self._files if all(path.exists() for _, path in self._files) else []
        self._files = self._files or power_files(self.sysfs)
        for device, path in self._files:
            text = text_of(path)
            if text and self._last.get(path) != text:
                self._last[path] = text
                shown = f"/sys/{path.relative_to(self.sysfs).as_posix()}"  # wherever this machine's /sys is mounted
                yield {**stamp, "path": shown, "device": device, "text": text, "driver_version": version}


def power_files(sysfs: Path) -> list[tuple[int, Path]]:
    """The power files in whichever tree the driver has, by device: each `power/utilization` below it."""
    found = []
    root = sysfs / _DEVICES
    for device in names_in(root):
        if number := _DEVICE.fullmatch(device):
            for folder, folders, files in os.walk(root / device):
                if len(Path(folder).relative_to(root).parts) >= _DEEPEST:
                    folders.clear()
                if Path(folder).name == "power" and "utilization" in files:
                    found.append((int(number[1]), Path(folder) / "utilization"))
    return sorted(found)


class Nvml:
    """GPUs by NVIDIA's library and its own wrapper, nvidia-ml-py: `nvidia-smi` opens all devices anew each time, and has no
    energy counter."""

    kind = "gpu_monitoring"

    def __init__(self, module: str = "pynvml") -> None:
        self._nvml: Any = importlib.import_module(module)
        self._nvml.nvmlInit()
        self._driver = self._asked(self._nvml.nvmlSystemGetDriverVersion)
        self._gpus = []
        for index in range(self._nvml.nvmlDeviceGetCount()):
            handle = self._nvml.nvmlDeviceGetHandleByIndex(index)
            names = (self._asked(ask, handle) for ask in (self._nvml.nvmlDeviceGetUUID, self._nvml.nvmlDeviceGetName))
            self._gpus.append((index, handle, *names))

    def documents(self, stamp: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """One document with all GPUs; what a GPU does not report is null."""
        gpus = [self._gpu(*gpu) for gpu in self._gpus]
        yield {**stamp, "driver_version": self._driver, "gpus": gpus}

    def _gpu(self, index: int, handle: Any, uuid: str | None, name: str | None) -> dict[str, Any]:
        milliwatts = self._asked(self._nvml.nvmlDeviceGetPowerUsage, handle)
        use = self._asked(self._nvml.nvmlDeviceGetUtilizationRates, handle)
        limit_of = getattr(self._nvml, "nvmlDeviceGetEnforcedPowerLimit", None)  # older wrappers lack it
        limit = None if limit_of is None else self._asked(limit_of, handle)
        return {
            "index": index,
            "uuid": uuid,
            "name": name,
            "power_w": None if milliwatts is None else milliwatts / 1000,
            "power_limit_w": None if limit is None else limit / 1000,
            "energy_mj": self._asked(self._nvml.nvmlDeviceGetTotalEnergyConsumption, handle),  # since the driver was loaded
            "utilization_percent": None if use is None else use.gpu,
        }

    def _asked(self, ask: Any, *handle: Any) -> Any:
        try:
            answer = ask(*handle)
        except self._nvml.NVMLError:
            return None
        return answer.decode() if isinstance(answer, bytes) else answer  # of older wrappers


class Libtpu:
    """TPU chips by libtpu's own metrics, as answers of timeSeries.list, which is what kind tpu_monitoring reads."""

    kind = "tpu_monitoring"
    _ASKED = (("duty_cycle_pct", "duty_cycle", "%"), ("hbm_capacity_usage", "memory_used", "By"))

    def __init__(self, labels: Mapping[str, str], module: str = "libtpu.sdk") -> None:
        self._metrics: Any = importlib.import_module(module).tpumonitoring
        self._labels = labels  # zone or region, and the type of the chips

    def documents(self, stamp: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """One answer with a series per chip and metric. Memory alone would mean that the chips live and are idle."""
        read = {name: self._values(name) for name, _, _ in self._ASKED}
        if read["duty_cycle_pct"] is None:
            return
        series = [
            self._series(metric, unit, chip, value, stamp)
            for name, metric, unit in self._ASKED
            for chip, value in enumerate(read[name] or ())
        ]
        if series:
            yield {"timeSeries": series}

    def _series(self, metric: str, unit: str, chip: int, value: float | None, stamp: Mapping[str, Any]) -> dict[str, Any]:
        shown = "NaN" if value is None else value if math.isfinite(value) else None  # JSON has no other numbers
        own = {"accelerator_id": f"{stamp['host']['resource_id']}-{chip}"}
        own.update({"training_run_id": stamp["run"]} if "run" in stamp else {})
        return {
            "metric": {"type": f"libtpu/accelerator/{metric}", "labels": own},
            "resource": {"type": "libtpu", "labels": dict(self._labels)},
            "unit": unit,
            "points": [{"interval": {"endTime": stamp["collected_at"]}, "value": {"doubleValue": shown}}],
        }

    def _values(self, name: str) -> list[float | None] | None:
        """A value per chip, in their order; None where the metric cannot be read."""
        try:
            return [_number(text) for text in self._metrics.get_metric(name).data()]
        except Exception:  # the library names no errors; whatever it is, nothing is known now
            return None


Sampler = Union[NeuronPower, Nvml, Libtpu]


def monitor_command(environment: Mapping[str, str]) -> str | None:
    """Where neuron-monitor is."""
    return shutil.which("neuron-monitor", path=os.pathsep.join((environment.get("PATH", ""), *_MONITOR_PLACES)))


def has_module(name: str) -> bool:
    """Whether a module could be imported, without importing more than the packages above it."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def kinds_here(environment: Mapping[str, str], sysfs: Path, root: Path = Path("/")) -> list[str]:
    """The kinds that this machine can be asked for."""
    devices = names_in(root / "dev")
    here = {
        NEURON_MONITOR: bool(monitor_command(environment) and names_in(sysfs / _DEVICES)),
        "neuron_power": bool(power_files(sysfs)),
        "gpu_monitoring": "nvidiactl" in devices and has_module("pynvml"),
        "tpu_monitoring": any(name.startswith(("accel", "vfio")) for name in devices) and has_module("libtpu"),
    }
    return [kind for kind, is_here in here.items() if is_here]


def lacking_here(kinds: Sequence[str], root: Path = Path("/")) -> list[str]:
    """What is seen here and cannot be asked, because its library is not installed beside this one."""
    devices = names_in(root / "dev")
    found = []
    if "nvidiactl" in devices and "gpu_monitoring" not in kinds:
        found.append("GPUs are here and nvidia-ml-py is not, so their watts are not recorded: pip install nvidia-ml-py")
    if any(name.startswith("accel") for name in devices) and "tpu_monitoring" not in kinds:
        found.append("TPU chips are here and libtpu is not, so their use is not recorded: install it beside the recorder")
    return found


def _number(text: Any) -> float | None:
    with contextlib.suppress(TypeError, ValueError):
        return float(text)
    return None
