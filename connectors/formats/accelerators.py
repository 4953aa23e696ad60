"""What an accelerator is called, whoever names it: the one normaliser, and the only list of AWS families in Python.

Bills, run records and telemetry must mean one type by one name: `ml.trn1.32xlarge` is trn1.32xlarge, `ct6e-standard-8t` is v6e,
`NVIDIA_H100_80GB` is nvidia-h100-80gb.
An unknown name keeps its own spelling. The SQL of the ledger decides by the same expression of families
(dbt/models/intermediate/costs/int_aws_lines.sql); a test compares them.
"""

from __future__ import annotations

import re
from functools import lru_cache

from connectors.formats.gpu_names import gpu_type_of
from connectors.formats.tpu_names import tpu_type_of

# Trainium, Inferentia, GPUs (P and G with a generation: p5, g6e), Gaudi
AWS_FAMILIES = "trn|inf|p[0-9]|g[0-9]|dl"
_AWS = re.compile(rf"(?:{AWS_FAMILIES})[0-9a-z-]*\.[0-9a-z-]+", re.I)


@lru_cache(maxsize=256)
def accelerator_type_of(name: str | None) -> str | None:
    """The type that a name means; a name of no known shape means itself, an empty one nothing."""
    name = re.sub(r"^ml\.", "", (name or "").strip(), flags=re.I)  # as SageMaker writes the types of EC2
    return name.lower() if is_aws_accelerator(name) else gpu_type_of(name) or tpu_type_of(name) or name or None


def is_aws_accelerator(instance_type: str) -> bool:
    """Whether a machine of this type has accelerators."""
    return _AWS.fullmatch(instance_type) is not None
