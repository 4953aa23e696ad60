"""What Google writes in words and the ledger must read: regions, TPU generations and components in SKUs, kinds of credits."""

import re

REGIONS = {
    "africa-south1", "asia-east1", "asia-east2", "asia-northeast1", "asia-northeast2", "asia-northeast3", "asia-south1",
    "asia-south2", "asia-southeast1", "asia-southeast2", "asia-southeast3", "australia-southeast1", "australia-southeast2",
    "europe-central2", "europe-north1", "europe-north2", "europe-southwest1", "europe-west1", "europe-west10", "europe-west12",
    "europe-west2", "europe-west3", "europe-west4", "europe-west5", "europe-west6", "europe-west8", "europe-west9",
    "me-central1", "me-central2", "me-west1", "northamerica-northeast1", "northamerica-northeast2", "northamerica-south1",
    "southamerica-east1", "southamerica-west1", "us-central1", "us-central2", "us-east1", "us-east2", "us-east4", "us-east5",
    "us-east7", "us-south1", "us-west1", "us-west2", "us-west3", "us-west4",
}  # fmt: skip

RESOURCE_CREDIT, SPEND_CREDIT = "COMMITTED_USAGE_DISCOUNT", "COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE"
COMMITMENT_CREDITS = {RESOURCE_CREDIT, SPEND_CREDIT}
FEE_OFFSET = "FEE_UTILIZATION_OFFSET"
# Commitments and negotiated prices lower what usage costs; every other credit is a gift that is no evidence of a run.
COST_CREDITS = {
    *COMMITMENT_CREDITS, FEE_OFFSET, "SUSTAINED_USAGE_DISCOUNT", "DISCOUNT", "SPENDING_BASED_DISCOUNT", "SUBSCRIPTION_BENEFIT",
}  # fmt: skip
GOODWILL = {"GOODWILL", "SALES_BASED_GOODWILL", "SLA_VIOLATION"}

MANAGEMENT = re.compile("management fee", re.I)
# a letter before "tpu" makes it another word: output
_TPU = re.compile(r"(?<![a-z])tpu", re.I)
_GPU = re.compile(r"(?<![a-z])gpu", re.I)
_GENERATIONS = (
    re.compile(r"(?<![a-z])TPU[ _-]?v?(\d+[a-z]+)", re.I),
    re.compile(r"(?<![a-z])TPU[ _-]?v(\d+[a-z]*)", re.I),
    re.compile(r"\b(?:DWS Defined Duration|Reserved) v?(\d+[a-z]+)\b", re.I),
    re.compile(r"\b(?:DWS Defined Duration|Reserved)\b.*?\bV(\d+[a-z]+)\b", re.I),
)
# ct5lp-hightpu-4t: of a v4 and a v5p the letter p, of a v5e l or lp, of a v6e its own
_MACHINES = re.compile(r"(?<![a-z0-9])ct(\d+)([a-z]*)-", re.I)
_LITE = re.compile(r"TPU[ _-]?v?5[ _-]?lite|(?<![a-z0-9])v5[ _-]?lite", re.I)
_HOST = re.compile(r"\b(core|ram|vcpu)\b", re.I)
_STORAGE = re.compile(r"\b(storage|pd capacity|snapshot|hyperdisk|disk)\b", re.I)
_NETWORK = re.compile(r"\b(network|networking|egress|ingress|data transfer|nat|load balancing|vpn|interconnect)\b", re.I)


def generation_of(sku: str) -> str:
    """v5e, v7x, ...; empty for what is no TPU, such as the management of one, or none of a name we know."""
    if MANAGEMENT.search(sku):
        return ""
    if _LITE.search(sku):
        return "v5e"
    if machine := _MACHINES.search(sku):
        number, letters = machine[1], machine[2].lower()
        return f"v{number}" + ({"l": "e", "lp": "e", "p": "p" if number == "5" else ""}.get(letters, letters))
    for pattern in _GENERATIONS:
        if found := pattern.search(sku):
            return "v" + found[1].lower()
    return ""


def is_tpu(sku: str) -> bool:
    return _TPU.search(sku) is not None or generation_of(sku) != ""


def usage_component(sku: str, service: str) -> str:
    if MANAGEMENT.search(sku):
        return "managed_service_fee"
    if is_tpu(sku) or _GPU.search(sku):
        return "accelerator"
    if service == "Compute Engine" and _HOST.search(sku):
        return "host"
    if _NETWORK.search(sku):
        return "network"
    return "storage" if _STORAGE.search(sku) else "other_usage"
