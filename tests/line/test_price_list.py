"""Google's price list through a whole refresh: what is not recognised is named, hours not bought on demand have a list price."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from dagster_project.commands.refreshing import refresh
from dagster_project.commands.status import read_status
from dagster_project.doctor.examination import diagnose
from dagster_project.warehouse.home import Home
from tests.connectors.prices import price
from tests.landing.kit import Organisation, hour
from tests.line.kit import query
from tests.warm import without_dagster

pytestmark = [pytest.mark.slow, pytest.mark.in_turn]
SPOT = {"id": "0561-8741-3BC7", "description": "TpuV5e attached to Spot Preemptible VMs running in Las Vegas"}


def test_a_price_list_names_what_is_not_recognised_and_prices_what_was_not_bought_on_demand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight chips for an hour on Spot on 3 and 30 April; the list of the 2nd, at 1.20 on demand, is in force to the 30th."""
    monkeypatch.setenv("TRAINLEDGER_NOW", "2026-06-10T00:00:00Z")
    organisation = Organisation(tmp_path, {"name": "google", "kind": "gcp_billing"}, {"name": "prices", "kind": "gcp_prices"})
    for day, run in (("2026-04-03", "run-a"), ("2026-04-30", "run-b")):
        labels = [{"key": "training_run_id", "value": run}]
        organisation.deliver_google(day, hour(day, sku=SPOT, cost=4.8, cost_at_list=5.0, labels=labels), at=f"{day}T12:00")
    new = [price(f"Nvidia L9 GPU running in {place}", "0.4", day="2026-04-02") for place in ("Iowa", "Columbus")]
    organisation.deliver_prices("2026-04-02", price(day="2026-04-02"), *new, at="2026-04-02T12:00")
    with without_dagster():
        assert refresh(organisation.settings, say=print).exit_code == 0
    home = organisation.settings.home
    costs = (
        "select training_run_id, sum(effective_cost), sum(list_cost), sum(on_demand_list_cost) from marts.fct_training_run_costs"
    )
    assert query(home, f"{costs} where cost_component = 'accelerator' group by all order by 1") == [
        ("run-a", Decimal("4.8"), Decimal(5), Decimal("9.6")),
        ("run-b", Decimal("4.8"), Decimal(5), None),
    ]
    listed = "select accelerator_type, purchase_option, price_per_unit, valid_from::text, valid_to::text from marts.dim_prices"
    assert query(home, f"{listed} where price_id like 'google:list:%'") == [
        ("v5e", "on_demand", Decimal("1.2"), "2026-04-02", "2026-04-30")
    ]
    held = query(home, "select value, row_number from marts.fct_quarantine where reason = 'unknown_price_sku'")
    assert held == [("Nvidia L9 GPU (2 SKUs)", 2)]
    [warning] = [one for one in read_status(organisation.settings).warnings if "unknown_price_sku" in one]
    assert "kinds of SKUs: 1, such as Nvidia L9 GPU (2 SKUs), a GPU whose name is not recognised" in warning
    stated: list[str] = []
    assert diagnose(Home.of(organisation.settings), stated.append) == 0
    text = " ".join(" ".join(stated).split())
    assert "price skus of prices: 3 SKUs of accelerators in the list of 2026-04-02; not recognised are 2: Nvidia L9 GPU:" in text
