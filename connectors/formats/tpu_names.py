"""Names of TPU generations in Google's machine types, node labels and metrics, and the accelerator type each of them means."""

from __future__ import annotations

import math
import re

# longest first: v5-lite before v5
_TYPES = (
    (re.compile(r"^ct5lp?-|v5[-_ ]?lite|v5e", re.I), "v5e"),
    (re.compile(r"^ct5p-|v5p", re.I), "v5p"),
    (re.compile(r"^ct6e-|v6e", re.I), "v6e"),
    (re.compile(r"tpu-?v?7x|^v7x", re.I), "v7x"),
    (re.compile(r"^ct4p-|v4", re.I), "v4"),
    (re.compile(r"v3", re.I), "v3"),
    (re.compile(r"v2", re.I), "v2"),
)
_CHIPS = re.compile(r"-(\d{1,3})t$", re.I)
_TOPOLOGY = re.compile(r"\d{1,4}(x\d{1,4}){1,2}", re.ASCII)


def tpu_type_of(name: str | None) -> str | None:
    """The accelerator type a name means, or None when it is no TPU."""
    return next((type_ for pattern, type_ in _TYPES if name and pattern.search(name)), None)


def tpu_chips_of(machine_type: str | None) -> int | None:
    """The chips of a machine type such as ct5p-hightpu-4t, or None when its name does not give them."""
    match = _CHIPS.search(machine_type or "")
    return int(match[1]) if match else None


def topology_chips_of(topology: str | None) -> int | None:
    """The chips of a slice such as 4x4x8, or None when the text is no topology."""
    if not topology or not _TOPOLOGY.fullmatch(topology):
        return None
    return math.prod(int(side) for side in topology.split("x"))
