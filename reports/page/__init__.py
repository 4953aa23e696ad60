"""How a report looks: rounding, table cells, drawings, the HTML templates, and the files that are written.

What stays out: SQL and the choice of what is shown.
"""
