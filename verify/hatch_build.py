"""Takes the modules that the command needs from the repository into the package, so that no second copy of them is kept."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Carried(BuildHookInterface[Any]):
    """Names the carried files to the build. In a source distribution they are part of the package already."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before each build of this folder."""
        package, repository = Path(self.root, "trainledger_verify"), Path(self.root).parent
        if not (package / "carried").is_dir():
            taken = {str(repository / name): f"trainledger_verify/carried/{name}" for name in self.config["carried"]}
            build_data["force_include"].update(taken)
