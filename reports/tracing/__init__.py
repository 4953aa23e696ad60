"""From a figure to the rows of the published file that alone give it again. Landed bytes are dagster_project/evidence/tracing."""
