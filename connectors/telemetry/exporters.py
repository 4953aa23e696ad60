"""What a Prometheus exporter answers, or OpenTelemetry exports, as timed points of the series that a kind reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TypeVar

from connectors.formats.otlp_json import Metric, OtlpPoint, ResourceMetrics, metrics_in
from connectors.formats.prometheus_text import PrometheusPoint, labels_of, parse_prometheus
from connectors.formats.text_lines import TextFile
from connectors.telemetry.samples import KeyFacts, Problems, SampleError, is_recorded

BAD_TEXT = SampleError("bad_text", None, "Deliver the text a Prometheus exporter answers.")
RUNS = ("training_run_id", "run_id", "run")  # labels that name a run
_SERIES = 4096  # an exporter prints the same series again and again
_Series = TypeVar("_Series")


def first_label(labels: Mapping[str, str], names: Iterable[str]) -> str | None:
    """The first of these labels that holds something."""
    return next((labels[name] for name in names if labels.get(name)), None)


def known_series(series_of: Callable[[str, Mapping[str, str]], _Series | None]) -> Callable[[str, str], _Series | None]:
    """The same by metric and labels as they are written; the newest are remembered."""
    return lru_cache(maxsize=_SERIES)(lambda metric, labels: series_of(metric, labels_of(labels)))


def exported(documents: list[ResourceMetrics], remedy: str) -> list[tuple[Metric, list[OtlpPoint]]]:
    """The metrics of an export request with their points; SampleError where a number is none."""
    try:
        return [*metrics_in(documents)]
    except (ValueError, OverflowError) as error:
        raise SampleError("wrong_type", "dataPoints", remedy) from error


def checked_time(time: int) -> int:
    """A point's time; SampleError where it has none, or one that is none."""
    if not is_recorded(time):
        remedy = "Keep the times of the points, or name the object by its UTC time."
        raise SampleError("missing_time" if time == 0 else "bad_time", "time", remedy)
    return time


def scraped(
    file: TextFile, facts: KeyFacts, problems: Problems, series_of: Callable[[str, Mapping[str, str]], _Series | None]
) -> Iterator[tuple[int, PrometheusPoint, _Series, int]]:
    """Yield line, point, series and time of each point with a series; what is no text of an exporter is left out."""
    series = known_series(series_of)
    for number, text in file.lines():
        try:
            point = parse_prometheus(text.decode("utf-8").strip())
        except ValueError:  # a wrong byte is one too
            problems.add(number, BAD_TEXT)
            continue
        try:
            if point is None:
                continue
            if not (found := series(point.metric, point.labels)):
                problems.pass_by(point.metric)
                continue
            time = point.time or facts.started_at  # the second 0 is a time that was never set
            if time is None:
                raise SampleError("missing_time", None, "Write times behind the values, or name the object by its UTC time.")
            if not is_recorded(time):
                raise SampleError("bad_time", None, "Write times in seconds or milliseconds since 1970.")
        except SampleError as error:
            problems.add(number, error)
        else:
            yield number, point, found, time
