"""What every room of the product may use and what knows none of them: one small job a module."""
