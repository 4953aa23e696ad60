"""A file without rows, of every kind: it is refused, or landed with a remark; none is landed without a word."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from connectors.registry import KINDS
from tests.connectors.aws_focus import SCHEMAS, write_focus
from tests.connectors.focus import FOCUS
from tests.connectors.gcp import BILLING, CARBON
from tests.connectors.kit import CARBON as EMISSION
from tests.connectors.kit import LINE, table, write_bytes, write_manifest, write_parquet
from tests.connectors.prices import PRICING
from tests.connectors.test_connector_aws_carbon import export
from tests.connectors.xspaces import space_of
from tests.landing.kit import Organisation


def text(name: str, content: str) -> Callable[[Path], object]:
    return lambda folder: write_bytes(folder / name, content.encode())


def google(schema: object) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        path = folder / "_PARTITIONTIME=2026-04-01" / "part-0.parquet"
        path.parent.mkdir()
        pq.write_table(schema.empty_table(), path)  # type: ignore[attr-defined]

    return write


def bill(folder: Path) -> None:
    key = "data/BILLING_PERIOD=2026-04/cur-00001.snappy.parquet"
    write_parquet(folder / key, table(LINE).slice(0, 0))
    write_manifest(folder / "metadata/BILLING_PERIOD=2026-04/cur-Manifest.json", [f"s3://bucket/prefix/cur/{key}"])


def focus_bill(folder: Path) -> None:
    write_focus(folder, schema=SCHEMAS["1.0"])


EMPTY: dict[str, tuple[Callable[[Path], object], str, bool]] = {  # what writes it, the reason, and whether it is taken
    "aws_cur": (bill, "no_rows", False),
    "aws_focus": (focus_bill, "no_rows", False),
    "aws_carbon": (lambda folder: export(folder, table(EMISSION).slice(0, 0)), "no_rows", True),
    "gcp_billing": (google(BILLING), "no_rows", True),
    "gcp_focus": (google(FOCUS), "no_rows", True),
    "gcp_carbon": (google(CARBON), "no_rows", True),
    "gcp_prices": (google(PRICING), "no_rows", True),
    "fx_rates": (text("a.csv", "rate_date,base_currency,quote_currency,rate\n"), "no_rows", True),
    "user_inputs": (text("a.csv", "kind,key,value,unit,source\n"), "no_rows", True),
    "provider_totals": (text("a.csv", "provider_name,payer_account_id,usage_month,currency,amount\n"), "no_rows", True),
    "aws_water": (text("payer=000000000017/2026.json", '{"Results": []}'), "no_rows", True),
    "training_runs": (text("a.run.json", "[]"), "unknown_record", False),
    "neuron_monitor": (text("a.jsonl", ""), "no_known_metric", True),
    "tpu_monitoring": (text("a.json", "{}"), "no_known_metric", True),
    "xprof": (
        lambda folder: (folder / "a.xplane.pb").write_bytes(space_of(10).SerializeToString()),
        "no_known_metric",
        True,
    ),
    "neuron_power": (text("a.jsonl", '{"resourceMetrics": []}\n'), "no_known_metric", True),
    "gpu_monitoring": (text("host=i-1/a.csv", "timestamp, index, uuid, power.draw [W]\n"), "no_known_metric", True),
    "prometheus": (text("a.json", '{"status": "success", "data": {"resultType": "matrix"}}'), "no_known_metric", True),
    "wandb": (text("a.jsonl", '{"_timestamp": 1775001600.0, "system.cpu": 5}\n'), "no_known_metric", True),
    "power_meters": (text("a.csv", "time,host,watts\n"), "no_known_metric", True),
}


def test_every_kind_is_asked() -> None:
    assert {*EMPTY} == {*KINDS}


@pytest.mark.parametrize("kind", EMPTY)
def test_a_file_without_rows_is_refused_or_remarked_on(kind: str, tmp_path: Path) -> None:
    write, reason, is_taken = EMPTY[kind]
    organisation = Organisation(tmp_path, {"name": "source", "kind": kind})
    write(tmp_path / "exports" / "source")
    [landed] = organisation.refresh()
    assert landed.outcome == ("landed" if is_taken else "refused")
    found = landed.contents if is_taken else landed.refusal
    assert found is not None and (not landed.contents or landed.contents.rows == 0)
    [remark] = found.refusals
    assert remark.reason == reason and remark.message and remark.remedy
    assert organisation.outcomes() == {}, "each is named once, and not read again"
