"""The public contract as it is in force: contract.yml, changed by the sections of the later files that are done."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import yaml

LATER = ("contract-2.yml", "contract-3.yml")


def flat(columns: list[Any]) -> Iterator[str]:
    """Column definitions; lists that are shared by name are nested in the file."""
    for column in columns:
        if isinstance(column, list):
            yield from flat(column)
        else:
            yield column


def read(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first file, and the sections of all later ones under their names, with the enumerations of the second."""
    more: dict[str, Any] = {"enumerations": {}}
    for name in LATER:
        more |= yaml.safe_load((folder / name).read_text(encoding="utf-8"))
    return yaml.safe_load((folder / "contract.yml").read_text(encoding="utf-8")), more


def versions(folder: Path) -> dict[str, int]:
    """Each section with the version of the file that has it."""
    later = [yaml.safe_load((folder / name).read_text(encoding="utf-8")) for name in LATER]
    return {section: more["version"] for more in later for section in sections_of(more)}


def sections_of(more: dict[str, Any]) -> list[str]:
    return [name for name in more if name not in ("version", "enumerations")]


def in_force(base: dict[str, Any], more: dict[str, Any], sections: Collection[str]) -> dict[str, Any]:
    """Tables and enumerations that hold once these sections are done.

    A section gives a table a new key or columns, adds columns, lets columns be null, has enumerations, or only a note.
    """
    merged = copy.deepcopy(base)
    if sections:
        merged["enumerations"] |= more["enumerations"]
    for section in sections:
        for name, change in more[section].items():
            if name == "note":
                continue
            if name == "enumerations":
                merged["enumerations"] |= change
                continue
            _change(merged["tables"].setdefault(name, {}), change, f"{section}.{name}")
    return merged


def _change(table: dict[str, Any], change: dict[str, Any], where: str) -> None:
    # a note without quotes ends at its first comma for YAML, and what follows is a word without a value:
    # {note: the same by month, without the per-token columns}
    unknown = {word for word, value in change.items() if value is not None} - {"key", "columns", "adds", "nullable", "note"}
    assert not unknown, f"{where}: the contract has a word that this test does not know: {sorted(unknown)}"
    table |= {word: change[word] for word in ("key", "columns") if word in change}
    columns = list(flat(table.get("columns", [])))
    names = {column.split()[0] for column in columns}
    assert set(change.get("nullable", ())) <= names, f"{where}: nullable names a column the table does not have"
    columns = [f"{column.rstrip('?')}?" if column.split()[0] in change.get("nullable", ()) else column for column in columns]
    adds, key = {column.split()[0]: column for column in flat(change.get("adds", []))}, table.get("key", [])
    for at, name in enumerate(key):  # a column of the key comes after the one before it in the key, every other one last
        if name in adds:
            columns.insert(_index(columns, key[at - 1]) + 1 if at else 0, adds.pop(name))
    if columns or adds:
        table["columns"] = [*columns, *adds.values()]


def _index(columns: list[str], name: str) -> int:
    return [column.split()[0] for column in columns].index(name)
