"""Metrics in OpenTelemetry's JSON (OTLP): points of gauges and sums with their attributes. What a metric means is not known here.

A document is an export request, as a collector's file exporter writes it, one to a line. A point whose time, value or attributes
are spelt in a way that JSON allows and OTLP does not is an error of the document.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

_NO_VALUE = 1  # the flag of a point that was not recorded


class Value(msgspec.Struct, rename="camel", gc=False):
    """An attribute's value; an int64 is text in JSON. Lists and maps are no names of things and are left out."""

    string_value: str | None = None
    int_value: int | str | None = None
    double_value: float | None = None
    bool_value: bool | None = None


class Attribute(msgspec.Struct, gc=False):
    """An attribute of a resource or a point."""

    key: str
    value: Value | None = None


class Point(msgspec.Struct, rename="camel", gc=False):
    """A point of numbers; a double that is no number is text in JSON."""

    time_unix_nano: int | str = 0
    attributes: list[Attribute] | None = None
    as_double: float | str | None = None
    as_int: int | str | None = None
    flags: int = 0


class Points(msgspec.Struct, rename="camel", gc=False):
    """The points of a gauge or a sum."""

    data_points: list[Point] | None = None
    aggregation_temporality: int | str = 0

    @property
    def is_delta(self) -> bool:
        """Whether each point of a sum is what came on top since the one before it, so that none is a counter's reading."""
        return self.aggregation_temporality in (1, "AGGREGATION_TEMPORALITY_DELTA")


class Metric(msgspec.Struct, gc=False):
    """A metric; its other kinds, such as histograms, have no points here."""

    name: str = ""
    unit: str = ""
    gauge: Points | None = None
    sum: Points | None = None


class Scope(msgspec.Struct, gc=False):
    """The metrics of one library."""

    metrics: list[Metric] | None = None


class Resource(msgspec.Struct, gc=False):
    """What the metrics are of."""

    attributes: list[Attribute] | None = None


class ResourceMetrics(msgspec.Struct, rename="camel", gc=False):
    """The metrics of one resource, such as a host."""

    resource: Resource | None = None
    scope_metrics: list[Scope] | None = None


class OtlpPoint(NamedTuple):
    """One point. Its time is microseconds since 1970, 0 where it has none; the value is None where nothing was recorded."""

    time: int
    value: float | None
    attributes: Mapping[str, str]  # its own before those of its resource


def metrics_in(documents: list[ResourceMetrics]) -> Iterator[tuple[Metric, list[OtlpPoint]]]:
    """Yield each metric with its points in the order of the document; ValueError where a number is none."""
    for one in documents:
        shared = _texts(one.resource.attributes if one.resource else None)
        for metric in (metric for scope in one.scope_metrics or () for metric in scope.metrics or ()):
            points = [*((metric.gauge and metric.gauge.data_points) or ()), *((metric.sum and metric.sum.data_points) or ())]
            yield metric, [_point(point, shared) for point in points]


def _point(point: Point, shared: Mapping[str, str]) -> OtlpPoint:
    number = point.as_int if point.as_double is None else point.as_double
    value = None if number is None or point.flags & _NO_VALUE else float(number)
    known = value if value is not None and math.isfinite(value) else None
    return OtlpPoint(int(point.time_unix_nano) // 1000, known, {**shared, **_texts(point.attributes)})


def _texts(attributes: list[Attribute] | None) -> dict[str, str]:
    return {one.key: text for one in attributes or () if one.value and (text := _text(one.value)) is not None}


def _text(value: Value) -> str | None:
    found = (value.string_value, value.int_value, value.double_value, value.bool_value)
    return next((str(one) for one in found if one is not None), None)
