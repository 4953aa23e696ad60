"""Answers of PromQL's query_range, alone or with the question that was asked. What a metric means is not known here.

https://prometheus.io/docs/prometheus/latest/querying/api/#range-queries
"""

from __future__ import annotations

import msgspec


class Series(msgspec.Struct, gc=False):
    """The points of a series: seconds since 1970 and a number as text. Histograms have none."""

    metric: dict[str, str] = {}
    values: list[tuple[float, str]] = []


class Data(msgspec.Struct, rename="camel"):
    """The series of an answer."""

    result_type: str = ""
    result: list[Series] = []


class Answer(msgspec.Struct, rename="camel"):
    """An answer as the server gives it. A line in `warnings` tells that series are missing."""

    status: str = ""
    data: Data | None = None
    warnings: list[str] | None = None
    error_type: str | None = None


class Document(Answer):
    """A question with its answer: the query, the first and last instant, the step in seconds; or an answer alone."""

    query: str | None = None
    start: float | None = None
    end: float | None = None
    step: float | None = None
    answer: Answer | None = None
