"""Write the synthetic organisation into a folder: exports, trainledger.yaml, truth.json, README.

`python -m demo.generate DIR --scale N`
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from dagster_project.demo import goodput, truth
from dagster_project.demo.aws import write as aws
from dagster_project.demo.clock import HISTORY, MONTHS, NOW, iso
from dagster_project.demo.files import put
from dagster_project.demo.gcp import write as gcp
from dagster_project.demo.inventory import FIRST_MONTH, write_inventory
from dagster_project.demo.organisation import NAME, TAG_KEY
from dagster_project.demo.registrations import write_plans, write_registration
from dagster_project.demo.runs import write_correction
from dagster_project.demo.telemetry import neuron, power, tpu, xprof
from dagster_project.demo.telemetry.observed import Observed
from dagster_project.demo.trials import TRIALS

LATE = "late"  # arrives after a report was issued, in the folder of exports of the same name
MARK = "# Synthetic exports of Example AG"

CONFIGURATION = f"""\
# {NAME}: an invented organisation. Its clock stands at {iso(NOW)}: set TRAINLEDGER_NOW={iso(NOW)}.
organisation: {{name: "{NAME}", reporting_currency: USD}}
home: ./trainledger-home
run_tag_keys: [{TAG_KEY}]
carbon_weights: list_cost
scope3_electricity: {{method: location, reason: "contracts behind the market-based figure are not reviewed"}}
fiscal_year_start: {FIRST_MONTH}
reporting: {{prepared_by: "Paula Preparer (invented)", approved_by: ["Anton Approver (invented)"], base_year: 2026}}
sources:
  - {{name: payer-a-cur,    kind: aws_cur,        location: ./exports/payer-a-cur}}
  - {{name: payer-a-carbon, kind: aws_carbon,     location: ./exports/payer-a-carbon}}
  - {{name: payer-b-cur,    kind: aws_cur,        location: ./exports/payer-b-cur}}
  - {{name: payer-b-carbon, kind: aws_carbon,     location: ./exports/payer-b-carbon}}
  - {{name: gcp-billing,    kind: gcp_billing,    location: ./exports/gcp-billing}}
  # the same bill from BigQuery, once the two lines in README.md loaded it; take another home with it, ./trainledger-home-bigquery
  # - {{name: gcp-billing,    kind: gcp_billing,    location: bq://your-project.trainledger_demo.gcp_billing}}
  - {{name: gcp-carbon,     kind: gcp_carbon,     location: ./exports/gcp-carbon}}
  - {{name: neuron,         kind: neuron_monitor, location: ./exports/neuron}}
  - {{name: tpu,            kind: tpu_monitoring, location: ./exports/tpu}}
  - {{name: xprof,          kind: xprof,          location: ./exports/xprof}}
  - {{name: neuron-power,   kind: neuron_power,   location: ./exports/neuron-power}}
  - {{name: gpu,            kind: gpu_monitoring, location: ./exports/gpu}}
  - {{name: rack,           kind: power_meters,   location: ./exports/rack}}
  - {{name: runs,           kind: training_runs,  location: ./exports/runs}}
  - {{name: plans,          kind: user_inputs,    location: ./exports/plans}}
"""

COMPARED = "\n".join(
    f"| {trial.workload.workload_key} | {trial.meant} | {', '.join(str(each or '-') for each in trial.ratios)} |"
    for trial in TRIALS
)
README = f"""\
{MARK}

Everything here is **synthetic**: {NAME} does not exist, its account numbers, prices, powers and emissions are made up, and no
figure is a statement about AWS, Google or anyone else. Only the formats are the providers' own. The same command writes the same
bytes.

Usage months {MONTHS[0]} to {MONTHS[-1]}, and {HISTORY[0]} to {HISTORY[-1]} of some small comparisons; now is {iso(NOW)}. File
times are the providers' delivery times.

| folder | what |
|---|---|
| exports/payer-a-cur | CUR 2.0, Parquet, OVERWRITE: on-demand, Spot, Savings Plan, Capacity Block; some columns begin later |
| exports/payer-b-cur | CUR 2.0, csv.gz, CREATE_NEW: untagged cluster, SageMaker job; 2026-06 delivered again on 2026-08-06 |
| exports/payer-a-carbon, payer-b-carbon | carbon Data Exports to 2026-08; model versions overlap in 2026-04 to 2026-06 |
| exports/gcp-billing | detailed billing export, nested Parquet, a partition a day: TPU v5e, v5p, v6e, commitment, Vertex job |
| exports/gcp-billing-table | the same bill as one table to load into BigQuery, see below: JSON lines, and its columns |
| exports/gcp-carbon | carbon export to 2026-08; June was backfilled with model version 17, April and May keep 16 |
| exports/neuron | neuron-monitor documents of every Trainium run, one per hour or half an hour |
| exports/tpu | Cloud Monitoring answers about every TPU run, a point an hour or, of short runs, every three minutes |
| exports/xprof | profiles of TPU runs: five minutes each, with the power of two rails of every chip |
| exports/neuron-power, gpu, rack | what a Neuron driver, nvidia-smi and a rack's meter read beside one run each, every minute |
| exports/runs | run records of both clouds; in runs/goodput what Google's recorder wrote of four TPU runs, one restarted |
| exports/plans | plans of comparisons, written before their first pair; in exports/runs/language one file of a recorder |
| exports/plans/inventory-2026.csv | own scopes, revenue and employees of the fiscal year to August 2026 |
| late/payer-a-carbon | June in the new model version: the demo lets it arrive after the report of the second quarter was issued |
| late/runs | a run record as its team corrects it after that: `trainledger demo --late` lets it arrive |
| truth.json | what really happened, line by line |

