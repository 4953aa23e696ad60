"""Whether the publication is of what was landed: what a look that finds nothing new still has to ask.

Opens no engine and imports neither Dagster nor dbt: a refresh without news and the sensor of new deliveries ask it. Time alone
can change the answer, as when a month turns final.
"""

from dagster_project.election.election import Election, elect
from dagster_project.election.units import fingerprints
from dagster_project.landing.land import NotDerivedError
from dagster_project.landing.planning import Plan
from dagster_project.warehouse import builds
from dagster_project.warehouse.home import Home


def current_election(home: Home, plan: Plan) -> Election | None:
    """The election that the publication is of, or None when there is something to build."""
    try:
        election = elect(home.sources, home.landing, contents_of=home.landing.contents_on_shelf, landed=plan.landed)
    except NotDerivedError:
        return None
    return election if builds.is_current(home.site, fingerprints(home.rules, election)) else None
