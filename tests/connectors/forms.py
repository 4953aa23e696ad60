"""A base of each form of file that a connector reads: small, whole, and landed with rows. What the fuzzers damage.

The forms of run records and of tables that people write are those that their connectors list; the forms of telemetry and power
are here by the name of their reader. A test compares both with what there is.
"""

from __future__ import annotations

import json
from typing import Any

from tests.aws_apis import water
from tests.connectors import mlperf, neuron
from tests.connectors.bills import CSV_HEADER, DATA, META, csv_line
from tests.connectors.focus import focus_line
from tests.connectors.gcp import DAY, EMISSION, as_exported
from tests.connectors.gcp import LINE as GOOGLE
from tests.connectors.kit import CARBON as AWS_CARBON
from tests.connectors.prices import price
from tests.connectors.test_connector_gpu_monitoring import HEADER, HISTORY, LABELS, dcgm_export, gpu, nvml
from tests.connectors.test_connector_job_forms import CLUSTER, MLFLOW, PARENT, PIPELINE, RAY, REPORT, batch_child
from tests.connectors.test_connector_kubernetes import JOBSET, PODS, listed
from tests.connectors.test_connector_neuron_power import exported, recorded
from tests.connectors.test_connector_prometheus import answer, asked
from tests.connectors.test_connector_redfish import REPORT as REPORT_OF_METRICS
from tests.connectors.test_connector_redfish import SENSORS, SUBSYSTEM
from tests.connectors.test_connector_run_logs import GUIDE, entry
from tests.connectors.test_connector_sagemaker import JOB as TRAINING_JOB
from tests.connectors.test_connector_slurm import answer as sacct
from tests.connectors.test_connector_slurm import job as slurm_job
from tests.connectors.test_connector_slurm import step as slurm_step
from tests.connectors.test_connector_tpu_monitoring import answer as time_series
from tests.connectors.test_connector_tpu_monitoring import duty, point
from tests.connectors.test_connector_vertex import JOB as CUSTOM_JOB
from tests.connectors.test_connector_wandb import EVENT
from tests.connectors.test_connector_wandb import HEADER as HEADER_OF_RUN
from tests.connectors.test_connector_xprof_json import PROCESS, counters

T0 = 1782864000000
SECONDS = T0 // 1000
RUN_JSON: dict[str, Any] = {
    "training_run_id": "run-a",
    "aliases": [{"system": "slurm", "id": "48213"}],
    "provider_name": "AWS",
    "workload_key": "llama",
    "tokens": 5,
    "steps": 7,
    "model_flops": 1e20,
    "target_value": 2.5,
    "tags": {"team": "x", "hot": True, "seed": 7},
    "attempts": [
        {
            "attempt_id": 1,
            "state": "failed",
            "started_at": "2026-04-01T00:00:00Z",
            "ended_at": "2026-04-02T00:00:00Z",
            "checkpoints": [{"at": "2026-04-01T05:00:00Z", "step": 3}],
            "nodes": [{"resource_id": "i-1", "accelerator_type": "trn1.32xlarge", "chips": 16}],
        }
    ],
}
METRICS = {
    "step": 1,
    "run_name": "llama",
    "learning/loss": 2.5,
    "perf/step_time_seconds": 2.0,
    "perf/per_device_tflops": 100.0,
    "perf/per_device_tokens": 8192.0,
}
ENVIRONMENT = {
    "device_type": "TPU v6 Lite",
    "host_count": "4",
    "device_core_count": "16",
    "software_versions": {"jax_version": "0.5"},
}
RAY_LIST = (
    "[JobDetails(type=<JobType.SUBMISSION: 'SUBMISSION'>, job_id='02000000', submission_id='raysubmit_ABC', "
    f"status=<JobStatus.STOPPED: 'STOPPED'>, entrypoint='python train.py', start_time={T0}, end_time={T0 + 900}, "
    "metadata={'team': 'core'}, runtime_env={})]\n"
)
SACCT_TEXT = (
    "JobID|JobIDRaw|Cluster|Account|Comment|WCKey|Submit|Start|End|State|NodeList|AllocTRES|ConsumedEnergyRaw\n"
    f"4164_7|4170|trn|core|run=llama|*w|{SECONDS}|{SECONDS}|{SECONDS + 60}|COMPLETED|trn[01-03]|gres/gpu:h100=24,node=3|500\n"
    f"4164_7.batch|4170.batch|trn|core|||{SECONDS}|{SECONDS}|{SECONDS + 60}|COMPLETED|trn01||400\n"
)
REDUCED = {"host": {"resource_id": "i-1"}, "reduced": neuron.reduced()}
NEURON = neuron.document(neuron.runtime(50.0, 10.0), system_data={"vcpu_usage": {"period": 5.0}})
EXPORT = exported(
    {"timeUnixNano": str(SECONDS * 10**9), "asDouble": 0.5, "attributes": [{"key": "hw.id", "value": {"intValue": "3"}}]}
)
SCRAPE = (
    'neuron_hardware_info{neuron_device_count="2",neuroncore_per_device_count="2",instance_id="i-1"} 1\n'
    'neuroncore_utilization_ratio{neuroncore="0",runtime_tag="7",instance_id="i-1"} 0.5\n'
    'neuron_device_power_utilization_avg{neuron_device="1",instance_id="i-1"} 40\n'
)
REDFISH = {"time": "2026-04-01T12:00:00Z", "host": "n-1", "document": {"PowerControl": [{"PowerConsumedWatts": 344}]}}
ROWS = [
    {"time": SECONDS, "host": "n-1", "watts": 412.5, "outlet": 7},
    {"time": SECONDS + 60, "host": "n-1", "kwh": 2, "sensor": "a"},
]
CODECARBON = (
    "timestamp,project_name,run_id,duration,energy_consumed,gpu_energy,country_iso_code,codecarbon_version\n"
    "2026-04-01T12:00:00,p,r-1,3600,0.5,0.25,DEU,3.2.0\n"
)

