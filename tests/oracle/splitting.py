"""One amount into whole parts: floor of the proportional part, then one unit each to the largest remainders, ties by id."""

from collections.abc import Iterable
from typing import TypeVar

from .numerals import OracleError

Key = TypeVar("Key")

RESIDUAL = "~residual"


def split(amount: int, weights: Iterable[tuple[Key, int]]) -> dict[Key, int]:
    """The parts add up to the amount. All weights 0: the residual takes it. A negative amount splits like a positive one."""
    parts = list(weights)
    total = sum(weight for _, weight in parts)
    if any(weight < 0 for _, weight in parts) or len({key for key, _ in parts}) != len(parts):
        raise OracleError(f"weights must be at least 0 and ids unique: {parts}")
    if total == 0:
        if not any(key == RESIDUAL for key, _ in parts):
            raise OracleError(f"nobody can take {amount}: all weights are 0 and there is no residual")
        return {key: amount if key == RESIDUAL else 0 for key, _ in parts}
    size, sign = abs(amount), -1 if amount < 0 else 1
    floors = {key: size * weight // total for key, weight in parts}
    left_over = size - sum(floors.values())
    if left_over:
        by_remainder = sorted(parts, key=lambda part: (-(size * part[1] % total), part[0]))
        for key, _ in by_remainder[:left_over]:
            floors[key] += 1
    return {key: sign * part for key, part in floors.items()}
