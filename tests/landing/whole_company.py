"""An organisation with a source of every kind, for what must hold of each: deriving again, landing together."""

from __future__ import annotations

import json
from pathlib import Path

from tests.aws_apis import water
from tests.connectors.prices import price
from tests.connectors.test_connector_prometheus import asked
from tests.landing.kit import (
    Organisation,
    bill_line,
    carbon_row,
    hour,
    set_time,
    write_points,
    write_profile,
    write_run,
    write_samples,
)

SOURCES = {
    "cur": "aws_cur",
    "aws-focus": "aws_focus",
    "carbon": "aws_carbon",
    "google": "gcp_billing",
    "focus": "gcp_focus",
    "google-carbon": "gcp_carbon",
    "prices": "gcp_prices",
    "neuron": "neuron_monitor",
    "tpu": "tpu_monitoring",
    "profiles": "xprof",
    "neuron-power": "neuron_power",
    "gpu": "gpu_monitoring",
    "rack": "power_meters",
    "metrics": "prometheus",
    "events": "wandb",
    "runs": "training_runs",
    "fx": "fx_rates",
    "own": "user_inputs",
    "totals": "provider_totals",
    "water": "aws_water",
}
WATER = json.dumps({"Results": [water(2024, 1.5), water(2025, 2.5)]})
RATES = "rate_date,base_currency,quote_currency,rate,source\n2026-04-01,USD,EUR,0.925,ECB\n2026-04-02,USD,EUR,0.926,ECB\n"
POWER = "neuron0\nPOWER_STATUS_VALID,1775001660,0.00,2.00,1.50\nPOWER_STATUS_VALID,1775001720,0.00,2.00,1.50\n"
GPU = 'DCGM_FI_DEV_POWER_USAGE{gpu="0"} 300 1775001660000\nDCGM_FI_DEV_POWER_USAGE{gpu="0"} 310 1775001720000\n'
RACK = "time,host,meter,watts\n2026-04-01T00:01:00Z,i-1,pdu,3000\n2026-04-01T00:02:00Z,i-1,pdu,3100\n"
METRICS = json.dumps(asked("ipmi_dcmi_power_consumption_watts", ({"node": "i-3"}, [(1, 3000), (2, 3100)])))
EVENTS = "".join(f'{{"_timestamp": {1775001660 + 15 * at}, "system.gpu.0.powerWatts": 300}}\n' for at in range(2))
TOTALS = "provider_name,payer_account_id,usage_month,currency,amount\nAWS,1,2026-04-01,USD,1.5\nAWS,1,2026-05-01,USD,2\n"
OWN = "kind,key,value,unit,source\npue,us-east-2,1.15,ratio,meter\npue,us-west-2,1.2,ratio,meter\n"


def whole_company(folder: Path) -> Organisation:
    """A source of every kind, each with at least two rows."""
    organisation = Organisation(folder, *({"name": name, "kind": kind} for name, kind in SOURCES.items()))
    organisation.deliver([bill_line(1.0), bill_line(2.0, number=2)], at="2026-05-02")
    organisation.deliver_aws_focus([bill_line(1.0), bill_line(2.0)], at="2026-05-02", BillingAccountId="000000000f0c")
    organisation.deliver_carbon([carbon_row(1.0), carbon_row(2.0)], at="2026-05-16")
    organisation.deliver_google("2026-04-03", hour("2026-04-03"), hour("2026-04-03T01:00"), at="2026-04-04")
    organisation.deliver_focus("2026-04-03", hour("2026-04-03"), hour("2026-04-03T01:00"), at="2026-04-04", BillingAccountId="F")
    organisation.deliver_google_carbon("2026-04", {}, {"project": None}, at="2026-05-16")
    organisation.deliver_prices("2026-04-03", price(), price("TpuV5e Spot", "0.6"), at="2026-04-04")
    exports = folder / "exports"
    samples = exports / "neuron/run=a/host=i-1/20260401T000000Z.jsonl"
    write_samples(samples, "2026-04-01T00:01:00Z", "2026-04-01T00:02:00Z", at="2026-04-02")
    write_points(exports / "tpu/points.json", "2026-04-03T00:01:00Z", "2026-04-03T00:02:00Z", at="2026-04-04", run="a")
    write_profile(exports / "profiles/plugins/profile/s/host-1.xplane.pb", at="2026-04-04")
    write_run(exports / "runs/a.run.json", "a", at="2026-05-02")
    metered = {
        "neuron-power/host=i-1/neuron0.txt": POWER,
        "gpu/host=i-2/dcgm.prom": GPU,
        "rack/a.csv": RACK,
        "water/payer=000011112222/2025.json": WATER,
        "metrics/a.json": METRICS,
        "events/run=a/host=i-4/wandb-events.jsonl": EVENTS,
    }
    for name, text in metered.items():
        (exports / name).parent.mkdir(parents=True, exist_ok=True)
        (exports / name).write_text(text)
        set_time(exports / name, "2026-04-02")
    for name, text in (("fx/fx.csv", RATES), ("own/own.csv", OWN), ("totals/totals.csv", TOTALS)):
        (exports / name).write_text(text)
        set_time(exports / name, "2026-05-02")
    return organisation