# name -> kind of source, key, content: a document, lines of documents, or text
JSON_BASES: dict[str, tuple[str, str, Any]] = {
    "runs sagemaker": ("training_runs", "job.json", TRAINING_JOB),
    "runs run_json": ("training_runs", "a.run.json", RUN_JSON),
    "runs registration": (
        "training_runs",
        "a.registered.json",
        {"training_run_id": "a", "workload_key": "chat", "pair_key": "chat-01", "target_metric": "loss", "target_value": 2.0},
    ),
    "runs vertex_pipeline": ("training_runs", "pipeline.json", {"pipelineJobs": [PIPELINE]}),
    "runs vertex": ("training_runs", "job.json", CUSTOM_JOB),
    "runs slurm": (
        "training_runs",
        "sacct.json",
        sacct(slurm_job(slurm_step({"step_id": "1"}, 500, ["trn01"]), slurm_step("extern", 0, []))),
    ),
    "runs batch": ("training_runs", "batch.json", {"jobs": [PARENT, batch_child(0, [(0.0, 2.0, "Host EC2 terminated.")])]}),
    "runs hyperpod_cluster": ("training_runs", "cluster.json", {"ClusterArn": CLUSTER, "ClusterName": "prod-trn"}),
    "runs kubernetes": ("training_runs", "jobset.json", listed(JOBSET, *PODS[-2:])),
    "runs ray": ("training_runs", "ray.json", [RAY]),
    "runs mlflow": ("training_runs", "mlflow.json", {"runs": [MLFLOW]}),
    "runs goodput": (
        "training_runs",
        "goodput.json",
        [entry(job_start_time=SECONDS), entry(step_start_time=SECONDS + 5, step_count=3), entry(tpu_init_start_time=SECONDS)],
    ),
    "runs maxtext": ("training_runs", "metrics.jsonl", [METRICS]),
    "runs xprof": ("training_runs", "run=a/overview_page.json", [{"cols": []}, {"p": ENVIRONMENT}]),
    "neuron_monitor lines": ("neuron_monitor", "run=a/a.jsonl", neuron.wrapped(NEURON)),
    "neuron_monitor reduced": ("neuron_monitor", "run=a/b.jsonl", REDUCED),
    "neuron_monitor bare": ("neuron_monitor", "run=a/2026-04-01T00:00:00Z.jsonl", NEURON),
    "tpu_monitoring answers": ("tpu_monitoring", "a.json", time_series(duty(point({"doubleValue": 50.0})))),
    "xprof trace": (
        "xprof",
        "plugins/profile/2026_04_01_12_00_00/trace_viewer.json",
        {"traceEvents": [PROCESS, *counters("pairs")]},
    ),
    "neuron_power recorder": ("neuron_power", "host=i-1/a.jsonl", recorded("POWER_STATUS_VALID,1775001600,0.00,2.00,1.50")),
    "neuron_power otlp": ("neuron_power", "otlp.json", EXPORT),
    "gpu_monitoring nvml": ("gpu_monitoring", "nvml.jsonl", json.loads(nvml(gpu()))),
    "prometheus asked": (
        "prometheus",
        "2026-04-01/dcgm.jsonl",
        [
            asked("DCGM_FI_DEV_POWER_USAGE", ({"gpu": "0", "instance_id": "i-1"}, [(1, 300), (2, 310)])),
            asked(
                "neuron_hardware_info", ({"neuron_device_count": "2", "neuroncore_per_device_count": "2", "node": "n"}, [(1, 1)])
            ),
            asked("neuroncore_utilization_ratio", ({"neuroncore": "3", "node": "n"}, [(1, 0.5)])),
        ],
    ),
    "prometheus saved": (
        "prometheus",
        "answer.json",
        answer(({"__name__": "kepler_node_platform_joules_total", "instance": "n-1"}, [(0, 5), (1, 900), (2, 1800)])),
    ),
    "gpu_monitoring otlp": ("gpu_monitoring", "dcgm.json", dcgm_export({"DCGM_FI_DEV_POWER_USAGE": 300.0}, gpu="0")),
    "gpu_monitoring mlflow": ("gpu_monitoring", "run=a/history.json", HISTORY),
    "wandb events": ("wandb", "run=a/events.jsonl", [HEADER_OF_RUN, EVENT]),
    "runs wandb": ("training_runs", "run=a/run.json", HEADER_OF_RUN),
    "power_meters rows": ("power_meters", "rows.json", ROWS),
    "power_meters redfish": ("power_meters", "redfish.json", REDFISH),
    "power_meters redfish sensors": ("power_meters", "host=n-1/2026-04-01T12-00-00Z.json", SENSORS),
    "power_meters redfish subsystem": ("power_meters", "redfish.jsonl", REDFISH | {"document": SUBSYSTEM}),
    "power_meters redfish report": ("power_meters", "redfish.jsonl", REDFISH | {"document": REPORT_OF_METRICS}),
}
TEXT_BASES: dict[str, tuple[str, str, str]] = {
    "runs text sacct": ("training_runs", "sacct.csv", SACCT_TEXT),
    "runs text ray": ("training_runs", "jobs.log", RAY_LIST),
    "runs text hyperpod": ("training_runs", "usage.csv", REPORT),
    "runs text maxtext": ("training_runs", "steps.log", GUIDE),
    "runs text mllog": ("training_runs", f"{mlperf.FOLDER}/result_0.txt", mlperf.run_log()),
    "tpu_monitoring text": ("tpu_monitoring", "a.prom", f'duty_cycle{{make="cloud-tpu",accelerator_id="n-0"}} 50 {T0}\n'),
    "neuron_power text": ("neuron_power", "host=i-1/neuron0.txt", "POWER_STATUS_VALID,1775001600,0.00,2.00,1.50\n"),
    "neuron_power scrape": ("neuron_power", "2026-04-01T00:00:00Z.prom", SCRAPE),
    "gpu_monitoring text": ("gpu_monitoring", "a.prom", f"DCGM_FI_DEV_POWER_USAGE{{{LABELS}}} 300 {T0}\n"),
    "gpu_monitoring csv": (
        "gpu_monitoring",
        "host=i-1/tz=UTC/smi.csv",
        f"{HEADER}\n2026/04/01 00:00:30.000, 0, GPU-1, NVIDIA H100 80GB HBM3, 412.50 W, 97 %, 550.1\n",
    ),
    "power_meters csv": ("power_meters", "m.csv", f"time,host,outlet,watts,meter\n{SECONDS},n-1,7,412.5,pdu\n"),
    "power_meters codecarbon": ("power_meters", "emissions.csv", CODECARBON),
    "power_meters mlperf": ("power_meters", f"{mlperf.FOLDER}/power/result_0/node_0.txt", mlperf.node_log([(1, 300), (2, 310)])),
    "wandb csv": ("wandb", "run=a/events.csv", f",_timestamp,system.gpu.0.powerWatts\n0,{SECONDS}.5,300.0\n"),
    "fx_rates rates": ("fx_rates", "rates.csv", "rate_date,base_currency,quote_currency,rate\n2026-04-01,EUR,USD,1.1\n"),
    "provider_totals totals": (
        "provider_totals",
        "totals.csv",
        "provider_name,payer_account_id,usage_month,currency,amount\nAWS,1,2026-04-01,USD,1.5\n",
    ),
    "user_inputs figures": ("user_inputs", "own.csv", "kind,key,value,unit,source\npue,us-east-1,1.2,ratio,own\n"),
    "user_inputs prices": (
        "user_inputs",
        "prices.csv",
        "provider_name,accelerator_type,region_id,purchase_option,currency,price_per_hour,valid_from,valid_to,source\n"
        "Google Cloud,v5e,us-west4,on_demand,USD,1.20,2026-01-01,2027-01-01,price list\n",
    ),
    "user_inputs model names": ("user_inputs", "names.csv", "model_name,same_as,source\nllama-3-8b,llama3-8b,own\n"),
    "user_inputs capacity paid ahead": (
        "user_inputs",
        "capacity.csv",
        "capacity_id,instances,started_at,ended_at,source\ncr-1,2,2026-04-01T00:00:00Z,2026-04-02T00:00:00Z,console\n",
    ),
    "user_inputs plans of comparisons": (
        "user_inputs",
        "chat.plan.csv",
        "workload_key,pair_key,first_day,pairs,promise,target_metric,target_direction,target_value,tokens,source\n"
        "chat,chat-*,2026-01-01,12,to_target,loss,below,2.0,,plan\n",
    ),
}
CUR, CARBON_MONTH, PARTITION = f"{DATA}/cur-00001.csv", "model_version=v3.0.0/usage_period=2026-04", f"_PARTITIONTIME={DAY}"
FOCUS_KEY = f"{DATA}/focus-00001.csv"
FOCUS_TEXT = (
    "BillingAccountId,BillingPeriodStart,ChargePeriodStart,ChargePeriodEnd,ChargeCategory,BillingCurrency,ProviderName,"
    "BilledCost,EffectiveCost,ListCost,ConsumedQuantity,x_UsageType,Tags\n"
    "000000000017,2026-04-01 00:00:00,2026-04-01 00:00:00,2026-04-01 01:00:00,Usage,USD,AWS,"
    '21.5,21.5,21.5,1,BoxUsage:trn1.32xlarge,"{""training_run_id"": ""run-a""}"\n'
)
CARBON_TEXT = (
    ",".join(AWS_CARBON) + "\n" + ",".join(str(value).replace(" 00:00:00", "T00:00:00Z") for value in AWS_CARBON.values()) + "\n"
)
ANSWER = {
    "GroupDefinitions": [{"Type": "DIMENSION", "Key": "RECORD_TYPE"}],
    "ResultsByTime": [
        {
            "TimePeriod": {"Start": "2026-04-01", "End": "2026-05-01"},
            "Total": {},
            "Groups": [{"Keys": ["Usage"], "Metrics": {"UnblendedCost": {"Amount": "1.5", "Unit": "USD"}}}],
            "Estimated": False,
        }
    ],
}
JSON_BASES |= {
    "aws_cur manifest": ("aws_cur", f"{META}/Manifest.json", {"executionId": "e-1", "dataFiles": [CUR]}),
    "gcp_billing lines": ("gcp_billing", f"{PARTITION}/part-0.jsonl", [as_exported(GOOGLE)]),
    "gcp_focus lines": ("gcp_focus", f"{PARTITION}/part-0.jsonl", [as_exported(focus_line())]),
    "gcp_carbon lines": ("gcp_carbon", f"{PARTITION}/part-0.jsonl", [as_exported(EMISSION)]),
    "gcp_prices lines": ("gcp_prices", f"{PARTITION}/part-0.jsonl", [as_exported(price())]),
    "provider_totals answer": ("provider_totals", "payer=000000000017/2026.json", ANSWER),
    "aws_water answer": ("aws_water", "payer=000000000017/2025.json", {"Results": [water(2025, 1.5), water(2024, 2.5)]}),
}
TEXT_BASES |= {
    "aws_cur csv": ("aws_cur", CUR, f"{CSV_HEADER}\n{csv_line('21.5')}\n"),
    "aws_focus csv": ("aws_focus", FOCUS_KEY, FOCUS_TEXT),
    "aws_carbon csv": ("aws_carbon", f"data/{CARBON_MONTH}/carbon.csv", CARBON_TEXT),
}
TEXT_BASES["aws_carbon console"] = (
    "aws_carbon",
    "payer=000000000017/2026.csv",
    "usage_month,service,region,total_lbm_emissions,total_scope_1_emissions_value,model_version\n"
    "2026-04,AmazonEC2,US East (Ohio),1.284001,0,v3.0.1\n2026-05,Other,Global,2,0.5,v3.0.1\n",
)
# beside the base, what its delivery needs
BESIDE = {
    "aws_cur manifest": {CUR: TEXT_BASES["aws_cur csv"][2]},
    "aws_cur csv": {f"{META}/Manifest.json": json.dumps({"executionId": "e-1", "dataFiles": [CUR]})},
    "aws_focus csv": {f"{META}/Manifest.json": json.dumps({"dataFiles": [FOCUS_KEY]})},
    "aws_carbon csv": {f"metadata/{CARBON_MONTH}/Manifest.json": json.dumps({"dataFiles": [f"data/{CARBON_MONTH}/carbon.csv"]})},
    "power_meters mlperf": {f"{mlperf.FOLDER}/result_0.txt": mlperf.run_log()},
    "runs text mllog": {"Acme/systems/4xTPU.json": json.dumps(mlperf.SYSTEM)},
}


def content_of(document: Any, key: str) -> bytes:
    """A document as its file has it: one to a line where its name says so."""
    if isinstance(document, str):
        return document.encode("utf-8", "surrogatepass")
    if key.endswith(".jsonl") and isinstance(document, list):
        return b"".join(json.dumps(one).encode() + b"\n" for one in document)
    return json.dumps(document).encode()
