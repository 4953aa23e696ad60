"""An independent second calculation of the ledger: whole numbers in plain Python, straight from the export folders.

It shares no code with the product and never reads the demo's truth file. What the two agree on was calculated twice; what they do
not agree on is a question, never a rounding tolerance. Watts, PUE and factors are read from the seeds, published data, no rules.
Out of scope: landing, publication, the idle share of energy, all that is not an amount.
"""