The paired workloads run under the same `pair_key` on both clouds, for the same number of tokens: llm-8b costs about a fifth
less on TPU, speech-finetune about a quarter more, bert-large about the same, and of vit-huge there are two pairs only.
ranking-pretraining costs nearly twice as much on TPU and needs less energy there. ranking-continued is the same again, in August,
with profiles that state what a TPU v4 draws. Of the small comparisons each is made for one verdict, which its table names:

| workload | meant | cost on TPU over cost on Trainium, by half quarter |
|---|---|---|
{COMPARED}

## The bill of Google Cloud from BigQuery

Google delivers its bill into a table of BigQuery. With a project of yours and Google's command `bq` this loads the rows of
exports/gcp-billing into one:

```sh
bq mk --dataset your-project:trainledger_demo
bq load --source_format=NEWLINE_DELIMITED_JSON your-project:trainledger_demo.gcp_billing \\
    exports/gcp-billing-table/rows.jsonl.gz exports/gcp-billing-table/schema.json
```

Then take the other line for `gcp-billing` in trainledger.yaml, with your project in it, and another `home`. `trainledger doctor`
says what a refresh will read, and after `trainledger refresh` every digest of `trainledger digest` is that of the folder.
Google's own table is divided by the day of its export, as the folder is. This one is divided by nothing and read by the day of
use: in the home of the folder a row that came late would stand in two days.

## truth.json

`objects[source][key]` describes one data object: `rows`, the exact sums of what it bills (`unblended_cost`, or `cost` and
`credits`) and `lines`. An entry of `lines` is

    [first_row, last_row, component, [[run, rule, numerator, denominator], ...], residual, fee]

and holds for each of the rows first_row to last_row (1-based, without the header). `residual` is null or
`[reason, numerator, denominator]`; parts and residual add up to one. `fee` is null or `[id, numerator, denominator]`: the part
of a fee that this row carries as effective cost and that is then shared as the entry says. The fee is that of the Capacity Block
with this ARN, refunds subtracted, or that of the usage month of the TPU commitment with this id. A row without an entry belongs
to no run and is no accelerator. Runs are normalised ids; `runs_without_record` appear on tags only, `ambiguous_runs` are two
records each whose ids normalise alike. Both deliveries of 2026-06 are described.

`energy[run][month]` has what telemetry can know, as `[numerator, denominator]` in chip-seconds: `reserved` is held by the run
(chips promised to two at once count half for each), `observed` of it is covered by the files of exports/neuron and exports/tpu,
`busy` is the observed time weighted by its utilisation (null without any), and `coverage` is observed over reserved. A
neuron-monitor document speaks for its period, at the times its collector stamped; a document in error is not observed. What two
runs saw of chips promised to both counts once, by the greatest use. A Cloud Monitoring point speaks for the time since the point
before it on its chip, within its month, and for one spacing after more than one and a half; a chip without a duty cycle while its
TensorCore series goes on is idle. Telemetry ends with 2026-09.

`goodput[run]` is seconds of progress and seconds held, of the runs in exports/runs/goodput: progress is the steps that no restart
did again and whose end is known, without evaluations.

`power[run]` has what a meter read beside a run: `meter`, and `readings` as `[host, device, seconds, [numerator, denominator]]`.
The fraction is joules; of `neuron_sysfs`, whose driver states no watts, it is seconds of full power. Device null is the machine.
"""


def write_demo(folder: Path, scale: int = 1) -> None:
    """Write the demo into `folder`, in place of an earlier one; what is not ours is never replaced."""
    if scale < 1:
        raise ValueError(f"--scale must be at least 1, not {scale}")
    readme, exports = folder / "README.md", folder / "exports"
    if exports.exists():
        if not readme.is_file() or not readme.read_text(encoding="utf-8").startswith(MARK):
            raise FileExistsError(f"{exports} exists and was not written by the demo. Choose another folder.")
        shutil.rmtree(exports)
    put(readme, README, NOW)  # first, so that a demo broken off can be written again
    aws_worlds = aws.worlds_of(scale)
    gcp_worlds = gcp.worlds_of(aws_worlds)
    worlds = [*aws_worlds, *gcp_worlds]
    objects = aws.write_exports(exports, folder / LATE, aws_worlds) | gcp.write_exports(exports, gcp_worlds)
    observed = Observed()
    observed.reserve(worlds)
    neuron.write_telemetry(exports / "neuron", aws_worlds, observed)
    tpu.write_telemetry(exports / "tpu", gcp_worlds, observed)
    metered = power.Metered()
    xprof.write_profiles(exports / "xprof", gcp_worlds, metered)
    power.write_meters(exports, aws_worlds, observed, metered)
    observed.share_crowded()
    energy = observed.told(truth.ambiguous_runs(worlds))
    write_correction(folder / LATE / "runs", gcp_worlds[0].runs)
    write_plans(exports / "plans", aws_worlds[0].runs)
    write_inventory(exports / "plans")
    write_registration(exports / "runs", gcp_worlds[0])
    progress = goodput.write_goodput(exports / "runs" / "goodput", gcp_worlds)
    notes = {"organisation": NAME, "now": iso(NOW), "scale": scale, "goodput": progress}
    put(folder / "truth.json", truth.render(worlds, objects, energy, metered.told(), notes), NOW)
    put(folder / "trainledger.yaml", CONFIGURATION, NOW)


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the exports of an invented organisation, in the providers' own formats.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scale", type=int, default=1, help="copies of the whole fleet: more machines, runs and bill rows")
    arguments = parser.parse_args()
    write_demo(arguments.folder, arguments.scale)
    print(f"Synthetic exports of {NAME} are in {arguments.folder}")


if __name__ == "__main__":
    main()
