"""Who vouches for an issued report, and when: two people by two keys, whom the reader trusts, a time stamp from a file."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from dagster_project.base.failures import GateError, UsageError
from dagster_project.evidence import signatures, signing, stamps
from dagster_project.evidence.countersigning import allowed_signers, sign_pack
from dagster_project.evidence.findings import Findings, tell_findings
from dagster_project.evidence.layout import FORM
from dagster_project.evidence.manifest import MANIFEST, SIGNATURE, canonical, manifest_bytes, manifest_differences, write_zip
from dagster_project.evidence.signatures import Signer, Trust
from dagster_project.settings import load_settings
from tests.evidence.kit import APPROVER, PREPARER, Authority, key
from tests.oracle.builders import Exports
from tests.warm import run_trainledger


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("keys")
    return {name: key(folder, name) for name in ("preparer", "approver", "stranger")}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tsa") / "authority")


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A report as far as signatures know one: who issued it, and the manifest of its files."""
    folder = tmp_path / "2026Q2-1"
    folder.mkdir()
    issued = {"form": FORM, "report_id": "2026Q2-1", "prepared_by": PREPARER, "approver": APPROVER}
    (folder / "issue.json").write_bytes(canonical(issued))
    (folder / MANIFEST).write_bytes(manifest_bytes(folder))
    return folder


def found_in(pack: Path, trust: Trust = signatures.NO_TRUST) -> Findings:
    found = Findings([*manifest_differences(pack)], issued=json.loads((pack / "issue.json").read_bytes()))
    signatures.check(pack, found, trust)
    stamps.check(pack, found, trust.authorities)
    return found


def public(private: Path) -> bytes:
    return signing.trusted_key(private.with_suffix(".pub"))


def both_sign(pack: Path, keys: dict[str, Path]) -> None:
    for role in ("preparer", "approver"):
        sign_pack(pack, keys[role], role, None, ())


def test_two_people_sign_a_report_by_their_names_and_its_manifest_stays(pack: Path, keys: dict[str, Path]) -> None:
    before = (pack / MANIFEST).read_bytes()
    both_sign(pack, keys)
    assert (pack / MANIFEST).read_bytes() == before
    trust = Trust((public(keys["preparer"]), public(keys["approver"])), roles=frozenset({"preparer", "approver"}))
    found = found_in(pack, trust)
    assert found.differences == []
    assert found.signed == [
        f"Signed as preparer by {PREPARER}, with a trusted key.",
        f"Signed as approver by {APPROVER}, with a trusted key.",
    ]


