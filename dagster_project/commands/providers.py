"""The providers' side as code: the folders `deploy/aws` and `deploy/google` with a user's own names filled in.

In a checkout they are beside this package, in an installed wheel package data of the same content. What is filled in are the
values `${name}` of JSON, tfvars and shell; Terraform reads its own. A file that is there is never overwritten.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from string import Template

from dagster_project.base.dbt_project import PACKAGE
from dagster_project.base.failures import UsageError

FILLED = {".json", ".tfvars", ".sh"}
# by provider what is asked for: the placeholder of a value that is not given, and what it may be
VALUES: dict[str, dict[str, tuple[str, str]]] = {
    "aws": {
        "account_id": ("111122223333", r"\d{12}"),
        "region": ("us-east-1", r"[a-z]{2}(-[a-z]+)+-\d"),
        "bucket": ("example-billing-exports", r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]"),
        "prefix": ("exports", r"[\w.-]+(/[\w.-]+)*"),
        "external_id": ("choose-a-long-random-text", r"[\w+=,.@:/-]{2,1224}"),
        "reader_principal": ("arn:aws:iam::${account_id}:root", r"arn:aws[a-z-]*:(iam|sts)::\d{12}:[\w+=,.@/-]+"),
        "landing_bucket": ("", r"([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])?"),
    },
    "google": {
        "project": ("example-project", r"[a-z][a-z0-9-]{4,28}[a-z0-9]"),
        "dataset": ("billing_exports", r"\w{1,1024}"),
        "location": ("EU", r"[A-Za-z0-9-]+"),
        "billing_account": ("XXXXXX-XXXXXX-XXXXXX", r"[0-9A-FX]{6}(-[0-9A-FX]{6}){2}"),
        "reader_member": ("user:you@example.com", r"(user|group|serviceAccount):[\w.+-]+@[\w.-]+"),
        "landing_bucket": ("", r"([a-z0-9][a-z0-9._-]{1,220}[a-z0-9])?"),
    },
}


def values_of(provider: str, given: Mapping[str, str | None]) -> dict[str, str]:
    """All values of a provider: those that are given, else placeholders. They go into shell, so their form is checked."""
    found: dict[str, str] = {}
    for name, (placeholder, form) in VALUES[provider].items():
        value = given.get(name)
        if value is not None and not re.fullmatch(form, value, re.ASCII):
            raise UsageError(
                f"{value!r} is no {name.replace('_', ' ')}", remedy=f"It looks like {placeholder or 'example-landing'}."
            )
        found[name] = Template(placeholder).substitute(found) if value is None else value
    return found


def source_folder(provider: str) -> Path:
    """Where the files of a provider are."""
    packaged = PACKAGE / "deploy_files" / provider
    return packaged if packaged.is_dir() else PACKAGE.parent / "deploy" / provider


def write_provider(provider: str, values: Mapping[str, str], folder: Path) -> None:
    """Write a provider's files, filled in, into a folder that holds none of them."""
    files = sorted(path for path in source_folder(provider).iterdir() if path.is_file())
    if there := [path.name for path in files if (folder / path.name).exists()]:
        remedy = "Edit them, or give another --out."
        raise UsageError(f"these files are there already: {', '.join(there)}", where=str(folder), remedy=remedy)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in files:
            text = path.read_text(encoding="utf-8")
            with (folder / path.name).open("x", encoding="utf-8") as handle:
                handle.write(Template(text).safe_substitute(values) if path.suffix in FILLED else text)
    except OSError as error:
        raise UsageError(f"{provider}'s files cannot be written: {error.strerror}", where=str(folder)) from None
