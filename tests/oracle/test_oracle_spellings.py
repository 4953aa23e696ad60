"""The oracle reads names of accelerators by itself, and as the ledger's connectors do."""

import pytest

from connectors.formats.accelerators import accelerator_type_of
from connectors.formats.tpu_names import node_chips_of
from tests.oracle.spellings import read


@pytest.mark.parametrize(
    ("name", "nodes", "expected"),
    [
        ("v6e-8", 1, ("v6e", 8)),
        ("v6e-16", 4, ("v6e", 4)),
        ("v6e-256", 2, ("v6e", 256)),
        ("v5p-8", 1, ("v5p", 4)),
        ("ct6e-standard-8t", 3, ("v6e", 8)),
        ("TPU_V5_LITEPOD", 1, ("v5e", None)),
        ("tpu-v5-lite-podslice", 1, ("v5e", None)),
        ("tpu7x", 1, ("v7x", None)),
        ("tpu7x-16", 2, ("v7x", 4)),
        ("TPU v4", 1, ("v4", None)),
        ("trn1.32xlarge", 1, ("trn1.32xlarge", None)),
        ("ml.trn1.32xlarge", 1, ("trn1.32xlarge", None)),
        ("x9.odd", 1, ("x9.odd", None)),
        ("NVIDIA H100 80GB HBM3", 1, ("h100", None)),
        ("gpu:a100", 1, ("a100", None)),
        ("nvidia_h100_80gb_hbm3", 1, ("h100", None)),
        ("neuron:trainium2", 1, ("trn2", None)),
        ("", 1, (None, None)),
        (None, 1, (None, None)),
    ],
)
def test_a_name_means_one_type_and_its_chips_on_both_sides(name: str | None, nodes: int, expected: tuple) -> None:
    assert read(name, nodes) == (accelerator_type_of(name), node_chips_of(name, nodes)) == expected
