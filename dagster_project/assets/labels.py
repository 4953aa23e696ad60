"""Who answers for an asset and where its code is, put onto every asset of the graph at one place, as the configuration has it.

What an asset is and does is where it is declared; there `code_references` names its file.
"""

from pathlib import Path
from typing import Any

import dagster as dg

from dagster_project.base.dbt_project import project_folder
from dagster_project.settings import Settings

PACKAGE = Path(__file__).parents[1]
CODE = "dagster/code_references"


def code_references(path: Path) -> dict[str, Any]:
    """Where the code is on this machine."""
    return _references(dg.LocalFileCodeReference(file_path=str(path), line_number=1, label=path.name))


def labelled(assets: dg.AssetsDefinition, settings: Settings) -> dg.AssetsDefinition:
    """The same assets with their owners, and with addresses in the repository if the configuration names one."""

    def label(spec: dg.AssetSpec) -> dg.AssetSpec:
        owners = settings.organisation.owners.get(spec.group_name or "", [])
        here = spec.metadata.get(CODE)
        if settings.repository_url is None or here is None:
            return spec.replace_attributes(owners=owners)
        [local] = here.code_references
        address = dg.UrlCodeReference(url=address_of(Path(local.file_path), settings.repository_url), label=local.label)
        return spec.replace_attributes(owners=owners, metadata={**spec.metadata, **_references(address)})

    return assets.map_asset_specs(label)


def address_of(path: Path, repository: str) -> str:
    """A file of the product in its repository; the address of a repository alone means its newest state."""
    root = repository.rstrip("/")
    root = f"{root}/blob/HEAD" if root.count("/") == 4 else root  # https://host/owner/name
    folders = {"dbt": project_folder(), PACKAGE.name: PACKAGE}
    name, folder = next((name, folder) for name, folder in folders.items() if path.is_relative_to(folder))
    return f"{root}/{name}/{path.relative_to(folder).as_posix()}"


def _references(place: dg.LocalFileCodeReference | dg.UrlCodeReference) -> dict[str, Any]:
    return {CODE: dg.CodeReferencesMetadataValue(code_references=[place])}
