"""The kinds that trainledger.yaml may name, as a type; what is known of each is its descriptor in connectors.registry."""

from enum import StrEnum
from typing import TYPE_CHECKING

from connectors.registry import DESCRIPTORS, Descriptor, Fact

__all__ = ["KINDS", "Descriptor", "Fact", "Kind", "built_kinds"]

if TYPE_CHECKING:

    class Kind(StrEnum):
        """Every kind trainledger.yaml may name."""
else:
    Kind = StrEnum("Kind", [(name.upper(), name) for name in DESCRIPTORS], module=__name__)

KINDS: dict[Kind, Descriptor] = {Kind(name): descriptor for name, descriptor in DESCRIPTORS.items()}


def built_kinds() -> list[Kind]:
    """The kinds this version reads, in the order of the registry; each has a raw view."""
    return list(KINDS)