def test_openssl_verifies_a_signature_without_our_code(pack: Path, keys: dict[str, Path]) -> None:
    sign_pack(pack, keys["approver"], "approver", None, ())
    written, signature = signatures.files_of("approver")
    asked = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", keys["approver"].with_suffix(".pub")]
    done = subprocess.run(
        [*asked, "-in", pack / written, "-sigfile", pack / signature], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "Signature Verified Successfully" in done.stdout


def test_that_nobody_signed_is_printed_before_anything_else(pack: Path) -> None:
    (pack / "more").write_text("more")
    lines: list[str] = []
    assert tell_findings(found_in(pack), lines.append) == 1
    assert lines[0] == signatures.UNSIGNED and lines[1].startswith("differs: more")
    lines.clear()
    tell_findings(found_in(pack), lines.append, as_json=True)
    assert [*json.loads(lines[0])][:2] == ["exit_code", "signatures"]


@pytest.mark.parametrize("asked", ["key", "signers", "signature", "role"])
def test_stripped_of_its_signatures_a_report_fails_for_whoever_asks_for_one(
    pack: Path, keys: dict[str, Path], asked: str
) -> None:
    trust = {
        "key": Trust((public(keys["approver"]),)),
        "signers": Trust(signers=(Signer(APPROVER, "approver", public(keys["approver"])),)),
        "signature": Trust(is_signature_required=True),
        "role": Trust(roles=frozenset({"approver"})),
    }[asked]
    sign_pack(pack, keys["approver"], "approver", None, ())
    assert found_in(pack, trust).differences == []
    shutil.rmtree(pack / "signatures")
    assert found_in(pack, trust).differences and found_in(pack).differences == []


def test_a_signature_as_one_is_none_as_the_other(pack: Path, keys: dict[str, Path]) -> None:
    sign_pack(pack, keys["approver"], "approver", None, ())
    assert "as preparer is asked for" in found_in(pack, Trust(roles=frozenset({"preparer"}))).differences[0]
    for kind in ("json", "sig"):
        shutil.copy(pack / f"signatures/approver.{kind}", pack / f"signatures/preparer.{kind}")
    assert found_in(pack).differences == [f"signatures/preparer.json: it is not of this report, its {MANIFEST} and its preparer"]


def test_a_strangers_key_under_the_same_name_fails_where_a_key_or_signers_are_trusted(pack: Path, keys: dict[str, Path]) -> None:
    both_sign(pack, keys)
    shutil.rmtree(pack / "signatures")
    sign_pack(pack, keys["preparer"], "preparer", None, ())
    sign_pack(pack, keys["stranger"], "approver", None, ())
    assert found_in(pack).differences == [] and "compare it with the one its owner" in found_in(pack).signed[1]
    strangers = signing.fingerprint(public(keys["stranger"]))
    trusted = Trust((public(keys["preparer"]), public(keys["approver"])))
    assert found_in(pack, trusted).differences == [
        f"signatures: the trusted key with sha256 {signing.fingerprint(public(keys['approver']))} did not sign it",
        f"signatures/approver.sig: it is by no trusted key, but by the one with sha256 {strangers}",
    ]
    signers = tuple(Signer(name, role, public(keys[role])) for name, role in ((PREPARER, "preparer"), (APPROVER, "approver")))
    [differs] = found_in(pack, Trust(signers=signers)).differences
    assert differs.startswith(f"signatures/approver.sig: by allowed_signers {APPROVER} may not sign as approver with the key")


def test_the_key_of_a_preparer_does_not_sign_as_approver(pack: Path, keys: dict[str, Path]) -> None:
    signers = (Signer(PREPARER, "preparer", public(keys["preparer"])), Signer(APPROVER, "approver", public(keys["approver"])))
    with pytest.raises(UsageError, match="may not sign as approver with this key"):
        sign_pack(pack, keys["preparer"], "approver", None, signers)
    sign_pack(pack, keys["preparer"], "preparer", None, signers)
    with pytest.raises(UsageError, match="it takes two people"):
        sign_pack(pack, keys["preparer"], "approver", None, ())
    statement = signatures.statement(pack, found_in(pack).issued, "approver", public(keys["preparer"]))
    (pack / "signatures/approver.json").write_bytes(statement)
    (pack / "signatures/approver.sig").write_bytes(signing.sign(keys["preparer"], statement))
    assert "one key signed as preparer and as approver" in found_in(pack).differences[0]


def test_a_signature_of_another_manifest_or_with_half_of_its_files_is_named(pack: Path, keys: dict[str, Path]) -> None:
    sign_pack(pack, keys["approver"], "approver", None, ())
    (pack / "signatures/approver.sig").write_bytes(b"0" * 64)
    assert "it is no signature of approver.json" in found_in(pack).differences[0]
    (pack / "signatures/approver.sig").unlink()
    assert found_in(pack).differences[0].startswith("signatures/approver.sig: a signature as approver has it")
    sign_pack(pack, keys["approver"], "approver", None, ())
    (pack / "more").write_text("more")
    (pack / MANIFEST).write_bytes(manifest_bytes(pack))
    assert "it is not of this report" in found_in(pack).differences[0]
    (pack / "signatures/other.sig").write_text("more")
    assert found_in(pack).differences[0] == f"signatures/other.sig: it is not in {MANIFEST}"


def test_a_report_that_is_not_as_it_was_issued_is_not_signed(pack: Path, keys: dict[str, Path]) -> None:
    (pack / "issue.json").write_bytes(b"{}\n")
    with pytest.raises(GateError, match="not as it was issued"):
        sign_pack(pack, keys["approver"], "approver", None, ())
    for words in ((None, "approver", None), (keys["approver"], None, None), (None, None, None)):
        with pytest.raises(UsageError, match="what to sign as whom"):
            sign_pack(pack, *words, ())


def test_folder_and_zip_have_the_signatures_of_both_also_where_one_signed_the_zip_alone(
    pack: Path, tmp_path: Path, keys: dict[str, Path]
) -> None:
    archive, elsewhere = tmp_path / "2026Q2-1.zip", tmp_path / "elsewhere"
    write_zip(pack, archive, pack.name)
    elsewhere.mkdir()
    shutil.copy(archive, elsewhere)
    sign_pack(elsewhere / archive.name, keys["approver"], "approver", None, ())
    shutil.copy(elsewhere / archive.name, archive)
    sign_pack(pack, keys["preparer"], "preparer", None, ())
    again = tmp_path / "again.zip"
    write_zip(pack, again, pack.name)
    assert again.read_bytes() == archive.read_bytes() and len(found_in(pack).signed) == 2


def test_a_pack_of_before_has_one_signature_that_is_of_nobody_in_particular(pack: Path, keys: dict[str, Path]) -> None:
    (pack / signing.PUBLIC_KEY).write_bytes(public(keys["approver"]))
    (pack / MANIFEST).write_bytes(manifest_bytes(pack))
    (pack / SIGNATURE).write_bytes(signing.sign(keys["approver"], (pack / MANIFEST).read_bytes()))
    assert found_in(pack, Trust((public(keys["approver"]),))).differences == []
    assert found_in(pack, Trust((public(keys["stranger"]),))).differences
    assert found_in(pack, Trust(roles=frozenset({"approver"}))).differences
    (pack / SIGNATURE).unlink()
    assert "a signed report has it" in found_in(pack).differences[0]


def test_who_may_sign_is_configured_by_files_or_by_lines_of_openssh(tmp_path: Path, keys: dict[str, Path]) -> None:
    exports = Exports(tmp_path)
    exports.carbon([])
    config = exports.config()
    document = yaml.safe_load(config.read_text())
    shutil.copy(keys["preparer"].with_suffix(".pub"), tmp_path / "preparer.pub")
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

    line = load_pem_public_key(public(keys["approver"])).public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    people = [
        {"name": PREPARER, "as": "preparer", "key": "preparer.pub"},
        {"name": APPROVER, "as": "approver", "key": f"{line} a@example.com"},
    ]
    config.write_text(yaml.safe_dump(document | {"allowed_signers": people}))
    found = allowed_signers(load_settings(config))
    assert found == (
        Signer(PREPARER, "preparer", public(keys["preparer"])),
        Signer(APPROVER, "approver", public(keys["approver"])),
    )
    wrongs = (({"keys": "a"}, "did you mean 'key'"), ({"as": "auditor"}, "preparer"), ({"key": "none.pub"}, "trusted key"))
    for wrong, words in wrongs:
        config.write_text(yaml.safe_dump(document | {"allowed_signers": [people[1] | wrong]}))
        with pytest.raises(UsageError, match=words):
            allowed_signers(load_settings(config))


def test_the_command_signs_and_refuses_as_the_configuration_has_it(
    pack: Path, tmp_path: Path, keys: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    signed = run_trainledger("sign", pack, "--key", keys["approver"], "--as", "approver")
    assert signed.returncode == 0 and f"2026Q2-1 is signed as approver by {APPROVER}" in signed.stdout
    assert run_trainledger("sign", pack, "--key", keys["approver"], "--as", "auditor").returncode == 2
    assert run_trainledger("verify", "--landing", "--signed-as", "approver").returncode == 2
    assert run_trainledger("verify", pack, "--signed-as", "auditor").returncode == 2
    assert run_trainledger("verify", pack, "--trusted-key", keys["approver"]).returncode == 2, "a private key is none to trust"
    assert run_trainledger("verify", pack, "--trusted-key", tmp_path / "none.pem").returncode == 2


def test_a_time_stamp_is_kept_with_the_report_and_proved_by_authorities_that_are_trusted(
    pack: Path, authority: Authority, tmp_path: Path
) -> None:
    before = (pack / MANIFEST).read_bytes()
    sign_pack(pack, None, None, authority.stamp(pack / MANIFEST), ())
    assert (pack / MANIFEST).read_bytes() == before
    found = found_in(pack)
    assert found.differences == [] and "not proved" in found.remarks[0]
    roots = stamps.trusted_authorities([authority.root])
    found = found_in(pack, Trust(authorities=roots))
    assert found.differences == [] and found.remarks[0].endswith("by a trusted authority.")
    other = Authority(tmp_path / "other")
    assert (
        "no trusted authority proves the time"
        in found_in(pack, Trust(authorities=stamps.trusted_authorities([other.root]))).differences[0]
    )
    assert found_in(pack, Trust(authorities=stamps.trusted_authorities([other.root, authority.root]))).differences == []
    (pack / "signatures/manifest.tsr").unlink()
    assert "a time stamp is asked for" in found_in(pack, Trust(authorities=roots)).differences[0]


def test_a_time_stamp_of_something_else_or_of_a_forger_is_named(pack: Path, authority: Authority) -> None:
    with pytest.raises(UsageError, match="something else than this report's MANIFEST"):
        sign_pack(pack, None, None, authority.stamp(pack / "issue.json"), ())
    with pytest.raises(UsageError, match="no answer of a time stamp authority"):
        sign_pack(pack, None, None, pack / "issue.json", ())
    stamp = pack / "signatures/manifest.tsr"
    stamp.parent.mkdir()
    shutil.copy(authority.stamp(pack / "issue.json"), stamp)
    assert found_in(pack).differences == [f"signatures/manifest.tsr: it is a time stamp of something else than {MANIFEST}"]
    good = authority.stamp(pack / MANIFEST).read_bytes()
    trust = Trust(authorities=stamps.trusted_authorities([authority.root]))
    for place in range(20, len(good), 97):
        changed = bytearray(good)
        changed[place] ^= 1
        stamp.write_bytes(changed)
        found = found_in(pack, trust)
        assert found.differences or found.remarks[0].endswith("by a trusted authority."), place
    stamp.write_bytes(b"0")
    assert "no answer of a time stamp authority" in found_in(pack).differences[0]
