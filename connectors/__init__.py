"""Connectors find what a provider delivered and turn its bytes into a declared shape; they know providers and nothing else."""
