"""Connectors are found by kind, have one shape, and cost nothing until they read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from connectors.registry import KINDS, connector_for
from tests.connectors.kit import LINE, table, write_manifest, write_parquet


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_connector_of_that_name(kind: str) -> None:
    connector = connector_for(kind)
    assert kind == connector.KIND
    assert connector.SCHEMA.names and callable(connector.find_deliveries) and callable(connector.convert)


def test_an_unknown_kind_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"'gcp'; known kinds: aws_cur, aws_focus, aws_carbon, aws_water, gcp_billing"):
        connector_for("gcp")


def test_planning_imports_neither_a_parquet_reader_nor_a_cloud(tmp_path: Path) -> None:
    """A refresh with nothing new must be over before Arrow would have been imported."""
    key = "data/BILLING_PERIOD=2026-04/cur-00001.snappy.parquet"
    write_parquet(tmp_path / "cur" / key, table(LINE))
    write_manifest(tmp_path / "cur/metadata/BILLING_PERIOD=2026-04/cur-Manifest.json", [key])
    program = (
        "import sys, pathlib\n"
        "from connectors.registry import KINDS, connector_for\n"
        "from connectors.stores.opening import open_store\n"
        "store = open_store('cur', base=pathlib.Path(sys.argv[1]))\n"
        "plans = [list(connector_for(kind).find_deliveries(store)) for kind in KINDS]\n"
        "heavy = {'pyarrow', 'polars', 'boto3', 'botocore', 'duckdb'} & set(sys.modules)\n"
        "print(len(plans[0]), sorted(heavy))\n"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] == "1 []"
