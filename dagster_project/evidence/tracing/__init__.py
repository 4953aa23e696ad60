"""`trainledger trace`: from a figure to landed rows and seed rows, and from a landed row to the figures it is part of."""
