"""Bodies of HTML forms as a vendor's API reads them: `application/x-www-form-urlencoded` and `multipart/form-data`."""

from dataclasses import dataclass, field
from io import BytesIO
from typing import Final
from urllib.parse import parse_qsl

from multipart import MultipartError, MultipartParser, parse_options_header

MAX_FIELDS: Final = 20_000


class Malformed(Exception):
    """The body is not what its content type says; the text is for the caller."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of a multipart body. `name`: of its field."""

    name: str
    filename: str
    content_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Form:
    """Fields, name → all values in order, and files."""

    fields: dict[str, list[str]] = field(default_factory=dict)
    files: list[File] = field(default_factory=list)

    def first(self, name: str) -> str:
        """Return a field's first value, or the empty string."""
        values = self.fields.get(name)
        return values[0] if values else ""


def parse(content_type: str, body: bytes) -> Form:
    """Read a body.

    Raises:
        Malformed: it is neither kind of form, or a broken one.
    """
    kind, options = parse_options_header(content_type)
    if kind == "application/x-www-form-urlencoded":
        return _urlencoded(body)
    if kind != "multipart/form-data":
        raise Malformed(f"Invalid request content type. Expecting 'multipart/form-data' but got '{kind}'")
    if not options.get("boundary"):
        raise Malformed("malformed multipart/form-data request")
    return _multipart(options["boundary"], body)


def _urlencoded(body: bytes) -> Form:
    form = Form()
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise Malformed("unable to parse request: invalid URL escape") from None
    for name, value in pairs:
        form.fields.setdefault(name, []).append(value)
    return form


def _multipart(boundary: str, body: bytes) -> Form:
    form = Form()
    size = len(body)  # is in memory already, so no part is put into a file
    parser = MultipartParser(
        BytesIO(body), boundary, strict=True, part_limit=MAX_FIELDS, spool_limit=size, memory_limit=size
    )
    try:
        for part in parser:
            if part.filename is None:
                form.fields.setdefault(part.name, []).append(part.raw.decode())
            else:
                form.files.append(File(part.name, part.filename, part.content_type, part.raw))
    except UnicodeDecodeError:
        raise Malformed("malformed multipart/form-data request") from None
    except MultipartError:
        if f"--{boundary}--".encode() not in body:
            raise Malformed("unable to parse request: unexpected EOF") from None
        raise Malformed("malformed multipart/form-data request") from None
    return form
