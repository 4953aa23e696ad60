"""What a bill of AWS costs by run and by reason, as text: an amount is compared to its last digit."""

from .oracle import Tables


def by_run(tables: Tables, measure: str = "billed_cost") -> dict[tuple, str]:
    """(run, rule) -> amount as plain text."""
    return {(key[0], key[-1]): f"{row[measure]:f}" for key, row in tables["fct_training_run_costs"].items()}


def by_reason(tables: Tables, measure: str = "billed_cost") -> dict[tuple, str]:
    """(component, reason) -> amount; the tests' bills have each once."""
    return {(key[-3], key[-1]): f"{row[measure]:f}" for key, row in tables["fct_residual_costs"].items()}
