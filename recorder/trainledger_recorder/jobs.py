"""Which run this is: what was asked for, else what the job's own scheduler put into its environment. Knows no machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from trainledger_recorder.errors import UsageError
from trainledger_recorder.times import stamp

LONGEST = 200  # bytes of an id in a key: a file's name has at most 255
_NAMES = (
    "NEURON_PROCESS_TAG",  # neuron-monitor prints it beside every figure: whoever set it meant the run
    "TRAINING_JOB_NAME",  # SageMaker
    "AWS_BATCH_JOB_ID",
    "SLURM_JOB_ID",
    "JOBSET_NAME",
)


@dataclass(frozen=True)
class Job:
    """A run as its environment names it; None: of a machine, which may run several. `attempt_id`: as the scheduler counts."""

    run_id: str | None
    attempt_id: str | None
    aliases: tuple[tuple[str, str], ...]
    is_named: bool = True  # False: its name was made here


def job_of(environment: Mapping[str, str], run: str | None, attempt: str | None, made: str | None) -> Job:
    """The run: `--run`, else the first name that the environment has, else the name that was made for it."""
    named = run or next(filter(None, (_name(environment, name) for name in _NAMES)), None) or _kubernetes_job(environment)
    run_id = named if named is not None else made
    if run_id is None:
        return Job(None, None, ())
    run_id = run_id.strip()
    if not run_id or len(encoded(run_id)) > LONGEST:
        raise UsageError(f"'{run_id[:80]}' cannot name a run", f"Give --run an id of 1 to {LONGEST} bytes, as the key has it.")
    return Job(run_id, attempt or _attempt(environment), tuple(_aliases(environment)), named is not None)


def encoded(text: str) -> str:
    """An id as one part of a key: whatever is not a plain character is percent-encoded, also `.` and `..` alone."""
    safe = quote(text, safe="@+,:")
    return safe.replace(".", "%2E") if set(safe) <= {"."} else safe


def _name(environment: Mapping[str, str], variable: str) -> str:
    value = environment.get(variable, "").strip()
    if variable == "SLURM_JOB_ID" and value and (cluster := environment.get("SLURM_CLUSTER_NAME", "").strip()):
        return f"{cluster}/{value}"  # every cluster counts from 1
    return value.partition("#")[0] if variable == "AWS_BATCH_JOB_ID" else value  # nodes of a job are <id>#0, <id>#1


def _kubernetes_job(environment: Mapping[str, str]) -> str | None:
    """The Job of a pod with a completion index, whose host name is the job's and the index."""
    index, host = environment.get("JOB_COMPLETION_INDEX", ""), environment.get("HOSTNAME", "")
    return host.removesuffix(f"-{index}") if index and host.endswith(f"-{index}") else None


def _attempt(environment: Mapping[str, str]) -> str | None:
    """The attempt as the scheduler counts it, with its job: a run may be submitted again as another job."""
    if job := environment.get("SLURM_JOB_ID"):
        return f"{job}.{_count(environment.get('SLURM_RESTART_COUNT')) + 1}"
    if job := environment.get("AWS_BATCH_JOB_ID"):
        return f"{_name(environment, 'AWS_BATCH_JOB_ID')}.{environment.get('AWS_BATCH_JOB_ATTEMPT', '1')}"
    if (job := environment.get("JOBSET_NAME")) and "JOBSET_RESTART_ATTEMPT" in environment:
        return f"{job}.{_count(environment['JOBSET_RESTART_ATTEMPT']) + 1}"
    return environment.get("TRAINING_JOB_NAME") or None


def _count(text: str | None) -> int:
    return int(text) if text and re.fullmatch(r"\d{1,6}", text, re.ASCII) else 0


def _aliases(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    """The run in other systems: so a scheduler's own record of the job is found to be of this run."""
    workload = environment.get("JOBSET_NAME") or _kubernetes_job(environment)
    namespace = environment.get("POD_NAMESPACE")
    known = (
        ("slurm", _name(environment, "SLURM_JOB_ID")),
        ("sagemaker", environment.get("TRAINING_JOB_ARN")),
        ("batch", _name(environment, "AWS_BATCH_JOB_ID")),
        ("kubernetes", f"{namespace}/{workload}" if namespace and workload else workload),
    )
    return [(system, name) for system, name in known if name]


def attempt_name(job: Job, started_at: datetime) -> str:
    """The attempt; where they are not counted, its start, so that a second one is another without asking for the first."""
    return job.attempt_id or stamp(started_at)
