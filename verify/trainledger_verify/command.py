"""The command line of `trainledger-verify`: its options and its two questions. Exit codes are those of `trainledger`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from dagster_project import __version__
from dagster_project.base.failures import TrainledgerError, UsageError, machine_failure
from reports.errors import ReportError

BUG = 70
_ABOUT = """Verify an issued report of trainledger against its own evidence: every file, signatures, the chain where it is
beside it, every figure from its SQL; with the extra `rendering`, its pages byte for byte. Changes nothing, asks no network.
Exit code 0: nothing differs; 1: something does; 2: wrong use, or no pack; 3: nothing could be compared."""
_ABOUT_TRACE = "From a figure of the report to the rows of the pack that give it alone, and the groups of the bill behind them."


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code. Whatever goes wrong is one message; `--debug` shows where."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    is_trace = words[:1] == ["trace"]
    asked = _trace_parser().parse_args(words[1:]) if is_trace else _parser().parse_args(words)
    try:
        return _trace(asked) if is_trace else _verify(asked)
    except KeyboardInterrupt:
        return _fail("interrupted; nothing was changed", 130)
    except BrokenPipeError:  # the reader of a pipe went away, e.g. `| head`
        sys.stderr.close()
        return 0
    except Exception as error:
        if asked.debug:
            raise
        if isinstance(error, ReportError):  # a figure that was asked for
            return _fail(str(error), UsageError.exit_code)
        known = error if isinstance(error, TrainledgerError) else machine_failure(error)
        if known is not None:
            return _fail(str(known), known.exit_code)
        text = f"this is a bug: {type(error).__name__}: {error}. Run the command again with --debug and report the traceback."
        return _fail(text, BUG)


def _verify(asked: argparse.Namespace) -> int:
    from dagster_project.evidence.checking import verify_pack
    from dagster_project.evidence.findings import tell_findings
    from dagster_project.evidence.signatures import Trust
    from dagster_project.evidence.signing import trusted_key
    from dagster_project.evidence.stamps import trusted_authorities

    trust = Trust(
        tuple(map(trusted_key, asked.trusted_key)),
        is_signature_required=asked.require_signature,
        roles=frozenset(asked.signed_as),
        authorities=trusted_authorities(asked.trusted_tsa),
    )
    return tell_findings(verify_pack(asked.path, trust), print, as_json=asked.json)


def _trace(asked: argparse.Namespace) -> int:
    from dagster_project.evidence.tracing.answer import figure_text
    from dagster_project.evidence.tracing.in_pack import trace_in_pack
    from reports.page.numbers import plain

    document = trace_in_pack(asked.path, asked.figure, asked.out)
    print(json.dumps(document, default=plain, indent=1, ensure_ascii=False) if asked.json else figure_text(document))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="trainledger-verify",
        description=_ABOUT,
        epilog=f"{_ABOUT_TRACE} trainledger-verify trace --figure ID PACK; trainledger-verify trace --help",
    )
    parser.add_argument("--version", action="version", version=__version__)
    a_key = "a public key that must have signed it; repeatable"
    parser.add_argument("--trusted-key", type=Path, metavar="FILE", action="append", default=[], help=a_key)
    parser.add_argument("--require-signature", action="store_true", help="a report without a signature differs")
    roles = ("preparer", "approver")
    parser.add_argument(
        "--signed-as", choices=roles, action="append", default=[], help="as whom it must have been signed; repeatable"
    )
    a_certificate = "certificate (PEM) of an authority that must have stamped its time; repeatable"
    parser.add_argument("--trusted-tsa", type=Path, metavar="FILE", action="append", default=[], help=a_certificate)
    return _with_common(parser)


def _trace_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="trainledger-verify trace", description=_ABOUT_TRACE)
    parser.add_argument("--figure", metavar="ID", required=True, help="as 2026Q2/glance/effective_cost")
    parser.add_argument("--out", type=Path, metavar="FILE.csv", help="a file for all rows that are found")
    return _with_common(parser)


def _with_common(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("path", type=Path, metavar="PACK", help="the folder or the zip of an issued report")
    parser.add_argument("--json", action="store_true", help="the answer for programs")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


def _fail(message: str, code: int) -> int:
    sys.stderr.write(f"trainledger-verify: {message}\n")
    return code
