"""The commands below `trainledger export`: what each reads of its options, and the one module it calls."""

from pathlib import Path
from typing import Annotated

import typer

from dagster_project.commands.endings import guarded
from dagster_project.commands.options import DEFAULT_CONFIG, Config, published_by

export_app = typer.Typer(help="Files for other systems, from the published file.", no_args_is_help=True)

First = Annotated[str | None, typer.Option("--from", metavar="MONTH", help="First month, like 2026-04; default: all there are.")]
Last = Annotated[str | None, typer.Option("--to", metavar="MONTH", help="Last month, included.")]
Out = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Named .csv or .parquet; default: CSV to standard output.")
]


@export_app.command("focus")
@guarded
def export_focus(first: First = None, last: Last = None, out: Out = None, config: Config = DEFAULT_CONFIG) -> None:
    """Write the whole bill as FOCUS 1.4 rows: runs as allocated resources, what no run carries, and both emission totals.

    Example: trainledger export focus --from 2026-04 --to 2026-06 --out q2.parquet
    """
    from dagster_project.commands.exporting import FOCUS, export

    export(published_by(config), FOCUS, first, last, out)


@export_app.command("activity")
@guarded
def export_activity(first: First = None, last: Last = None, out: Out = None, config: Config = DEFAULT_CONFIG) -> None:
    """Write activity data for a carbon accounting platform: tonnes and kWh by month, supplier, account and region.

    Example: trainledger export activity --from 2026-04 --to 2026-06 --out q2.csv
    """
    from dagster_project.commands.exporting import ACTIVITY, export

    export(published_by(config), ACTIVITY, first, last, out)
