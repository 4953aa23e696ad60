"""What a run that goes on will have cost by now: the last effective rate of its accelerators, times the chip-hours that it held.

An estimate for people who wait for the bill. It is labelled as one wherever it is shown, and is in no published table.

*Example.* August's runs on trn1.32xlarge in us-west-2 held 10,000 chip-hours for 13,400 USD of accelerators, 1.34 a chip-hour.
A run that began ten hours ago and holds 16 chips there: 10 x 16 x 1.34, about 214 USD.
"""

from datetime import datetime

from reports import pages
from reports.door import Row
from reports.publication import Publication
from reports.runs.account import Account


def estimate(publication: Publication, account: Account, until: datetime) -> Row | None:
    """The estimate of a run without an end, until an instant in UTC; None for one that ended. Without a rate: why."""
    asked = {"run": account["training_run_id"], "until": until.replace(tzinfo=None)}
    return next(iter(pages.rows(publication, "run_estimates", asked, is_needed=True)), None)
