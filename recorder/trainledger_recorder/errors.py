"""What the recorder raises on purpose. Each names what is wrong and what to do about it."""

from __future__ import annotations


class UsageError(Exception):
    """An option that cannot be: exit code 2, and nothing is started."""

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(f"{what}. {remedy}".rstrip())


class RecordError(Exception):
    """A field of the run record with a value that its readers refuse."""


class DeliveryError(Exception):
    """A store that takes nothing now. Of its answer only the code is repeated: a text may hold the id of a key."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}. {remedy}")
