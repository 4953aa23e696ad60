"""What vendors and articles claim, what a run would have cost bought in other ways, and what it would have emitted elsewhere.

Sensitivities and what-ifs only: nothing here is a figure of the book, and nothing is added up.
"""

TABLES = ("vendor_claims", "purchase_options", "what_if_span", "what_if_regions", "article_figures")
TITLE = "Claims, ways to buy, and other regions"
LEAD = (
    "Claims of vendors and public articles beside what this ledger measures; without data there is no verdict, and what no "
    "ledger can test is named. Below are "
    "sensitivities: what a run would have cost bought otherwise, and what it would have emitted elsewhere. They are no figures "
    "of the ledger and of no inventory."
)
