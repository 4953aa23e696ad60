"""The command `init`: what it reads of its options, and the modules it calls."""

from pathlib import Path
from typing import Annotated

import typer

from dagster_project.base.failures import UsageError
from dagster_project.commands.endings import guarded, say
from dagster_project.commands.options import DEFAULT_CONFIG, Config

AWS, GOOGLE = "With --aws", "With --google"


def _value(option: str, metavar: str, about: str, panel: str) -> typer.models.OptionInfo:
    found: typer.models.OptionInfo = typer.Option(option, metavar=metavar, help=about, rich_help_panel=panel)
    return found


@guarded
def init(
    config: Config = DEFAULT_CONFIG,
    aws: Annotated[bool, typer.Option("--aws", help="Also write the AWS side: exports, bucket, policies, role.")] = False,
    google: Annotated[bool, typer.Option("--google", help="Also write Google's side: dataset, export, roles, account.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where aws/ and google/ go; default: deploy/ beside --config.")
    ] = None,
    account_id: Annotated[str | None, _value("--account", "ID", "The payer's account.", AWS)] = None,
    region: Annotated[str | None, _value("--region", "NAME", "Where the buckets are.", AWS)] = None,
    bucket: Annotated[str | None, _value("--bucket", "NAME", "The bucket of the exports.", AWS)] = None,
    prefix: Annotated[str | None, _value("--prefix", "KEY", "Their folder in it.", AWS)] = None,
    external_id: Annotated[str | None, _value("--external-id", "ID", "What the reader names to take the role.", AWS)] = None,
    reader_principal: Annotated[
        str | None, _value("--reader", "ARN", "What trainledger runs as; default: the account decides.", AWS)
    ] = None,
    landing_bucket: Annotated[
        str | None,
        _value("--landing-bucket", "NAME", "Keep what is landed in it, not on the disk; with --google alone, Google's.", AWS),
    ] = None,
    project: Annotated[str | None, _value("--project", "ID", "The project of the dataset.", GOOGLE)] = None,
    dataset: Annotated[str | None, _value("--dataset", "NAME", "The dataset of the exports.", GOOGLE)] = None,
    location: Annotated[str | None, _value("--location", "NAME", "US or EU.", GOOGLE)] = None,
    billing_account: Annotated[str | None, _value("--billing-account", "ID", "Whose bill and emissions.", GOOGLE)] = None,
    reader_member: Annotated[
        str | None, _value("--member", "MEMBER", "Who acts as the reader: user:..., group:..., serviceAccount:...", GOOGLE)
    ] = None,
) -> None:
    """Write a commented trainledger.yaml to start from, and the providers' side as code; nothing that is there is overwritten.

    Values that are not given are placeholders.

    Example: trainledger init --aws --account 111122223333 --bucket acme-exports --external-id 7f3b
    """
    from dagster_project.commands.providers import values_of, write_provider
    from dagster_project.commands.starter import write_starter

    of_aws = {"account_id": account_id, "region": region, "bucket": bucket, "prefix": prefix, "external_id": external_id}
    is_googles = google and not aws
    of_aws |= {"reader_principal": reader_principal, "landing_bucket": None if is_googles else landing_bucket}
    of_google = {"project": project, "dataset": dataset, "location": location, "billing_account": billing_account}
    of_google |= {"reader_member": reader_member, "landing_bucket": landing_bucket if is_googles else None}
    given = {"aws": (aws, of_aws), "google": (google, of_google)}
    values: dict[str, dict[str, str]] = {}
    for provider, (wanted, named) in given.items():
        if not wanted and any(named.values()):
            raise UsageError(f"a value of {provider} is given, and its side is not asked for", remedy=f"Give --{provider} too.")
        if wanted:
            values[provider] = values_of(provider, named)
    if not (values and config.exists()):
        write_starter(config, values)
        say(f"Wrote {config}. Edit its sources, then run `trainledger doctor`.")
    folder = out or config.parent / "deploy"
    for provider, own in values.items():
        write_provider(provider, own, folder / provider)
        say(f"Wrote {folder / provider}. Read its README.md, then run commands.sh, or `terraform init` and `terraform apply`.")
