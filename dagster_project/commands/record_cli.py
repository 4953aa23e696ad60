"""`trainledger record`: the command of the recorder, whose module this package carries. Its options are read there."""

import typer

# every word is the recorder's or the job's, --help as well
AS_GIVEN = {
    "allow_extra_args": True,
    "allow_interspersed_args": False,
    "ignore_unknown_options": True,
    "help_option_names": [],
}


def record(context: typer.Context) -> None:
    """Record a training run: what its chips do, on which machine, from when to when. Ends with the command and its exit code.

    Example: trainledger record --to s3://ml-bucket/recorded --run llama-8b -- torchrun train.py
    """
    from trainledger_recorder.command import main

    raise typer.Exit(main(context.args, "trainledger record"))
