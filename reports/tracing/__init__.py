"""What the id of a printed figure names. What it is made of is dagster_project/evidence/tracing."""
