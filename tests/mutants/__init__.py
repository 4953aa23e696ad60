"""Mutants: small changes of SQL and Python that some test must notice. Run by `make mutants`, never by `make test`."""
