"""Tables that the organisation keeps itself, as CSV."""
