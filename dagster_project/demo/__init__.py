"""Synthetic exports of an invented organisation, in the providers' own formats, with the truth beside them.

For the demo command, tests and benchmarks. Imports nothing of the product, so that its truth cannot share the product's mistakes.
One package per provider (`aws`); what both clouds run lives here: the clock, the organisation, the simulation, records, truth.
"""
