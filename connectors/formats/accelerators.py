"""Which AWS instance types have accelerators: the only list of their families in Python.

The SQL of the ledger decides by the same expression (dbt/models/intermediate/costs/int_aws_lines.sql); a test compares them.
"""

# Trainium, Inferentia, GPUs (P and G with a generation: p5, g6e), Gaudi
AWS_FAMILIES = "trn|inf|p[0-9]|g[0-9]|dl"
