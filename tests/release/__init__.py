"""A release: what must agree before there is one, and what it consists of."""
