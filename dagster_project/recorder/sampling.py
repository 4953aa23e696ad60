"""Asks drivers and libraries every few seconds, in a process of its own: one that hangs keeps neither the job's end nor other
lines waiting.

    python -m dagster_project.recorder.sampling '<settings as JSON>'

Prints `<kind> <document>` per line to the recorder, and ends after one more round when it is told to: a job shorter than a
period has two.
"""

import json
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

import msgspec

from dagster_project import clock
from dagster_project.recorder import stamp
from dagster_project.recorder.samplers import Libtpu, NeuronPower, Nvml, Sampler, Stamp

ENDS = (signal.SIGTERM, signal.SIGHUP)


def samplers_of(settings: dict[str, Any], say: Callable[[str], None]) -> list[Sampler]:
    """The samplers that were asked for; what one needs and has not is said, and the others go on."""
    makers: dict[str, Callable[[], Sampler]] = {
        "neuron_power": lambda: NeuronPower(Path(settings["sysfs"])),
        "gpu_monitoring": lambda: Nvml(),
        "tpu_monitoring": lambda: Libtpu(settings["labels"]),
    }
    made = []
    for kind in settings["kinds"]:
        try:
            made.append(makers[kind]())
        except Exception as error:  # a library that is not there, or its driver: each has errors of its own
            say(f"{kind} cannot be recorded here: {type(error).__name__}: {error}")
    return made


def sample(
    samplers: Sequence[Sampler], settings: dict[str, Any], out: TextIO, say: Callable[[str], None], failed: set[str]
) -> None:
    """One round of all samplers. One that fails is said once, and asked again in the next round."""
    for sampler in samplers:
        try:
            for document in sampler.documents(Stamp(stamp(clock.now()), settings["host"], settings["run"])):
                out.write(f"{sampler.kind} {msgspec.json.encode(document).decode()}\n")
            failed.discard(sampler.kind)
        except Exception as error:
            if sampler.kind not in failed:
                say(f"{sampler.kind} cannot be read now: {type(error).__name__}: {error}")
            failed.add(sampler.kind)
    out.flush()


def main(arguments: list[str]) -> int:
    """Sample until told to end, or until nobody reads."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    settings: dict[str, Any] = json.loads(arguments[0])

    def say(text: str) -> None:
        print(f"trainledger record: {text}", file=sys.stderr, flush=True)

    samplers, failed = samplers_of(settings, say), set[str]()
    ended = None
    due = time.monotonic()
    try:
        while samplers:
            sample(samplers, settings, sys.stdout, say, failed)
            if ended:
                break
            due = max(due + settings["period"], time.monotonic())
            ended = signal.sigtimedwait(ENDS, max(0.0, due - time.monotonic()))
        else:
            signal.sigwait(ENDS)  # nothing to ask; ending would only start it again
    except BrokenPipeError:  # the recorder was killed
        sys.stderr.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
