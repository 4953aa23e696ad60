"""Under which names a bill carries the configured run tags: how providers spell the key of a tag or label."""

import re
from collections.abc import Callable, Iterable

from dagster_project.kinds import Kind


def tag_key(text: str) -> str:
    """A cost-allocation tag's key as AWS writes it into a bill: '_' before capitals, lower-case, every other character '_'."""
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"([A-Z])", r"_\1", text).lower()).strip("_")


def aws_spellings(key: str) -> list[str]:
    """Names of a cost-allocation tag in a bill: a tag of the user's, one of AWS's own, one from an account attribute."""
    return [f"user_{tag_key(key)}", tag_key(key), f"userAttribute/{key}"]


def gcp_spellings(key: str) -> list[str]:
    """Names of a label: as configured, in the lower case that labels have, and with hyphens, which teams write as well."""
    return list(dict.fromkeys([key, key.lower(), key.lower().replace("_", "-")]))


# the column with the tags of a bill line, and the names to look for, best first
TAG_COLUMNS: dict[Kind, tuple[str, Callable[[str], list[str]]]] = {
    Kind.AWS_CUR: ("resource_tags", aws_spellings),
    Kind.GCP_BILLING: ("labels", gcp_spellings),
}


def tag_names(kind: Kind, keys: Iterable[str]) -> tuple[str, list[str]]:
    """The column of a kind's tags and every name in it that may carry a run id, best first."""
    column, spellings = TAG_COLUMNS[kind]
    return column, list(dict.fromkeys(name for key in keys for name in spellings(key)))
