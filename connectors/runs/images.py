"""The software that the name of a deep learning container names: framework, its version, and the Neuron SDK.

`.../pytorch-training-neuronx:2.1.2-neuronx-py310-sdk2.20.0-ubuntu20.04` is PyTorch 2.1.2 with the Neuron SDK 2.20.0. An image of
the organisation's own names none.
"""

from __future__ import annotations

import re

_IMAGE = re.compile(r"(?:^|/)(?:huggingface-)?(pytorch|jax|tensorflow)-training[\w-]*:(\d+(?:\.\d+)+)([\w.-]*)", re.ASCII)
_SDK = re.compile(r"(?:^|-)sdk(\d+(?:\.\d+)+)", re.ASCII)


def versions_of_image(image: str | None) -> dict[str, str]:
    """Fields of a run that an image's name states."""
    match = _IMAGE.search(image or "")
    if not match:
        return {}
    framework, version, rest = match.groups()
    sdk = _SDK.search(rest)
    found = {"framework": framework, "framework_version": version}
    return found | ({"sdk_name": "neuron", "sdk_version": sdk[1]} if sdk else {})
