"""The ledger on one page: a constant page and small files of data, for each month and for the runs that ended in it.

What is for here: choosing marts and laying them out for a browser without a network. What stays out: writing to the disk, which
belongs to a publication, and any figure that is no sum of published rows.
"""
