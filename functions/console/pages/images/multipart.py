"""Forms with a file (RFC 7578), as browsers post them: the fields, and the file's bytes as they are."""

from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from typing import Final

from functions.console.screen import MAX_FIELDS, Denial
from shared.web.http import Request
from shared.web.routing import media_type

KIND: Final = "multipart/form-data"
FILE: Final = "file"
"""The name of the field with the file."""
UNREADABLE: Final = Denial(400, "This form cannot be read", "Go back, and send it again.")


def is_multipart(request: Request) -> bool:
    """Tell whether what is posted is such a form."""
    return media_type(request) == KIND


def parts_of(request: Request) -> tuple[dict[str, str], bytes]:
    """Return the fields of a form and its file, empty if it has none. Raises Denial if it cannot be read."""
    head = Message()
    head["content-type"] = request.headers.get("content-type", "")
    boundary = head.get_boundary()
    if not boundary:
        raise UNREADABLE
    fields: dict[str, str] = {}
    file = b""
    for name, value in _parts(request.body, boundary.encode()):
        if name == FILE:
            file = value
        else:
            fields[name] = _text(value)
    return fields, file


def _parts(body: bytes, boundary: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the names and values of a form's parts, in their order."""
    _, *found = (b"\r\n" + body).split(b"\r\n--" + boundary, MAX_FIELDS + 1)
    if not found or not found[-1].startswith(b"--"):
        raise UNREADABLE
    for part in found[:-1]:
        head, split, value = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        name = message_from_bytes(head).get_param("name", header="content-disposition")
        if not split or not isinstance(name, str):
            raise UNREADABLE
        yield name, value


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise UNREADABLE from None
