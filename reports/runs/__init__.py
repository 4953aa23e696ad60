"""Runs one by one: what each cost, how that is known, from what, and what would make it better.

Whoever answers that question asks here: the ledger's page, `trainledger run`, assistants. What stays out: totals of several runs.
"""
