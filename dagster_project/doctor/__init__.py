"""`trainledger doctor`: whether a refresh could work, and whether runs would get their cost, energy and carbon."""
