"""Sentences of the report that no table holds, from words.yml: whose Scope 2 it is, measures in words, what stays open."""

from pathlib import Path
from typing import Any

import yaml

WORDS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("words.yml").read_bytes())
SCOPE_SENTENCE: str = WORDS["scope_sentence"]
