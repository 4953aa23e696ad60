"""The parts of the bill, group by group, beside the published costs of each cell that they add up to.

For who publishes them and for who verifies a pack. Where the parts lie is the caller's.
"""

from __future__ import annotations

from dagster_project.base.sql import CELL

GROUP = ("cell", "billing_currency", "cost_component", "training_run_id", "attribution_rule", "reason")
KINDS = {
    "fct_run_cell_costs": "training_run_id, attribution_rule, null as reason",
    "fct_residual_costs": "null as training_run_id, null as attribution_rule, reason",
}
SUMS = "cast(sum(billed_cost) as decimal(38, 12)), cast(sum(effective_cost) as decimal(38, 12))"


def unequal_cells(parts: str, condition: str = "true") -> str:
    """A query of the cells, of rows that meet a condition, of which some parts of the bill do not add up to the marts."""
    cells = " union all ".join(
        f"select {CELL} as cell, billing_currency, cost_component, {kind}, {SUMS} from marts.{mart}"
        f" where {condition} group by all"
        for mart, kind in KINDS.items()
    )
    of_parts = f"select substr(charge_group_id, 1, 12) as {', '.join(GROUP)}, {SUMS} from {parts} group by all"
    return (
        f"with cells as ({cells}), parts as ({of_parts})"
        " from (from cells except all from parts) union all from (from parts except all from cells)"
    )
