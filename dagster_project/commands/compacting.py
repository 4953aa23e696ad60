"""`trainledger compact`: small landed deliveries of a source and day become one file, one line for each such file."""

from collections.abc import Callable

from dagster_project.base.locking import writer_lock
from dagster_project.landing.compacting import compact
from dagster_project.settings import Settings
from dagster_project.warehouse.home import Home

Say = Callable[[str], None]


def run(settings: Settings, *, wait: float, tell: Say, say: Say) -> None:
    """Compact every source; the answer goes to `tell`, remarks to `say`."""
    home = Home.of(settings)
    with writer_lock(home.root, "trainledger compact", wait, say):
        home.landing.recover()
        is_any = False
        for one in compact(home.sources, home.landing):
            is_any = True
            tell(str(one))
    if not is_any:
        say("Nothing is to be compacted: no source has two small deliveries of one day in folders of their own.")
