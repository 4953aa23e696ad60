"""Where a bill carries the configured run tags: how providers spell the key of a tag or label, and which of several counts."""

import re
from collections.abc import Iterable

from dagster_project.base.kinds import KINDS, Kind
from dagster_project.landing.deriving.typed_select import literal


def tag_key(text: str) -> str:
    """A cost-allocation tag's key as AWS writes it into a bill: '_' before capitals, lower-case, every other character '_'."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"([A-Z])", r"_\1", text).lower()).strip("_")


def run_tag(kind: Kind, keys: Iterable[str], row: str) -> str:
    """SQL for the run tag of a bill's row: of the first key that has a value, in its best place."""
    facts = KINDS[kind]
    tags = f"{row}.{facts.tag_column}"
    of_aws = facts.provider_name == "AWS"
    values = [
        value
        for key in keys
        for value in (_aws_places(key, row, tags, f"{row}.{facts.category_column}") if of_aws else _google_places(key, tags))
    ]
    return f"coalesce({', '.join([*dict.fromkeys(values), 'NULL'])})"


def _values(names: Iterable[str], tags: str) -> list[str]:
    return [f"nullif({tags}[{literal(name)}], '')" for name in dict.fromkeys(names)]


def _google_places(key: str, labels: str) -> list[str]:
    """A label as configured, in the lower case that labels have, and with hyphens, which teams write as well.

    A pod's label, which GKE's cost allocation writes under a prefix, goes before that of the machine the pod is on.
    """
    names = [key, key.lower(), key.lower().replace("_", "-")]
    return _values([*(f"k8s-label/{name}" for name in names), *names], labels)


def _aws_places(key: str, row: str, tags: str, categories: str) -> list[str]:
    """AWS has four places; the narrower what a tag is put on, the earlier it counts: resource, user, cost category, account.

    In a bill a cost-allocation tag is a tag of the user's, one of AWS's own, or one from an account attribute.
    """

    def entry(column: str, before: str) -> str:
        # most rows have no such map, and most keys are shorter than this one: both are seen before a pattern is tried
        letters = len(tag_key(key).replace("_", ""))
        name = f"length(e.key) >= {letters} AND regexp_matches(e.key, {literal(f'^{before}{_spelled(key)}$')})"
        found = f"list_filter(map_entries({column}), lambda e: {name} AND e.value <> '')"
        return f"CASE WHEN cardinality({column}) > 0 THEN list_min(list_transform({found}, lambda e: e.value)) END"

    *of_resource, of_user = _values([f"user_{tag_key(key)}", tag_key(key), f"userAttribute/{key}"], tags)
    if not tag_key(key):  # no letter or digit that AWS would keep
        return [*of_resource, of_user]
    return [
        *of_resource,
        entry(f"{row}.tags", "(resourceTags/)?(user[:_])?"),
        of_user,
        entry(f"{row}.tags", "(iamPrincipal|userAttribute)/"),
        entry(categories, ""),
        entry(f"{row}.tags", "costCategory/"),
        entry(f"{row}.tags", "accountTag/"),
    ]


def _spelled(key: str) -> str:
    """A pattern of the keys that are alike: AWS writes TrainingRun and training-run as training_run, TRAINING_RUN counts too."""

    def initial(word: str) -> str:
        return f"[{word[0].upper()}{word[0]}]" if word[0].isalpha() else word[0]

    first, *more = words = tag_key(key).split("_")
    gap = "[^A-Za-z0-9]"
    starts = (f"({gap}+{initial(word)}{'|' + word[0].upper() if word[0].isalpha() else ''})" for word in more)
    rest = "".join(start + word[1:] for start, word in zip(starts, more, strict=True))
    return f"{gap}*({initial(first)}{first[1:]}{rest}|(?i:{f'{gap}+'.join(words)})){gap}*"
