"""Key pairs that sign webhooks."""

import base64
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

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
