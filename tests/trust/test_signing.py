from __future__ import annotations

import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

pytest.importorskip("cryptography", reason="comes with c2pa-python, which is not installed")

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID

from realtime.trust import signing
from realtime.trust.signing import FILE_NAME, installation_key, make_key

posix = pytest.mark.skipif(os.name != "posix", reason="permission bits are POSIX's")


def test_the_key_is_made_once_and_kept(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "signing"
    first = installation_key(folder)
    assert installation_key(folder) == first
    assert [path.name for path in folder.iterdir()] == [FILE_NAME]


@posix
def test_nobody_else_can_read_the_key_or_its_folder(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        installation_key(tmp_path / "signing")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "signing").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "signing" / FILE_NAME).stat().st_mode) == 0o600


@posix
def test_a_key_that_others_could_read_is_shut(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept = installation_key(tmp_path)
    (tmp_path / FILE_NAME).chmod(0o644)
    assert installation_key(tmp_path) == kept
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600 and "others could read" in caplog.text


def test_it_is_es256_with_a_chain_that_fits_the_profile() -> None:
    key = make_key(datetime.now(UTC))
    private = load_pem_private_key(key.private, None)
    assert isinstance(private, ec.EllipticCurvePrivateKey) and isinstance(private.curve, ec.SECP256R1)
    assert key.private.startswith(b"-----BEGIN PRIVATE KEY-----")  # PKCS8
    leaf, issuer = x509.load_pem_x509_certificates(key.chain)
    leaf.verify_directly_issued_by(issuer)
    assert list(leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [ExtendedKeyUsageOID.EMAIL_PROTECTION]
    assert not leaf.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert issuer.extensions.get_extension_for_class(x509.BasicConstraints).value.ca


def test_the_certificates_name_no_person_and_no_machine() -> None:
    key = make_key(datetime.now(UTC))
    for certificate in x509.load_pem_x509_certificates(key.chain):
        assert {str(attribute.value) for attribute in certificate.subject} <= {
            "realtime-faceswap", "realtime-faceswap installation", "realtime-faceswap issuer of one installation",
        }  # fmt: skip


def test_a_key_is_not_printed() -> None:
    key = make_key(datetime.now(UTC))
    assert "PRIVATE" not in repr(key) and "PRIVATE" not in f"{key}"


def test_of_two_that_are_made_at_the_same_time_one_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Films of one run are signed in a thread each, and two runs may be the first at once."""
    others: list[signing.SigningKey] = []

    def slow(now: datetime) -> signing.SigningKey:
        if not others:
            others.append(make_key(now))
            others.append(installation_key(tmp_path))  # meanwhile
        return make_key(now)

    monkeypatch.setattr(signing, "make_key", slow)
    assert installation_key(tmp_path) == others[1] == installation_key(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


@pytest.mark.parametrize("links", [True, False])
def test_a_file_system_without_links_keeps_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    if not links:
        monkeypatch.setattr(Path, "hardlink_to", refuse)
    first = installation_key(tmp_path)
    assert installation_key(tmp_path) == first and [path.name for path in tmp_path.iterdir()] == [FILE_NAME]


@pytest.mark.parametrize("content", [b"", b"rubbish", b"-----BEGIN CERTIFICATE-----\nrubbish"])
def test_a_damaged_key_is_replaced(tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    made = installation_key(tmp_path)
    assert installation_key(tmp_path) == made and "damaged" in caplog.text


@pytest.mark.parametrize("age", [timedelta(days=3640), timedelta(days=5000), timedelta(days=-30)])
def test_a_key_about_to_expire_or_from_the_future_is_replaced(tmp_path: Path, age: timedelta) -> None:
    old = make_key(datetime.now(UTC) - age)
    signing._keep(tmp_path / FILE_NAME, old, over=False)
    assert installation_key(tmp_path) != old


def test_a_key_of_another_certificate_is_replaced(tmp_path: Path) -> None:
    one, other = make_key(datetime.now(UTC)), make_key(datetime.now(UTC))
    (tmp_path / FILE_NAME).write_bytes(one.private + other.chain)
    assert installation_key(tmp_path).private != one.private


def test_without_a_place_for_it_a_key_serves_this_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert installation_key(tmp_path / "file" / "signing").private
    assert "cannot be kept" in caplog.text
