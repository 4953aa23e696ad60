"""One configured line, made once where a command or a step of Dagster begins: its landing, and the place where it is built.

Rooms below are handed what they use of it; only those that put them together take a Home.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self

from dagster_project.base import modes
from dagster_project.landing.opening import open_landing
from dagster_project.publishing import parts
from dagster_project.warehouse.site import Site

if TYPE_CHECKING:
    from pathlib import Path

    from dagster_project.landing.land import Landing
    from dagster_project.settings import Rules, Settings, SourceSettings


@dataclass(frozen=True)
class Home:
    """What a configuration names, and a site: the line's own, or another where its deliveries are built for a question."""

    settings: Settings
    site: Site

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The home that a configuration names."""
        return cls(settings, Site.of_home(settings.home, settings.memory_limit))

    def at(self, site: Site) -> Self:
        """The same line, to be built at another site."""
        return replace(self, site=site)

    def elsewhere(self, folder: Path) -> Self:
        """The same sources and rules, landed and built in another folder: for a question that must leave no trace."""
        return self.of(self.settings.model_copy(update={"home": folder, "landing": str(folder / "landing")}))

    @cached_property
    def landing(self) -> Landing:
        """Everything landed, opened when it is first asked."""
        return open_landing(self.settings)

    @property
    def root(self) -> Path:
        """The home's own folder, wherever it is built."""
        return self.settings.home

    @property
    def sources(self) -> list[SourceSettings]:
        """What is configured to be landed."""
        return self.settings.sources

    @property
    def rules(self) -> Rules:
        """What of the configuration changes a figure."""
        return self.settings.rules

    def prepare_modes(self) -> None:
        """Make the folders that readers read, and give the home its modes; a site of another question stays its owner's."""
        if self.site.root == self.root:
            modes.prepare(self.root, self.settings.landing, self.settings.publish_mode)

    def keep_modes(self) -> None:
        """Give the home its modes, also one that an older version made or a person changed."""
        modes.keep(self.root, self.settings.landing, self.settings.publish_mode)

    def mend_publication(self) -> None:
        """Make the link to the published Parquet again, in a home that was copied without it."""
        if publication := self.site.publication():
            parts.mend_link(self.site.published, publication["build_id"])
