"""What a report shows: each table with the SQL that answers it, the headline figures, the stamp, and which rows become bars.

All SQL of the reports is in this folder, so that it can become dbt models. What stays out: HTML and CSV, rounding, pixels.
"""
