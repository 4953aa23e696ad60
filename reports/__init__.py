"""Reports are functions of a published file: same file, same code, same bytes.

What is for here: reading a publication, arranging its figures, writing HTML, PDF, XLSX, CSV and JSON. What stays out: business
rules and statistics (they are SQL over the marts), the clock, the locale, and everything the line did before it published.
"""

REPORT_FORMAT = 2  # of report.json; raised when a reader of the old layout would misread the new one
