"""Parts of a multipart body (RFC 7578) as browsers write them."""

from collections.abc import Sequence


def parts(fields: Sequence[tuple[str, str]], boundary: str) -> bytes:
    """Serialise fields as parts of a multipart body (RFC 7578)."""
    made = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{escaped(name)}"\r\n\r\n{value}\r\n'
        for name, value in fields
    ]
    return "".join(made).encode("utf-8", "replace")


def escaped(text: str) -> str:
    """Return a name as browsers write it in a part's header (HTML, "multipart/form-data encoding algorithm")."""
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
