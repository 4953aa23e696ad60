"""Which accelerator a row is of, by its usage type or SKU: that of the machine, or what the commitment was bought for."""

import re

from . import facts
from . import google_facts as google
from .google_lines import GoogleLine
from .lines import Line
from .records import Runs

# a Savings Plan for EC2 instances is bought for a family of them
_PLAN_OF_FAMILY = re.compile(r"EC2SP:([a-z0-9-]+)\.")
_GPUS = {
    r"a100.80gb": "nvidia-a100-80gb",
    r"a100": "nvidia-tesla-a100",
    r"h100.*mega": "nvidia-h100-mega-80gb",
    r"h100": "nvidia-h100-80gb",
    r"h200": "nvidia-h200-141gb",
    r"gb200": "nvidia-gb200",
    r"gb300": "nvidia-gb300",
    r"b200": "nvidia-b200",
    r"rtx.pro.6000": "nvidia-rtx-pro-6000",
}
FAMILIES = {
    "v": "tpu",
    "tpu": "tpu",
    "trn": "trainium",
    "inf": "inferentia",
    "nvidia-": "gpu",
    "gpu": "gpu",
    "p": "gpu",
    "g": "gpu",
    "gr": "gpu",
}
UNNAMED = ("tpu", "gpu")  # a kind of accelerator, and no type


def named_by(line: Line | GoogleLine) -> str:
    """The accelerator in the words of the row, '' for a row that names none."""
    if isinstance(line, Line):
        if plan := _PLAN_OF_FAMILY.search(line.usage_type):
            return plan[1] if facts.ACCELERATED.match(f"{plan[1]}.") else ""
        return line.instance_type if facts.ACCELERATED.match(line.instance_type) or line.is_host else ""
    if line.is_fee and google.usage_component(line.sku, "") == "accelerator":
        return named_in(line.sku) or ("tpu" if google.is_tpu(line.sku) else "gpu")
    return named_in(line.sku)


def named_in(sku: str) -> str:
    """The TPU or GPU that the description of a SKU of Google's names, '' where it names none."""
    if google.usage_component(sku, "") != "accelerator":
        return ""
    if google.is_tpu(sku):
        return google.generation_of(sku)
    return next((name for wording, name in _GPUS.items() if re.search(wording, sku.lower())), "")


def is_of_commitment(line: Line | GoogleLine) -> bool:
    """Whether the row pays for a commitment, or lowers what was paid."""
    if isinstance(line, GoogleLine):
        return line.is_fee
    is_paid = line.kind == "RIFee" or (line.kind.startswith("SavingsPlan") and not line.is_usage)
    return bool(line.purchase) or line.is_block_fee or is_paid or (line.kind == "Fee" and line.reservation_arn != "")


def charged(line: Line | GoogleLine, component: str) -> str:
    """The accelerator of a part of a row: a promotion, a tax or a refund of use is of none."""
    if component == "accelerator" or (
        component == line.component and is_of_commitment(line) and not getattr(line, "is_pod", False)
    ):
        return named_by(line)
    return ""


def family_of(name: str) -> str | None:
    """trainium, inferentia, tpu or gpu; None for what is none of them."""
    prefix = re.match(r"nvidia-|[a-z]+", name.removeprefix("u-"))
    return FAMILIES.get(prefix[0]) if prefix else None


def place_of(line: Line | GoogleLine) -> tuple:
    """What records may name a resource of."""
    return line.usage_month, line.provider_name, line.sub_account_id, named_by(line)


def is_unrecorded(line: Line | GoogleLine, runs: Runs) -> bool:
    """An accelerator of which nobody kept records. A row of no project is of no account."""
    is_machine = line.component == "accelerator" and not getattr(line, "is_host", False)
    return is_machine and line.sub_account_id != "" and place_of(line) not in runs.recorded
