"""How often the comparison is wrong, and how many clusters it needs: simulations of invented worlds.

`python -m benchmarks.comparison`: worlds are drawn (worlds.py), the compiled models decide about thousands of them in one query
(tests/comparison/side_by_side.py), and the table of docs/methodology/comparison.md is what comes out (counting.py). No rule is
written here. `python -m benchmarks.comparison.plan_table`: how many clusters a difference takes.
"""
