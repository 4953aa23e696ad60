"""A file that is read whole and gives no row is landed as nothing, with a remark that names what it has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.connectors.forms import TEXT_BASES
from tests.connectors.kit import converted, write_bytes
from tests.connectors.test_connector_neuron_power import exported
from tests.landing.kit import Organisation

OTHER = "".join(f'{name}{{mode="idle"}} 5\n' for name in ("node_cpu_seconds", "node_load1", "node_load5", "node_load15"))
AT = {"endTime": "2026-04-01T00:00:00Z"}
OTHER_SERIES = {"metric": {"type": "compute.googleapis.com/uptime"}, "points": [{"interval": AT}]}
FIRST = "node_cpu_seconds, node_load1, node_load5"
NOTHING = "no name at all"
HEADER = TEXT_BASES["gpu_monitoring csv"][2].partition("\n")[0]
CASES = {
    "neuron exporter": ("neuron_power", "2026-04-01T00:00:00Z.prom", OTHER, FIRST),
    "tpu exporter": ("tpu_monitoring", "2026-04-01T00:00:00Z.prom", OTHER, FIRST),
    "gpu exporter": ("gpu_monitoring", "2026-04-01T00:00:00Z.prom", OTHER, FIRST),
    "time series": ("tpu_monitoring", "a.json", json.dumps({"timeSeries": [OTHER_SERIES]}), "compute.googleapis.com/uptime"),
    "no series": ("tpu_monitoring", "a.json", "{}", NOTHING),
    "otlp": ("neuron_power", "a.json", json.dumps(exported({}, name="system.cpu.time")), "system.cpu.time"),
    "empty otlp": ("neuron_power", "a.jsonl", '{"resourceMetrics": []}\n', NOTHING),
    "nvidia-smi header": ("gpu_monitoring", "host=i-1/a.csv", f"{HEADER}\n", "timestamp, index, uuid"),
    "meter header": ("power_meters", "a.csv", "time,host,watts\n", "time, host, watts"),
    "no rows": ("power_meters", "a.json", "[]", NOTHING),
    "no lines": ("neuron_monitor", "a.jsonl", "", NOTHING),
    "no gpus": ("gpu_monitoring", "host=i-1/a.jsonl", '{"collected_at": "2026-04-01T00:00:00Z", "gpus": []}\n', NOTHING),
}


@pytest.mark.parametrize(("kind", "key", "content", "names"), CASES.values(), ids=CASES)
def test_a_file_of_which_nothing_is_known_is_remarked_on(tmp_path: Path, kind: str, key: str, content: str, names: str) -> None:
    write_bytes(tmp_path / "source" / key, content.encode())
    result = converted(kind, tmp_path / "source", tmp_path / "landing")
    assert result.rows == 0
    assert [(one.reason, one.source_object, one.value) for one in result.refusals] == [("no_known_metric", key, names)]


def test_such_a_file_is_landed_so_that_no_refresh_ends_with_3_for_it(tmp_path: Path) -> None:
    organisation = Organisation(tmp_path, {"name": "tpu", "kind": "tpu_monitoring"})
    (tmp_path / "exports/tpu/2026-04-01T00:00:00Z.prom").write_text(OTHER)
    [landed] = organisation.refresh()
    assert landed.outcome == "landed" and landed.contents is not None
    assert [(one.reason, one.value) for one in landed.contents.refusals] == [("no_known_metric", FIRST)]
    assert organisation.outcomes() == {}
