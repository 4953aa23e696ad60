"""Which run a name means: its id, its id as recorded, the id of its job in another system, or of one of its attempts."""

from reports import pages
from reports.publication import Publication

NEAREST = 5


def runs_named(publication: Publication, *names: str) -> list[str]:
    """The runs that one of these spellings of a name means, by the best kind of name that finds any; more than one: ambiguous."""
    found = pages.rows(publication, "run_names", {"names": names}, is_needed=True)
    return [*dict.fromkeys(row["training_run_id"] for row in found if row["position"] == found[0]["position"])]


def nearest(publication: Publication, name: str) -> list[str]:
    """The ids that are most like a name which no run has."""
    found = pages.rows(publication, "nearest_runs", {"name": name}, most=NEAREST, is_needed=True)
    return [row["training_run_id"] for row in found]
