"""The key that this installation signs its files with: made on first use, kept for its user alone.

The certificates are our own making: they show that a file is as it was when it was signed, not by whom. They hold no name of a person or a
machine; but all files that one installation signs can be told to be of one origin. To break that link delete the folder: the next file gets
a new key.
"""

from __future__ import annotations

import logging
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from realtime.errors import reason

log = logging.getLogger(__name__)

FILE_NAME = "signing-key.pem"
_LIFETIME = timedelta(days=10 * 365)
_RENEWAL = timedelta(days=30)
_BEGIN_CERTIFICATE = b"-----BEGIN CERTIFICATE-----"


@dataclass(frozen=True, slots=True)
class SigningKey:
    """PEM: a PKCS8 key of the curve P-256, and the certificates from its own to that of its issuer."""

    private: bytes
    chain: bytes

    def __repr__(self) -> str:  # a log must not hold the key
        return f"SigningKey({len(self.private)} bytes)"


def installation_key(folder: Path) -> SigningKey:
    """The key kept in `folder`, made and kept when there is none that can be used.

    Where it cannot be kept the key still works, for this run only, and a warning says so.
    """
    path = folder / FILE_NAME
    kept = _load(path)
    if kept is not None:
        return kept
    over = path.exists()
    made = make_key(datetime.now(UTC))
    try:
        return _keep(path, made, over=over)
    except OSError as error:
        log.warning("the signing key cannot be kept in %s (%s): this run signs with one of its own", folder, reason(error))
        return made


def make_key(now: datetime) -> SigningKey:
    """A new key with a leaf certificate for it, and that of an issuer whose key is forgotten at once: it issues nothing else."""
    issuer_key, own_key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = _certificate("realtime-faceswap issuer of one installation", issuer_key.public_key(), issuer_key, None, now)
    leaf = _certificate("realtime-faceswap installation", own_key.public_key(), issuer_key, issuer, now)
    private = own_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return SigningKey(private, leaf.public_bytes(Encoding.PEM) + issuer.public_bytes(Encoding.PEM))


def _certificate(
    name: str, key: ec.EllipticCurvePublicKey, issuer_key: ec.EllipticCurvePrivateKey, issuer: x509.Certificate | None, now: datetime
) -> x509.Certificate:
    """As the C2PA specification's certificate profile asks: key identifiers, and for a leaf an extended use, e-mail protection."""
    subject = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, "realtime-faceswap"), x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))  # clocks differ
        .not_valid_after(now + _LIFETIME)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=0 if issuer is None else None), critical=True)
        .add_extension(_usage(issuer is None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    if issuer is not None:
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.EMAIL_PROTECTION]), critical=True)
    return builder.sign(issuer_key, hashes.SHA256())


def _usage(issues: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not issues, content_commitment=False, key_encipherment=False, data_encipherment=False, key_agreement=False,
        key_cert_sign=issues, crl_sign=issues, encipher_only=False, decipher_only=False,
    )  # fmt: skip


def _load(path: Path) -> SigningKey | None:
    """None when there is none, or none that can sign any more."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        log.warning("the signing key in %s cannot be read (%s)", path, reason(error))
        return None
    at = data.find(_BEGIN_CERTIFICATE)
    key = SigningKey(data[:at], data[at:])
    if at < 0 or not _usable(key):
        log.warning("the signing key in %s is damaged or out of date: a new one takes its place", path)
        return None
    _shut(path)
    return key


def _usable(key: SigningKey) -> bool:
    try:
        private = load_pem_private_key(key.private, None)
        leaf = x509.load_pem_x509_certificates(key.chain)[0]
    except (ValueError, TypeError, IndexError):
        return False
    form = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    fits = private.public_key().public_bytes(*form) == leaf.public_key().public_bytes(*form)
    return fits and leaf.not_valid_before_utc <= datetime.now(UTC) < leaf.not_valid_after_utc - _RENEWAL


def _shut(path: Path) -> None:
    """Take back what others may do with the file. Windows keeps a user's data folder to the user already."""
    if os.name == "posix" and path.stat().st_mode & 0o077:
        log.warning("others could read the signing key in %s: it is now yours alone", path)
        path.chmod(0o600)


def _linked(path: Path, part: Path, key: SigningKey) -> SigningKey:
    """Raises FileExistsError when there is one by now, as far as the file system can tell."""
    try:
        path.hardlink_to(part)
    except FileExistsError:
        raise
    except OSError:  # it has no links
        part.replace(path)
    return key


def _keep(path: Path, key: SigningKey, *, over: bool) -> SigningKey:
    """Whole or not at all, and never readable by others, not even for a moment. `over`: in the place of one that is of no use; else, where
    whoever signs a file at the same time was quicker, theirs is kept. Gives the one that is. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(key.private + key.chain)
        if not over:
            with suppress(FileExistsError):
                return _linked(path, part, key)
            return _load(path) or key
        part.replace(path)
        return key
    finally:
        part.unlink(missing_ok=True)
