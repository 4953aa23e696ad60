"""Parts of a chip: instances of MIG, and GPUs that several pods or jobs share in time. How many chips is what is asked for?

Slices of compute decide, not of memory: an instance 1g.20gb of an H100 computes with a seventh of it, beside a quarter of its
memory. Knows names and node labels; which pod held which node is known by its callers.
"""

from __future__ import annotations

import re
from fractions import Fraction

from connectors.runs.fields import count, text
from connectors.runs.run_records import Document

# Slices of compute of a whole GPU, by profile where they are not seven: of the A30, and of the RTX PRO 6000 (g7e, Google's G4).
# https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html, and for the latter HyperPod's profiles in
# https://github.com/aws/sagemaker-hyperpod-cli/pull/403, both read 2026-11-28
_SLICES = 7
_SLICES_OF = {"1g.6gb": 4, "2g.12gb": 4, "4g.24gb": 4, "2g.48gb": 4, "4g.96gb": 4}
# also the name of a seventh of an H100 with 94 GB
_SAME_NAME = {"1g.24gb": (4, re.compile(r"g7e|g4-standard|rtx-pro-6000"))}
_PROFILE = re.compile(r"(?:^|[-_.:/ ])((\d)g\.\d+gb)(?:[.+_-]?me)?(?=$|[.@-])", re.I)

_GPU = "nvidia.com/gpu"
_SHARED = ".shared"
_GKE_PROFILE, _GKE_CLIENTS = "cloud.google.com/gke-gpu-partition-size", "cloud.google.com/gke-max-shared-clients-per-gpu"


def mig_part(name: str, accelerator_type: str | None = None) -> Fraction | None:
    """The part of a chip of the profile in a name: 1g.10gb, nvidia.com/mig-1g.10gb, a100_3g.20gb. None without a profile."""
    found = _PROFILE.search(name)
    if not found:
        return None
    profile = found[1].lower()
    slices = _SLICES_OF.get(profile, _SLICES)
    if profile in _SAME_NAME:
        other, types = _SAME_NAME[profile]
        slices = other if types.search(f"{name} {accelerator_type or ''}".lower()) else slices
    return min(Fraction(int(found[2]), slices), Fraction(1))


def without_profile(name: str) -> str:
    """The name of the GPU in a name that ends with a profile: a100 of a100_3g.20gb."""
    found = _PROFILE.search(name)
    return name[: found.start()] if found else name


def gpus_of(asked: Document, accelerator_type: str | None, labels: Document) -> Fraction:
    """Chips of NVIDIA that a container asks for, in parts where its node divides or shares them.

    A share of which no label states how many there are counts as a whole chip; a row of fct_run_conflicts shows where these are
    more than the machine has.
    """
    found = Fraction(0)
    for name in asked:
        if not name.startswith(("nvidia.com/gpu", "nvidia.com/mig-")):
            continue
        resource = name.removesuffix(_SHARED)
        product = text(labels, "nvidia.com/gpu.product") or ""
        kind = f"{accelerator_type or ''} {product}"
        part = mig_part(resource, kind)
        if part is None and resource != _GPU:
            continue
        if part is None:
            part = mig_part(text(labels, _GKE_PROFILE) or product, kind) or Fraction(1)
        sharers = count(labels, f"{resource}.replicas") or (count(labels, _GKE_CLIENTS) if resource == _GPU else None) or 1
        found += (count(asked, name) or 0) * part / sharers
    return found
