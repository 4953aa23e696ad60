"""The shelf: what our code made of each landed generation, below home/cache/derived. It can be deleted at any time.

One folder per generation and connector version, with `contents.json` and the typed copies; of bills and carbon also what judging
reads and leaves. A folder appears whole, by one rename; its verdict comes later and is found with it. When the connector's code
changes nothing on the shelf fits any more, and the landing derives anew from the bytes it kept; so a corrected connector reaches
what was landed before, and two homes with the same exports and code agree.
"""

import os
import shutil
from pathlib import Path
from typing import Any

from dagster_project.base import durable
from dagster_project.landing.deriving.contents import PROFILE, Contents, Profile
from dagster_project.landing.records import Generation, decode, encode
from dagster_project.landing.store import clear

CONTENTS = "contents.json"
VALIDATION = "validation.json"


class Shelf:
    """Derived data by generation and connector version."""

    def __init__(self, root: Path) -> None:
        self.root = root
        # no source's name begins with a dot
        self.staging = root / ".staging"
        self.again = root / f".again-{os.getpid()}"

    def find(self, generation: Generation, version: str) -> Contents | None:
        """What a version of the connector made of a generation, if that is here."""
        return self._read(generation, self._folder(generation) / version)

    def find_any(self, generation: Generation) -> Contents | None:
        """What some version made of a generation: for telling people about it, never for figures."""
        folder = self._folder(generation)
        versions = sorted(folder.iterdir()) if folder.is_dir() else []
        return next((contents for version in versions if (contents := self._read(generation, version))), None)

    def put(self, generation: Generation, contents: Contents, made: Path, *, is_kept: bool = True) -> None:
        """Keep a folder of typed copies with its contents; what other versions made of the generation goes.

        `is_kept`: it is on disk when this returns.
        """
        (made / CONTENTS).write_bytes(encode(contents))  # seen with its folder, by the rename
        for path in made.iterdir() if is_kept else ():
            durable.sync(path)
        target = self.made(generation, contents)
        if self._read(generation, target) is None:  # else another process, such as an as-of report, made the same meanwhile
            for outdated in target.parent.glob("*"):
                shutil.rmtree(outdated)
            target.parent.mkdir(parents=True, exist_ok=True)
            made.rename(target)
            if is_kept:
                durable.sync(target.parent)

    def made(self, generation: Generation, contents: Contents) -> Path:
        """The folder of typed copies and what lies beside them."""
        return self._folder(generation) / contents.connector_version

    def profile(self, generation: Generation, contents: Contents) -> Profile:
        """What the rows of a bill or of carbon are like."""
        path = self.made(generation, contents) / PROFILE
        profile: Profile = decode(path.read_bytes(), Profile, str(path))
        return profile

    def judge(self, generation: Generation, contents: Contents, validation: dict[str, Any]) -> None:
        """Keep the verdict in the contents, and beside them the validation that it rests on."""
        folder = self.made(generation, contents)
        durable.clear_unfinished(folder)
        durable.write_json(folder / VALIDATION, validation)  # first: a verdict has its validation
        durable.write(folder / CONTENTS, encode(contents))

    def validation(self, generation: Generation, contents: Contents) -> bytes:
        """The validation of a delivery that was judged."""
        return (self.made(generation, contents) / VALIDATION).read_bytes()

    def remove(self, generation: Generation) -> None:
        """Forget everything made of a generation."""
        shutil.rmtree(self._folder(generation), ignore_errors=True)

    def recover(self) -> None:
        """Remove what killed processes left half made; a living one, such as an as-of report, keeps its folder."""
        clear(self.staging)
        for folder in self.root.glob(".again-*"):
            if folder != self.again and not durable.is_alive(int(folder.name.rpartition("-")[2])):
                shutil.rmtree(folder)

    def _read(self, generation: Generation, folder: Path) -> Contents | None:
        try:
            data = (folder / CONTENTS).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        contents: Contents = decode(data, Contents, str(folder / CONTENTS))
        is_whole = all(part.is_original or (folder / part.file).exists() for part in contents.parts)
        return contents if contents.content_hash == generation.content_hash and is_whole else None

    def _folder(self, generation: Generation) -> Path:
        return self.root / generation.path
