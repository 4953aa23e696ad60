"""The order of carbon model versions."""

from __future__ import annotations

import re
from collections.abc import Iterable


def version_order(version: str) -> tuple[tuple[int, ...], str]:
    """Order of model versions: by their numbers, then as text. 'v3.0.10' is after 'v3.0.9', '15' after '9'."""
    return tuple(int(number) for number in re.findall(r"\d+", version)), version


def highest_version(versions: Iterable[str]) -> str:
    """The highest of some versions; '' when there is none."""
    return max(versions, key=version_order, default="")
