"""The last boundary around a source or delivery: what nobody foresaw stops that one alone, and is told.

A surprise is no judgement about the bytes, so it is never recorded as a refusal: the next refresh tries again. What this machine
lacks is no surprise; it ends the command. Memory that one delivery wanted is that delivery's: the next one may need little.
"""

import logging
from pathlib import Path

from connectors.deliveries import Delivery
from connectors.errors import ConnectorError, Place
from dagster_project.base.failures import TrainledgerError, is_out_of_memory, machine_failure

LOG = logging.getLogger("trainledger")  # `--debug` shows it


def surprise_of(error: BaseException, source: str, delivery: Delivery | None, folder: Path | None = None) -> ConnectorError:
    """An error of any kind as that of its delivery, or of a source that was only listed; ConnectorErrors stay as they are.

    Raises what must end the command: signals, the product's own failures, and MachineError, which names `folder`.
    """
    if isinstance(error, ConnectorError):
        return error
    is_panic = type(error).__name__ == "PanicException"  # of polars: no Exception, so that nobody swallows it
    if isinstance(error, TrainledgerError) or not (is_panic or isinstance(error, Exception)):
        raise error
    kind, key = type(error).__name__, (delivery.manifest or delivery.objects[0]).key if delivery else None
    what, reason = f"{source}: {f'{key} cannot be read' if key else 'it cannot be listed'} ({kind}).", None
    remedy = "The next refresh tries again. If it stays, run it with --debug and report the traceback."
    if delivery and (isinstance(error, RecursionError) or is_out_of_memory(error)):
        what = f"{source}: {key} needs more memory than there is ({kind}); the other deliveries are read."
        remedy = "Look at what wrote this file. If it is right, deliver it in parts, or raise `memory_limit`: it is tried again."
        reason = "too_costly"
    elif failure := machine_failure(error, folder):
        raise failure from error
    else:
        LOG.debug(what, exc_info=error)
    surprise = ConnectorError(what, place=Place(key), reason=reason, remedy=remedy)
    surprise.__cause__ = error
    return surprise
