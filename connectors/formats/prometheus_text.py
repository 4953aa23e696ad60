"""Prometheus text: metric names, labels, values and times. What a metric means is not known here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

_LINE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?[ \t]+(\S+)(?:[ \t]+(-?\d{1,20}(?:\.\d{1,20})?))?\s*", re.ASCII)
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_.]*)="((?:[^"\\]|\\.)*)"\s*,?\s*', re.ASCII)
_ESCAPED = re.compile(r"\\(.)")
_MILLISECONDS_FROM = 100_000_000_000  # the older format writes milliseconds, OpenMetrics seconds


class PrometheusPoint(NamedTuple):
    """One line. Its labels are as written; the time is microseconds since 1970, or None where the line has none."""

    metric: str
    labels: str
    value: float
    time: int | None


def parse_prometheus(line: str) -> PrometheusPoint | None:
    """Read a line; None for a comment, ValueError when it is neither."""
    if line.startswith("#"):
        return None
    match = _LINE.fullmatch(line)
    if not match:
        raise ValueError("no line of Prometheus text")
    metric, labels, value, written = match.groups()
    time = None if written is None else float(written)
    micros = None if time is None else round(time * (1_000 if abs(time) >= _MILLISECONDS_FROM else 1_000_000))
    labels_of(labels or "")
    return PrometheusPoint(metric, labels or "", float(value), micros)


@lru_cache(maxsize=4096)
def labels_of(text: str) -> Mapping[str, str]:
    """Read the labels of a line; ValueError where they are none. An exporter writes the same ones every few seconds."""
    found, position = {}, 0
    while position < len(text):
        match = _LABEL.match(text, position)
        if not match:
            raise ValueError("its labels cannot be read")
        found[match[1]] = _ESCAPED.sub(lambda escaped: "\n" if escaped[1] == "n" else escaped[1], match[2])
        position = match.end()
    return found
