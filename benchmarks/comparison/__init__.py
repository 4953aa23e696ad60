"""How often the comparison claims a difference that is not there, and finds one that is: `python -m benchmarks.comparison`.

Worlds are drawn (worlds.py), the compiled models decide about thousands of them in one query (side_by_side.py), and the table of
docs/methodology/comparison.md is what comes out (counting.py). No rule of the comparison is written here.
"""
