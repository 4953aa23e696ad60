"""Names in the graph: keys, groups, checks and partitions, one rule each.

The graph is built from these names and what the command line did is told in them, so both show up at the same assets. No
asset and no event is made here.
"""

from typing import Any

import dagster as dg

POOL = "warehouse_writer"  # a limit of one in dagster.yaml: runs queue; the writer lock guards against everyone else
REFRESH = "refresh"  # the job, whose runs are those of the UI and those of the command line
BY_COMMAND_LINE = {"trainledger/started_by": "command line"}  # tag of a run
LOOK, BUILD, SOURCES = "new_deliveries", "build", "every_source_is_in"  # its steps

NEW_DELIVERIES = dg.AssetKey("new_deliveries")
GATES = dg.AssetKey("gates")
PUBLICATION = dg.AssetKey("publication")
MONTHS = dg.AssetKey(["publication_months"])
QUARTERLY = dg.AssetKey(["reports", "quarterly"])
COMPARISON = dg.AssetKey(["reports", "comparison"])

LANDING_CHECK = "every_delivery_is_taken"
LEDGER_MONTHS = "months of the ledger"
QUARTERS = "quarters of the ledger"


def landing_key(source: str) -> dg.AssetKey:
    """The asset of one configured source."""
    return dg.AssetKey(["landing", source])


def source_months(source: str) -> str:
    """The name of the partitions of one source: the months that it delivered, and no other source's."""
    return f"months of {source}"


def raw_key(table: str) -> dg.AssetKey:
    """A table of schema raw."""
    return dg.AssetKey(["raw", table])


def raw_tables(manifest: dict[str, Any]) -> list[str]:
    """The tables of schema raw that the models read."""
    return sorted(source["name"] for source in manifest["sources"].values() if source["source_name"] == "raw")


def node_key(node: dict[str, Any]) -> dg.AssetKey:
    """A model, seed or source of dbt: its schema and its name."""
    return dg.AssetKey([node["schema"], node["name"]])


def check_of_test(manifest: dict[str, Any], test: dict[str, Any]) -> dg.AssetCheckKey:
    """The check that shows a dbt test: at the model that its `meta.dagster.ref` names, else at the one it was written beside.

    A test that reads two models should name one; the first it reads is shown with it otherwise, so that no test is hidden.
    """
    meta = test["config"].get("meta") or test.get("meta") or {}
    named = (meta.get("dagster") or {}).get("ref", {}).get("name")
    parents = test["depends_on"]["nodes"]
    nodes = {**manifest["nodes"], **manifest["sources"]}
    attached = nodes[test.get("attached_node") or parents[0]]
    node = next((node for node in manifest["nodes"].values() if node["name"] == named), attached)
    return dg.AssetCheckKey(node_key(node), test["name"])


def quarter_of(month: str) -> str:
    """'2026Q2' of '2026-04'."""
    return f"{month[:4]}Q{(int(month[5:7]) + 2) // 3}"
