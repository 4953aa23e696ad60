"""Which run a name means: its id, its id as recorded, the id of its job in another system, or of one of its attempts."""

from reports.publication import Publication
from reports.runs.account import literal

NEAREST = 5
EXACT = """select training_run_id from marts.dim_training_runs
where training_run_id in ({names}) or recorded_id in ({names}) order by 1"""
ALIASES = "select distinct training_run_id from ops.run_aliases where alias_id in ({names}) order by 1"
ATTEMPTS = "select distinct training_run_id from marts.fct_run_attempts where attempt_id in ({names}) order by 1"
SIMILAR = f"""select training_run_id from marts.dim_training_runs
order by contains(training_run_id, {{name}}) desc, jaro_winkler_similarity(training_run_id, {{name}}) desc, training_run_id
limit {NEAREST}"""


def runs_named(publication: Publication, *names: str) -> list[str]:
    """The runs that one of these spellings of a name means, by the best kind of name that finds any; more than one: ambiguous."""
    spellings = ", ".join(map(literal, names))
    for sql in (EXACT, ALIASES, ATTEMPTS):
        if rows := publication.rows_if_there(sql.format(names=spellings)):
            return [row["training_run_id"] for row in rows]
    return []


def nearest(publication: Publication, name: str) -> list[str]:
    """The ids that are most like a name which no run has."""
    return [row["training_run_id"] for row in publication.rows(SIMILAR.format(name=literal(name.lower())))]
