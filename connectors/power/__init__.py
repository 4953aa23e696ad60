"""Power of accelerators and of nodes, from profiles, drivers, meters and logs, as readings of one shape."""
