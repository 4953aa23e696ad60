"""A cause: one thing that is wrong, with a key that stays the same, in the words of wording.yaml; causes and ledger find them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from dagster_project.settings import Settings

LONGEST = 2000  # characters of one text: a failed gate brings its rows along


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong, in words."""

    key: str
    scope: str  # what has to be looked at again before the cause can be over
    group: str  # causes of one group that begin together are one message
    title: str
    first: str  # the first cause
    missing: str  # from the figures
    remedy: str
    link: str
    also: list[str] = []  # other keys that mean the same
    is_news: bool = True  # false: no message begins with it; where one did, it lasts
    has_end: bool = True  # false: there is nothing to be over


def cause(
    settings: Settings,
    event: str,
    key: str,
    *,
    scope: str,
    group: str = "",
    also: Iterable[str] = (),
    is_news: bool = True,
    has_end: bool = True,
    **names: object,
) -> Cause:
    """A cause in the words of its event; names are texts, or exact numbers that are shown with two places."""
    shown = {name: f"{value:,.2f}" if isinstance(value, Decimal) else _plain(value) for name, value in names.items()}
    words = {part: text.format(**shown).strip() for part, text in wording()[event].items()}
    page, ui = words.pop("page"), settings.alerts and settings.alerts.ui_url
    link = f"{ui.rstrip('/')}/{page}" if ui else words["docs"]
    del words["docs"]
    return Cause(
        key=key, scope=scope, group=group or event, link=link, also=sorted(also), is_news=is_news, has_end=has_end, **words
    )


@cache
def wording() -> dict[str, dict[str, str]]:
    """The words of each event."""
    import yaml

    text = Path(__file__).with_name("wording.yaml").read_text(encoding="utf-8")
    words: dict[str, dict[str, str]] = yaml.safe_load(text)
    return words


def _plain(value: object) -> str:
    """Text of anybody's, cut, without what a mail or JSON cannot carry."""
    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", " ", str(value)).encode("utf-8", "replace").decode()
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
