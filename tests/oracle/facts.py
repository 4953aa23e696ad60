"""The few facts about AWS and its machines, and Google's, that the oracle needs: written down a second time on purpose."""

import re

# Accelerator devices (Trainium, Inferentia or TPU chips, GPUs) of a whole instance; of a TPU type, of its usual host.
CHIPS_PER_NODE = {
    "trn1.2xlarge": 1,
    "trn1.32xlarge": 16,
    "trn1n.32xlarge": 16,
    "trn2.3xlarge": 1,
    "trn2.48xlarge": 16,
    "trn2u.48xlarge": 16,
    "inf2.xlarge": 1,
    "inf2.8xlarge": 1,
    "inf2.24xlarge": 6,
    "inf2.48xlarge": 12,
    "p4d.24xlarge": 8,
    "p4de.24xlarge": 8,
    "p5.48xlarge": 8,
    "p5e.48xlarge": 8,
    "p5en.48xlarge": 8,
    "p6-b200.48xlarge": 8,
    "p6-b300.48xlarge": 8,
    "p6e-gb200.36xlarge": 4,
    "p6e-gb300.36xlarge": 4,
    "g5.xlarge": 1,
    "g5.12xlarge": 4,
    "v4": 4,
    "v5e": 8,
    "v5p": 4,
    "v6e": 4,
    "v7x": 4,
}

ACCELERATED = re.compile(r"^(?:(?:trn|inf|p[0-9]|gr?[0-9]|dl)[0-9a-z-]*\.|u-(?:trn|p[0-9]))")
HOST = re.compile(r"BoxUsage|SpotUsage|Train|Cluster|UnusedBox|DedicatedUsage")
STORAGE = re.compile(r"EBS|TimedStorage|VolumeUsage|Storage|Snapshot")
NETWORK = re.compile(r"DataTransfer|(?:AWS|CloudFront)-(?:In|Out)-[A-Z]?Bytes|NatGateway")

# A zone is a letter after its region; a Local Zone carries its parent region in front.
REGION_OF_ZONE = re.compile(r"^[a-z]+(-[a-z]+)+-[0-9]+")

PREFIX = re.compile(r"^([A-Z]{2,5}[0-9]{0,2})-")

# First word of a usage type to region, for rows whose columns name none.
REGION_OF_PREFIX = {
    "USE1": "us-east-1", "US": "us-east-1", "USE2": "us-east-2", "USW1": "us-west-1", "USW2": "us-west-2",
    "UGE1": "us-gov-east-1", "UGW1": "us-gov-west-1", "CAN1": "ca-central-1", "CAN2": "ca-west-1", "MXC1": "mx-central-1",
    "SAE1": "sa-east-1",
    "EU": "eu-west-1", "EUW1": "eu-west-1", "EUW2": "eu-west-2", "EUW3": "eu-west-3", "EUC1": "eu-central-1",
    "EUC2": "eu-central-2", "EUN1": "eu-north-1", "EUS1": "eu-south-1", "EUS2": "eu-south-2",
    "APN1": "ap-northeast-1", "APN2": "ap-northeast-2", "APN3": "ap-northeast-3", "APE1": "ap-east-1",
    "APS1": "ap-southeast-1", "APS2": "ap-southeast-2", "APS3": "ap-south-1", "APS4": "ap-southeast-3", "APS5": "ap-south-2",
    "APS6": "ap-southeast-4", "APS7": "ap-southeast-5", "AFS1": "af-south-1", "ILC1": "il-central-1", "MEC1": "me-central-1",
    "MES1": "me-south-1", "CNN1": "cn-north-1", "CNW1": "cn-northwest-1",
}  # fmt: skip

KNOWN_REGIONS = {
    "us-east-1", "us-east-2", "us-west-1", "us-west-2", "us-gov-east-1", "us-gov-west-1",
    "ca-central-1", "ca-west-1", "mx-central-1", "sa-east-1",
    "eu-west-1", "eu-west-2", "eu-west-3", "eu-central-1", "eu-central-2", "eu-north-1", "eu-south-1", "eu-south-2",
    "ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-east-1", "ap-east-2", "ap-south-1", "ap-south-2",
    "ap-southeast-1", "ap-southeast-2", "ap-southeast-3", "ap-southeast-4", "ap-southeast-5", "ap-southeast-6", "ap-southeast-7",
    "af-south-1", "il-central-1", "me-central-1", "me-south-1", "cn-north-1", "cn-northwest-1", "eusc-de-east-1",
}  # fmt: skip

CARBON_PRODUCTS = ("AmazonEC2", "AmazonS3", "AmazonCloudFront")


def carbon_product(product_code: str) -> str:
    """AWS breaks out three products in its carbon data; everything else is Other."""
    return product_code if product_code in CARBON_PRODUCTS else "Other"


def instance_type_of(usage_type: str) -> str:
    return usage_type.rsplit(":", 1)[-1].removeprefix("ml.")


def is_host(usage_type: str) -> bool:
    """A dedicated host is billed by its family: HostUsage:p5."""
    return "HostUsage:" in usage_type and ACCELERATED.match(f"{instance_type_of(usage_type)}.") is not None


def chips_of(instance_type: str | None) -> int | None:
    return CHIPS_PER_NODE.get((instance_type or "").removeprefix("ml."))
