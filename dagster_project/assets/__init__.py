"""The line as Dagster assets: each one is a paragraph that calls the module which knows how."""
