"""What the models and a second implementation of the page make of the same drawn publications: every verdict and its figures.

A commit compares some hundred verdicts of publications that the seed draws, `make nightly PART=comparison` ten thousand.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.comparison.beside import GIVEN, WANTED, differences
from tests.comparison.published import Models
from tests.comparison.second.deciding import REASONS
from tests.comparison.second.drawn import Drawn
from tests.nightly import IS_NIGHTLY, seed

pytestmark = [pytest.mark.slow, pytest.mark.proved_by("comparison")]
AT_LEAST = 10_000 if IS_NIGHTLY else 400
MOST = 500  # publications, if some verdict is rarely drawn
SHOWN = 10


def test_the_models_and_a_second_implementation_agree_about_every_drawn_verdict(template: Path) -> None:
    models, compared, number = Models(template, GIVEN, WANTED), Counter[str](), seed()
    decided = {"trainium: decided", "tpu: decided", "equivalent: decided"}
    undecided = {f"undecided: {reason}" for reason in ("power", "sample", "heterogeneous", "skewed", "residual_share")}
    every = decided | undecided | {f"{verdict}: {reason}" for reason, verdict in REASONS.items()}
    while compared.total() < AT_LEAST or (IS_NIGHTLY and number < seed() + MOST and not every <= compared.keys()):
        verdicts, found = differences(models, template, Drawn(number))
        assert not found, f"publication {number}: {len(found)} differ\n" + "\n".join(found[:SHOWN])
        compared, number = compared + verdicts, number + 1
    assert every <= compared.keys() or not IS_NIGHTLY
