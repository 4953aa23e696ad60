"""The parts of the bill, group by group, beside the published costs of each cell that they add up to.

For who publishes them and for who verifies a pack. Where the parts lie is the caller's.
"""

from __future__ import annotations

from dagster_project.base.sql import CELL

GROUP = ("billing_currency", "cost_component", "training_run_id", "attribution_rule", "reason")
COMMITMENT = ("commitment_id", "commitment_kind", "commitment_part")
ADDED_UP = {  # of each table of parts: the marts that it adds up to, and their columns, of which some have not all
    "fct_charge_attributions": {
        "fct_run_cell_costs": "billing_currency, cost_component, training_run_id, attribution_rule, null as reason",
        "fct_residual_costs": "billing_currency, cost_component, null as training_run_id, null as attribution_rule, reason",
    },
    "fct_commitment_attributions": {"fct_costs_by_commitment": ", ".join((*GROUP, *COMMITMENT))},
}
SUMS = "cast(sum(billed_cost) as decimal(38, 12)) as billed_cost, cast(sum(effective_cost) as decimal(38, 12)) as effective_cost"


def unequal_cells(table: str, parts: str, condition: str = "true") -> str:
    """A query of the cells, of rows that meet a condition, of which some parts of the bill do not add up to the marts.

    Of commitments what costs nothing is in neither, and what is of none is not all among the parts.
    """
    is_committed = table == "fct_commitment_attributions"
    meeting = f"{condition} and commitment_part <> ''" if is_committed else condition
    summed = "group by all" + (" having sum(billed_cost) <> 0 or sum(effective_cost) <> 0" if is_committed else "")
    cells = " union all ".join(
        f"select {CELL} as cell, {columns}, {SUMS} from marts.{mart} where {meeting} {summed}"
        for mart, columns in ADDED_UP[table].items()
    )
    names = ", ".join((*GROUP, *COMMITMENT) if is_committed else GROUP)
    of_parts = f"select substr(charge_group_id, 1, 12) as cell, {names}, {SUMS} from {parts} where {meeting} {summed}"
    return (
        f"with cells as ({cells}), parts as ({of_parts})"
        " from (from cells except all from parts) union all from (from parts except all from cells)"
    )
