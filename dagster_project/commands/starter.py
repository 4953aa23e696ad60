"""`trainledger init`: the commented configuration of starter.yaml, which names no secret, written where there is none yet."""

from pathlib import Path

from dagster_project.base.failures import UsageError

TEXT = Path(__file__).with_name("starter.yaml").read_text(encoding="utf-8")


def write_starter(path: Path) -> None:
    """Write the commented configuration; a file that is there already is never overwritten."""
    try:
        with path.open("x", encoding="utf-8") as handle:
            handle.write(TEXT)
    except FileExistsError:
        remedy = "Edit it, or give another --config."
        raise UsageError("the configuration is there already", where=str(path), remedy=remedy) from None
    except OSError as error:
        raise UsageError(f"the configuration cannot be written: {error.strerror}", where=str(path)) from None
