"""Key pairs that sign webhooks."""

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.x509.oid import NameOID

from simulator.model import BadRequest


def p256(path: Path | None) -> ec.EllipticCurvePrivateKey:
    """Return the P-256 key in a PEM file; made there (mode 0600) if missing, made up if path is None."""
    if path is not None and path.exists():
        found = serialization.load_pem_private_key(path.read_bytes(), None)
        if not isinstance(found, ec.EllipticCurvePrivateKey) or not isinstance(found.curve, ec.SECP256R1):
            raise BadRequest(f"{path}: not a P-256 key")
        return found
    made = ec.generate_private_key(ec.SECP256R1())
    if path is not None:
        path.touch(0o600)
        pem, pkcs8, plain = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        path.write_bytes(made.private_bytes(pem, pkcs8, plain))
    return made


def spki(key: ec.EllipticCurvePrivateKey) -> str:
    """Return the public key as base64 of its DER SubjectPublicKeyInfo."""
    der = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(der).decode()


def self_signed(path: Path | None, name: str) -> tuple[rsa.RSAPrivateKey, str]:
    """Return an RSA key, kept in a PEM file (mode 0600) if there is a path, and its certificate as PEM.

    The key is short, so that it is made in 20 ms: it protects nothing.
    """
    pem, pkcs8, plain = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    if path is not None and path.exists():
        found = serialization.load_pem_private_key(path.read_bytes(), None)
        if not isinstance(found, rsa.RSAPrivateKey):
            raise BadRequest(f"{path}: not an RSA key")
    else:
        found = rsa.generate_private_key(65537, 1024)  # noqa: S505
        if path is not None:
            path.touch(0o600)
            path.write_bytes(found.private_bytes(pem, pkcs8, plain))
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(subject, subject, found.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=3650))
        .sign(found, hashes.SHA256())
    )
    return found, certificate.public_bytes(pem).decode()


def sign_rsa(key: rsa.RSAPrivateKey, data: bytes, version: str) -> bytes:
    """Sign as SNS does by its signature version 1 or 2."""
    return key.sign(data, padding.PKCS1v15(), hashes.SHA1() if version == "1" else hashes.SHA256())  # noqa: S303
