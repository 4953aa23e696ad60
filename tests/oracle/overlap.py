"""How the runs that held a node share one billed interval of it, in whole numbers.

Every instant is shared by chips held, measured against the node's chips or, when more are held than it has, against what is held.
What is billed but held by no run stays the residual's.
"""

import itertools
import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType

from .facts import chips_of
from .records import Window
from .splitting import RESIDUAL


def _held(window: Window, line_instance_type: str, size: int | None) -> tuple[int, int | None]:
    """Chips this window holds and chips of the whole node, where evidence shows its size or the type is known."""
    node = chips_of(window.accelerator_type)
    if node is None:
        node = chips_of(line_instance_type)
    if node is not None:
        node *= window.node_count
    if size is not None:
        node = size
    if window.chips is not None:
        return window.chips * window.node_count, node
    return (node if node is not None else window.node_count), node


def occupation(
    windows: Iterable[Window], start: int, end: int, line_instance_type: str, sizes: Mapping[str, int] = MappingProxyType({})
) -> dict[str, Fraction]:
    """Per run the microseconds of whole node it held within [start, end)."""
    inside = [window for window in windows if window.start < end and window.end > start]
    edges = sorted({start, end, *(edge for window in inside for edge in (window.start, window.end) if start < edge < end)})
    shares: dict[str, Fraction] = {window.run: Fraction(0) for window in inside}
    for left, right in itertools.pairwise(edges):
        now = [window for window in inside if window.start <= left and window.end >= right]
        held = [(window.run, *_held(window, line_instance_type, sizes.get(window.resource_id))) for window in now]
        # a machine has one chip at the least, whatever part of it is held
        whole = max([1, sum(chips for _, chips, _ in held), *(node for _, _, node in held if node is not None)])
        for run, chips, _ in held:
            shares[run] += Fraction(chips * (right - left)) / whole
    return shares


def weights(shares: dict[str, Fraction], billed: int) -> list[tuple[str, int]]:
    """Whole-number weights of the runs and of the residual for an interval billed as so many microseconds."""
    rest = max(Fraction(billed) - sum(shares.values()), Fraction(0))
    parts = [*sorted(shares.items()), (RESIDUAL, rest)]
    common = math.lcm(*(share.denominator for _, share in parts))
    return [(key, int(share * common)) for key, share in parts]
