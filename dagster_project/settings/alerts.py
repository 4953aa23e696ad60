"""`alerts:` of trainledger.yaml as types: where messages go, and the limits that somebody wants to hear of.

A secret is named by the environment variable that holds it. No value of one is read here, and none is repeated in an error.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

_MONEY = re.compile(r"(\d+(?:\.\d{1,12})?) ([A-Z]{3})", re.ASCII)
_BYTES = re.compile(r"([1-9]\d*)([MGT])(i?)B", re.ASCII)


def _variable(name: str) -> str:
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", name):  # somebody may have written the secret itself: it is not repeated
        raise ValueError("this is no name of an environment variable (A-Z, 0-9, _); the value belongs into the environment")
    return name


def _bytes(text: str) -> str:
    if not _BYTES.fullmatch(text):
        raise ValueError("write a size as 20GB or 20GiB")
    return text


Variable = Annotated[str, AfterValidator(_variable)]
Address = Annotated[str, Field(pattern=r"^[^@\s,;<>]+@[^@\s,;<>]+$")]


class Part(BaseModel):
    """A mapping of the configuration: an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Money(Part):
    """An amount of one currency, written '5000 USD'."""

    amount: Decimal
    currency: str

    @model_validator(mode="before")
    @classmethod
    def _is_written_as_text(cls, written: Any) -> Any:
        found = _MONEY.fullmatch(written) if isinstance(written, str) else None
        if not found:
            raise ValueError("write an amount with its currency, like 5000 USD")
        return {"amount": Decimal(found[1]), "currency": found[2]}


class Webhook(Part):
    """An address that takes messages: JSON of our own, or as Slack or Teams wants it."""

    url_env: Variable
    shape: Literal["json", "slack", "teams"] = "json"


class Mail(Part):
    """A mail server, always by TLS."""

    host: str
    port: Annotated[int, Field(ge=1, le=65535)] = 587
    tls: Literal["starttls", "ssl"] = "starttls"
    sender: Address
    to: Annotated[list[Address], Field(min_length=1)]
    user_env: Variable | None = None
    password_env: Variable | None = None

    @model_validator(mode="after")
    def _a_login_has_both(self) -> Self:
        if (self.user_env is None) != (self.password_env is None):
            raise ValueError("a login needs both user_env and password_env")
        return self


class Alerts(Part):
    """Who is sent a message, and about which limits; what fails or lacks is always among them."""

    webhook: Webhook | None = None
    mail: Mail | None = None
    command: Annotated[list[str], Field(min_length=1)] | None = None  # a program and its arguments; the message is its input
    budgets: Mapping[str, Money] = {}  # of each run of a workload or team
    waste: Money | None = None  # of a month: unused commitment or idle machines of one account and accelerator type
    disk_free: Annotated[str, AfterValidator(_bytes)] | None = None
    ui_url: Annotated[str, Field(pattern=r"^https?://\S+$")] | None = None  # Dagster's UI as readers reach it, for links

    @model_validator(mode="after")
    def _there_is_a_way(self) -> Self:
        if not (self.webhook or self.mail or self.command):
            raise ValueError("name at least one of webhook, mail and command")
        return self

    @property
    def least_free(self) -> int:
        """`disk_free` in bytes; 0 where there is no limit."""
        found = _BYTES.fullmatch(self.disk_free or "")
        return int(found[1]) * (1024 if found[3] else 1000) ** (" MGT".index(found[2]) + 1) if found else 0
