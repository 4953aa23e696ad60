"""Who pays AWS and for what: the payers, their accounts and regions, and the price list. All of it is invented."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from dagster_project.demo.organisation import Account, money


@dataclass(frozen=True, slots=True)
class Payer(Account):
    bill_source: str
    carbon_source: str
    accounts: tuple[Account, ...]  # whose machines it pays


# leading zeros on purpose: an account id is text
PRODUCTION = Account("118800420011", "ml-production (synthetic)")
RESEARCH = Account("118800420022", "ml-research (synthetic)")
PLATFORM = Account("020045130033", "platform (synthetic)")
VISION = Account("730025119955", "vision-lab (synthetic)")
ROBOTICS = Account("073002520066", "robotics (synthetic)")
EFFICIENCY = Account("073002520077", "efficiency-lab (synthetic)")
TRIALS = Account("073002520088", "comparison-lab (synthetic)")
PAYER_A = Payer(
    "004217390156", "Example AG payer A (synthetic)", "payer-a-cur", "payer-a-carbon", (PRODUCTION, RESEARCH, PLATFORM)
)
PAYER_B = Payer(
    "730025118844", "Example AG payer B (synthetic)", "payer-b-cur", "payer-b-carbon", (VISION, ROBOTICS, EFFICIENCY, TRIALS)
)


class Region(NamedTuple):
    prefix: str  # of EC2 usage types
    bill_name: str
    carbon_name: str
    grams_per_kwh: int  # plausible grid intensity of the synthetic provider, not a factor to cite


REGIONS = {
    "us-east-1": Region("", "US East (N. Virginia)", "US East (N. Virginia)", 357),
    "us-east-2": Region("USE2-", "US East (Ohio)", "US East (Ohio)", 428),
    "us-west-2": Region("USW2-", "US West (Oregon)", "US West (Oregon)", 286),
    "eu-west-1": Region("EU-", "EU (Ireland)", "Europe (Ireland)", 279),
    "eu-central-1": Region("EUC1-", "EU (Frankfurt)", "Europe (Frankfurt)", 331),
}
# per instance-hour, synthetic but near what is quoted publicly
ON_DEMAND = {
    "trn1.2xlarge": money("1.344"),
    "trn1.32xlarge": money("21.5"),
    "trn2.48xlarge": 0,  # in a Capacity Block only, whose hours cost nothing
    "trn2.3xlarge": money("2.235"),
    "p5.48xlarge": money("55.04"),
    "c6i.16xlarge": money("2.72"),
    "m6i.8xlarge": money("1.536"),
    "m6i.4xlarge": money("0.768"),
    "ml.trn1.32xlarge": money("24.725"),
}
SAVINGS_PLAN_RATE = money("13.545")
RESERVED_RATE = money("0.4838")
BLOCK_RATE = money("35.7608")
# what the synthetic provider's racks draw, for its carbon export only
WATTS = {
    "trn1.2xlarge": 340,
    "trn1.32xlarge": 5_200,
    "trn2.48xlarge": 11_500,
    "trn2.3xlarge": 610,
    "p5.48xlarge": 6_700,
    "c6i.16xlarge": 520,
    "m6i.8xlarge": 260,
    "m6i.4xlarge": 130,
}
