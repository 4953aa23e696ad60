"""Forgeries of who vouches for a pack (rows 14 and 15): plain, with what follows made again, and together with another one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dagster_project.evidence import checking, signatures, signing
from dagster_project.evidence.checking import verify_pack
from dagster_project.evidence.countersigning import sign_pack
from dagster_project.evidence.findings import Findings, tell_findings
from dagster_project.evidence.manifest import MANIFEST, SIGNATURE, manifest_bytes
from dagster_project.evidence.signatures import Signer, Trust
from tests.evidence.forger import forging
from tests.evidence.kit import APPROVER, PREPARER, key

pytestmark = pytest.mark.slow
Keys = dict[str, Path]
Forgery = Callable[[Path, Keys], None]


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    folder = tmp_path_factory.mktemp("keys")
    return {name: key(folder, name) for name in ("preparer", "approver", "stranger", "other stranger")}


def public(private: Path) -> bytes:
    return signing.trusted_key(private.with_suffix(".pub"))


def trusts(keys: Keys) -> list[Trust]:
    """Each way in which a reader states whose signature counts."""
    owners = tuple(public(keys[role]) for role in ("preparer", "approver"))
    people = tuple(Signer(name, role, public(keys[role])) for name, role in ((PREPARER, "preparer"), (APPROVER, "approver")))
    return [Trust(owners), Trust(signers=people)]


@pytest.fixture
def signed(copied_pack: Path, keys: Keys) -> Path:
    for role in ("preparer", "approver"):
        sign_pack(copied_pack, keys[role], role, None, ())
    return copied_pack


def stripped(folder: Path, keys: Keys) -> None:
    shutil.rmtree(folder / "signatures")


def called_unsigned(folder: Path, keys: Keys) -> None:
    stripped(folder, keys)
    forging.changed_json(folder / "issue.json", lambda issue: issue.update(is_signed=False))
    forging.listed_again(folder)


def re_signed(folder: Path, keys: Keys) -> None:
    stripped(folder, keys)
    sign_pack(folder, keys["stranger"], "preparer", None, ())
    sign_pack(folder, keys["other stranger"], "approver", None, ())


def another_key_under_the_same_name(folder: Path, keys: Keys) -> None:
    """Row 15, in its consistent form: the statement names the approver, and the key that signed it."""
    for name in signatures.files_of("approver"):
        (folder / name).unlink()
    sign_pack(folder, keys["stranger"], "approver", None, ())


def re_signed_as_packs_of_before(folder: Path, keys: Keys) -> None:
    stripped(folder, keys)
    (folder / signing.PUBLIC_KEY).write_bytes(public(keys["stranger"]))
    (folder / MANIFEST).write_bytes(manifest_bytes(folder))
    (folder / SIGNATURE).write_bytes(signing.sign(keys["stranger"], (folder / MANIFEST).read_bytes()))


FORGERIES = [stripped, called_unsigned, re_signed, another_key_under_the_same_name, re_signed_as_packs_of_before]


@pytest.mark.parametrize("forge", FORGERIES)
def test_a_forged_signature_fails_for_whoever_trusts_keys_or_people(
    signed: Path, keys: Keys, forge: Forgery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "_ask_again", lambda *_: None)  # figures and pages are as they were, and cost seconds
    for trust in trusts(keys):
        assert verify_pack(signed, trust).differences == []
    forge(signed, keys)
    for trust in trusts(keys):
        assert verify_pack(signed, trust).exit_code == 1
    asked = Trust(is_signature_required=True, roles=frozenset({"preparer", "approver"}))
    is_signed = forge in (re_signed, another_key_under_the_same_name)
    assert (verify_pack(signed, asked).exit_code == 1) == (not is_signed), "whose keys these are, only the reader knows"


def test_that_a_pack_is_not_signed_is_its_first_line(signed: Path, keys: Keys) -> None:
    lines: list[str] = []
    called_unsigned(signed, keys)
    forging.assured(signed)
    tell_findings(verify_pack(signed), lines.append)
    assert lines[0] == signatures.UNSIGNED and lines[1].startswith("differs: README.md")


def test_a_statement_by_another_name_or_of_another_report_is_no_signature_of_this_one(signed: Path, keys: Keys) -> None:
    """Plain: the signature is no longer of the statement. Made again: the statement is not of this report."""
    written, signature = (signed / name for name in signatures.files_of("approver"))
    before = written.read_bytes()
    for change in ({"name": "B. Somebody"}, {"report_id": "2026Q2-2"}, {"as": "preparer"}, {"manifest_sha256": "0" * 64}):
        forging.changed_json(written, lambda statement, change=change: statement.update(change))
        found = Findings(issued=json.loads((signed / "issue.json").read_bytes()))
        signature.write_bytes(signing.sign(keys["approver"], written.read_bytes()))
        signatures.check(signed, found, trusts(keys)[0])
        assert any("signatures/approver.json: it is not of this report" in text for text in found.differences)
        written.write_bytes(before)


@pytest.mark.in_turn
@pytest.mark.parametrize(
    ("other", "name"), [(forging.another_code, "code/version.json"), (forging.another_build, "data/ops/builds.parquet")]
)
def test_with_another_forgery_both_are_named_and_all_signed_again_by_strangers_names_the_strangers(
    signed: Path, keys: Keys, other: forging.Forgery, name: str
) -> None:
    """Row 11 too: versions and builds are derived; those that are not are covered by what is signed."""
    other(signed)
    forging.listed_again(signed)
    found = verify_pack(signed, trusts(keys)[0])
    assert {text.partition(":")[0] for text in found.differences} >= {
        name,
        "signatures/approver.json",
        "signatures/preparer.json",
    }
    re_signed(signed, keys)
    named = {text.partition(":")[0] for text in verify_pack(signed, trusts(keys)[1]).differences}
    assert named == {name, "signatures/approver.sig", "signatures/preparer.sig"}


@pytest.mark.in_turn
def test_a_lock_file_that_nothing_derives_is_covered_by_what_is_signed(signed: Path, keys: Keys) -> None:
    (signed / "code" / "run.lock").write_text("forged==1.0\n")
    forging.listed_again(signed)
    assert verify_pack(signed, trusts(keys)[1]).exit_code == 1
    re_signed(signed, keys)
    assert verify_pack(signed, trusts(keys)[1]).exit_code == 1
