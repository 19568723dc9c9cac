"""Signs requests of an API key with `--proof signature` (RFC 9421), and makes the key: `python examples/sign.py FILE`.

It needs the package `cryptography`, and no other. The private key is in FILE, which only you can read.
"""

import base64
import hashlib
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


def public_of(private: Ed25519PrivateKey) -> bytes:
    """Return the 32 bytes of the public key."""
    return private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def signed(
    private: Ed25519PrivateKey, method: str, url: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the headers of a request, with those that sign it. A POST that makes something needs an Idempotency-Key.

    The URL and the body are those that are sent.
    """
    where = urlsplit(url)
    sent = {name.lower(): value for name, value in (headers or {}).items()}
    if body:
        sent["content-digest"] = f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"
    covered = {"@method": method, "@authority": where.netloc.lower(), "@path": where.path or "/"}
    if where.query:
        covered["@query"] = f"?{where.query}"
    covered |= {name: sent[name] for name in ("content-digest", "idempotency-key") if name in sent}
    key_id = hashlib.sha256(public_of(private)).hexdigest()
    names = " ".join(f'"{name}"' for name in covered)
    parameters = f'({names});created={int(time.time())};keyid="{key_id}";alg="ed25519"'
    base = "\n".join([*(f'"{name}": {value}' for name, value in covered.items()), f'"@signature-params": {parameters}'])
    signature = base64.b64encode(private.sign(base.encode())).decode()
    return {**sent, "signature-input": f"sig={parameters}", "signature": f"sig=:{signature}:"}


def main(file: Path) -> None:
    """Make a private key, and print how its public half becomes an API key."""
    private = Ed25519PrivateKey.generate()
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(private.private_bytes_raw())
    public = base64.b64encode(public_of(private)).decode()
    print(f"posthaste key create ACCOUNT --proof signature --public-key {public}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
