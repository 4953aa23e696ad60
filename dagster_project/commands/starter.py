"""`trainledger init`: the commented configuration of starter.yaml, which names no secret, written where there is none yet.

Where the providers' side is written beside it, its sources are those exports.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from string import Template

from dagster_project.base.failures import UsageError

TEXT = Path(__file__).with_name("starter.yaml").read_text(encoding="utf-8")
_ROLE = "    role_arn: arn:aws:iam::${account_id}:role/trainledger-reader\n    external_id: ${external_id}\n"
# what of starter.yaml a provider's values take the place of
_FILLED = {
    "aws": {
        "    location: s3://bucket/prefix/export-name\n": "    location: s3://${bucket}/${prefix}/trainledger-cur\n" + _ROLE,
        "    # role_arn: arn:aws:iam::111122223333:role/trainledger-read   # assume this role to read\n": "",
        "    # external_id: some-id\n": "",
        "    location: s3://bucket/prefix/carbon-export-name\n": "    location: s3://${bucket}/${prefix}/trainledger-carbon\n"
        + _ROLE,
    },
    "google": {
        "bq://my-billing-project.billing.": "bq://${project}.${dataset}.",
        "XXXXXX_XXXXXX_XXXXXX": "${table}",
        "impersonate: null                 # a service account to act as": "impersonate: ${reader}",
        "./exports/gcp-carbon}": "bq://${project}.${dataset}.carbon_footprint, impersonate: ${reader}}",
    },
}
# where sources begin that are put behind a comment mark, or before one
_AWS_SOURCES, _GOOGLE_SOURCES, _TELEMETRY = "  # AWS bill:", "  # Google Cloud bill", "  # Telemetry:"


def text_for(values: Mapping[str, Mapping[str, str]]) -> str:
    """The configuration for some providers' values, by provider; without any the one that names every source."""
    text = TEXT
    for provider, own in values.items():
        more = {"table": own.get("billing_account", "").replace("-", "_")}
        more["reader"] = f"trainledger-reader@{own.get('project')}.iam.gserviceaccount.com"
        for line, filled in _FILLED[provider].items():
            text = text.replace(line, Template(filled).substitute(own, **more))
    for provider, scheme in (("aws", "s3"), ("google", "gs")):
        if landing := values.get(provider, {}).get("landing_bucket"):
            text = text.replace("landing: null ", f"landing: {scheme}://{landing}/ledger ")
    if values and "aws" not in values:  # a source that is not there would be an error
        text = _changed(text, _AWS_SOURCES, _GOOGLE_SOURCES, r"^  (?=[^#])", "  # ")
    return (
        _changed(text, _GOOGLE_SOURCES, _TELEMETRY, r"^  # (?=-|  )(?!.*gcp-(focus|prices))", "  ")
        if "google" in values
        else text
    )


def _changed(text: str, start: str, end: str, pattern: str, new: str) -> str:
    """The text with the beginnings of lines changed, from one line up to another."""
    first, last = text.index(start), text.index(end)
    return text[:first] + re.sub(pattern, new, text[first:last], flags=re.MULTILINE) + text[last:]


def write_starter(path: Path, values: Mapping[str, Mapping[str, str]]) -> None:
    """Write the commented configuration; a file that is there already is never overwritten."""
    try:
        with path.open("x", encoding="utf-8") as handle:
            handle.write(text_for(values))
    except FileExistsError:
        remedy = "Edit it, or give another --config."
        raise UsageError("the configuration is there already", where=str(path), remedy=remedy) from None
    except OSError as error:
        raise UsageError(f"the configuration cannot be written: {error.strerror}", where=str(path)) from None
