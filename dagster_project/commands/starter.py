"""The commented trainledger.yaml that `trainledger init` writes. It names no secret: those come from the providers'
credential chains.
"""

from pathlib import Path

from dagster_project.base.failures import UsageError

TEXT = """\
# trainledger.yaml: what to read and where to keep it. Relative paths are relative to this file; unknown keys are errors.
# Secrets never stand here: AWS credentials come from the usual chain (environment, profile, instance role).

organisation:
  name: Example AG             # printed on reports
  reporting_currency: USD      # totals are shown in it; other currencies are never added to it

home: ./trainledger-home       # landing/, build.duckdb, published/, asof/, reports/, cache/, .dagster/; keep it on a local disk
publish_mode: 0640             # who reads what is published and reported: 0600 the owner, 0640 the group too, 0644 everybody
memory_limit: 1500MB           # of an engine while it lands and builds; what needs more goes to the disk of the home
landing: null                  # null: home/landing; or s3://bucket/prefix to keep what was landed off this machine

run_tag_keys: [training_run_id]   # cost-allocation tags and labels that carry a run id; the first that is present counts
engine: duckdb                 # what runs the models: duckdb, or spark for bills that outgrow one machine (docs/scale.md)
carbon_weights: list_cost      # how a cell's emissions are divided; energy (a sensitivity) comes later

# reporting:                   # who answers for an issued report, and when a published figure is restated (docs/evidence.md)
#   prepared_by: Name of one person
#   approved_by: [Names of, other people]
#   restatement_threshold: 0.05   # of the published value
#   base_year: 2026

sources:
  # AWS bill: a CUR 2.0 or legacy CUR export, found from its manifest.
  # s3://bucket/prefix/export-name, or a local folder with the same layout inside.
  - name: payer-a-cur
    kind: aws_cur
    location: s3://bucket/prefix/export-name
    # role_arn: arn:aws:iam::111122223333:role/trainledger-read   # assume this role to read
    # external_id: some-id
    # requester_pays: false
    # endpoint_url: null                # an S3 of your own
    # months: 2026-01..                 # read only these months: 2026-04, 2026-04.., 2026-04..2026-09
    # book: true                        # this source is the book where two sources cover the same payer and month
    # retention: {open_month_days: 3}   # days that superseded deliveries of an open month are kept

  # AWS emissions: a Data Export of the table CARBON_EMISSIONS.
  - name: payer-a-carbon
    kind: aws_carbon
    location: s3://bucket/prefix/carbon-export-name

  # Google Cloud bill and emissions: the detailed billing export and the Carbon Footprint export, straight from BigQuery, or
  # exported from there as Parquet or JSON lines into folders _PARTITIONTIME=YYYY-MM-DD (carbon: the first day of the month of
  # use) below gs://bucket/prefix, s3://bucket/prefix or a local folder. Google credentials come from the default chain.
  # - name: gcp-billing
  #   kind: gcp_billing
  #   location: bq://my-billing-project.billing.gcp_billing_export_resource_v1_XXXXXX_XXXXXX_XXXXXX
  #   maximum_bytes_billed: 100000000000  # no query may bill more; `trainledger doctor` shows what they read
  #   look_back_days: 95                # days of a bill that are asked whether they changed; of carbon every month, unless set
  #   impersonate: null                 # a service account to act as
  #   billing_project: null             # pays for the queries; null: the project of the location
  #   dataset_location: null            # null: BigQuery is asked
  # - {name: gcp-focus, kind: gcp_focus, location: ./exports/gcp-focus}  # FOCUS: compared with the bill above, or the book alone
  # - {name: gcp-carbon, kind: gcp_carbon, location: ./exports/gcp-carbon}

  # Telemetry: neuron-monitor's JSON lines in keys run=<id>/host=<resource_id>/<UTC start>.jsonl[.gz|.zst]; for TPUs answers of
  # Cloud Monitoring's timeSeries.list (JSON) or Prometheus text with times.
  # - {name: neuron, kind: neuron_monitor, location: s3://bucket/telemetry/neuron}
  # - {name: tpu, kind: tpu_monitoring, location: ./exports/tpu}
  # Power, which takes the place of modelled energy where it is known: XProf profiles of TPUs, the Neuron driver's power, GPUs
  # (DCGM, nvidia-smi, NVML), and meters of nodes (PDU, BMC, MLPerf power logs, CodeCarbon).
  # - {name: profiles, kind: xprof, location: gs://bucket/profiles}
  # - {name: neuron-power, kind: neuron_power, location: s3://bucket/telemetry/neuron-power}
  # - {name: gpu, kind: gpu_monitoring, location: ./exports/gpu}
  # - {name: meters, kind: power_meters, location: ./exports/meters}

  # Exchange rates of your own: a CSV with rate_date, base_currency, quote_currency, rate, source.
  # - {name: fx, kind: fx_rates, location: ./inputs/fx.csv}
  # Figures of your own (metered energy, PUE, watts, factors): a CSV with kind, key, value, unit, source, source_date.
  # - {name: own, kind: user_inputs, location: ./inputs/own.csv}

  # Run records: *.run.json, SageMaker DescribeTrainingJob and Vertex CustomJob documents, in any folders below the location.
  - name: runs
    kind: training_runs
    location: ./runs
"""


def write_starter(path: Path) -> None:
    """Write the commented configuration; a file that is there already is never overwritten."""
    try:
        with path.open("x", encoding="utf-8") as handle:
            handle.write(TEXT)
    except FileExistsError:
        raise UsageError(
            "the configuration is there already", where=str(path), remedy="Edit it, or give another --config."
        ) from None
    except OSError as error:
        raise UsageError(f"the configuration cannot be written: {error.strerror}", where=str(path)) from None
