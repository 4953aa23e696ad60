"""Names of TPUs in Google's machine types, node labels, slices, metrics and run records, and what each of them states.

A generation that is not known yet (8t, 8i) is read by the same pattern as the known ones, so that it keeps its chips.
"""

from __future__ import annotations

import math
import re

# ct5lp-hightpu-4t, tpu-v5-lite-podslice, TPU_V5_LITEPOD, v5litepod-8, tpu7x, TPU 8t; a GPU's V100 is none
_GENERATION = re.compile(
    r"(?:^ct|^v|(?:^|[^a-z])(?:cloud)?tpu[-_ ]?v?|^(?=\d{1,2}[a-z]$))(\d{1,2})(?!\d)([-_ ]?lite|lp?(?![a-z])|[a-z](?![a-z]))?",
    re.I,
)
_MACHINE = re.compile(r"-(\d{1,3})t$", re.I)
_SLICE = re.compile(r"-(\d{1,6})$", re.ASCII)
_TOPOLOGY = re.compile(r"\d{1,4}(x\d{1,4}){1,2}", re.ASCII)
# what the number of a slice counts: v5p-8 are 8 TensorCores, two on each chip; v6e-8 are 8 chips
_COUNTED_PER_CHIP = {"v2": 2, "v3": 2, "v4": 2, "v5p": 2, "v7x": 2, "v5e": 1, "v6e": 1}
_HOST_CHIPS = 4  # of a host in a slice of several
_LARGEST_HOST = {1: 8, 2: 4}


def tpu_type_of(name: str | None) -> str | None:
    """The accelerator type a name means, or None when no generation of TPUs is in it."""
    match = _GENERATION.search(name or "")
    if not match:
        return None
    generation, variant = int(match[1]), (match[2] or "").lower().lstrip("-_ ")
    if variant in ("lite", "l", "lp"):
        variant = "e"
    # of the generations that have one chip only, machine types alone have a letter: ct4p is v4
    return f"v{generation}{'' if generation < 5 and variant == 'p' else variant}"


def tpu_chips_of(machine_type: str | None) -> int | None:
    """The chips of a machine type such as ct5p-hightpu-4t, or None when its name does not give them."""
    match = _MACHINE.search(machine_type or "")
    return int(match[1]) if match else None


def topology_chips_of(topology: str | None) -> int | None:
    """The chips of a slice such as 4x4x8, or None when the text is no topology."""
    if not topology or not _TOPOLOGY.fullmatch(topology):
        return None
    return math.prod(int(side) for side in topology.split("x"))


def node_chips_of(name: str | None, nodes: int) -> int | None:
    """The chips that a name states of each of `nodes` nodes that carry it, or None when it states none.

    A slice may be listed as one node or host by host: v6e-16 is 16 chips on one node, and 4 on each of four.
    """
    match = _SLICE.search(name or "")
    counted = _COUNTED_PER_CHIP.get(tpu_type_of(name) or "")
    if not match or not counted:
        return tpu_chips_of(name)
    chips = int(match[1]) // counted
    is_by_host = chips > _LARGEST_HOST[counted] and chips == nodes * _HOST_CHIPS
    return (_HOST_CHIPS if is_by_host else chips) or None
