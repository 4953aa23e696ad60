"""How often the comparison is wrong, and how many clusters it needs: simulations of invented worlds."""
