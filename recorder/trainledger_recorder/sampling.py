"""Asks drivers and libraries every few seconds, in a process of its own: one that hangs keeps neither the job's end nor other
lines waiting.

Prints `<kind> <document>` per line to the recorder, and ends after one more round when SIGTERM comes: a job shorter than a
period has two.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

from trainledger_recorder import line_for_people
from trainledger_recorder.samplers import Libtpu, NeuronPower, Nvml, Sampler, stamped
from trainledger_recorder.times import now, stamp

ENDS = (signal.SIGTERM, signal.SIGHUP)


def samplers_of(settings: dict[str, Any], say: Callable[[str], None]) -> list[Sampler]:
    """The samplers that were asked for; one whose library is missing is named, and the others go on."""
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
    """One round of all samplers. One that fails is named once, and asked again in the next round."""
    for sampler in samplers:
        try:
            for document in sampler.documents(stamped(stamp(now()), settings["host"], settings["run"])):
                line = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
                out.write(f"{sampler.kind} {line}\n")
            failed.discard(sampler.kind)
        except Exception as error:
            if sampler.kind not in failed:
                say(f"{sampler.kind} cannot be read now: {type(error).__name__}: {error}")
            failed.add(sampler.kind)
    out.flush()


def main(text: str) -> int:
    """Sample until SIGTERM, or until the recorder is gone. `text`: the settings as JSON."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    settings: dict[str, Any] = json.loads(text)

    def say(text: str) -> None:
        print(line_for_people(text), file=sys.stderr, flush=True)

    samplers, failed = samplers_of(settings, say), set[str]()
    ended, due, recorder = None, time.monotonic(), os.getppid()
    try:
        while os.getppid() == recorder:  # a killed recorder shows only here, as long as there is nothing to print
            sample(samplers, settings, sys.stdout, say, failed)
            if ended:
                break
            due = max(due + settings["period"], time.monotonic())
            ended = signal.sigtimedwait(ENDS, max(0.0, due - time.monotonic()))
    except BrokenPipeError:  # the recorder was killed
        sys.stderr.close()
    return 0
