"""The comparison a second time, written from docs/methodology/comparison.md and from nothing else.

Who writes here has not read the SQL of the models, and does not: what both get wrong alike would be found by nobody. Frames and
arrays in, frames out; no database, no file. tests/comparison/test_second.py compares what both make of drawn cases.
"""
